// The box for a paste: files that are picked or dropped, what is too large, and a log that was pasted into the search box.
// The box works without this file.
(() => {
  const one = (query) => document.querySelector(query);
  const sheet = one(".paste"), box = one("#paste"), input = one(".paste input[type=file]");

  const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  const picked = () => { one("[data-picked]").textContent = [...input.files].map((file) => `${file.name}, ${size(file.size)}`).join(" · "); };
  input.addEventListener("change", picked);
  addEventListener("pageshow", picked);  // who comes back still has the files

  // what the site would refuse is told beside the box, where it still stands
  const weight = ({ files, value }) => files  // a line end is sent as two letters
    ? [...files].reduce((sum, file) => sum + file.size, 0) : value.length + value.split("\n").length - 1;
  box.form.addEventListener("submit", (event) => {
    const large = [box, input].find((field) => weight(field) > field.dataset.most);
    if (!large) return;
    event.preventDefault();
    const note = one("#paste-error");
    note.textContent = `${size(weight(large))} ${large.dataset.large}`;
    note.hidden = false;
    large.ariaInvalid = "true";
    note.tabIndex = -1;
    note.focus();
  });

  document.addEventListener("dragover", (event) => {
    const files = event.dataTransfer, count = files.items.length;
    if (![...files.types].includes("Files")) return;
    event.preventDefault();
    one("[data-drop]").textContent = `Drop to read ${count} ${count === 1 ? "file" : "files"}`;
    sheet.classList.add("drop");
  });
  const leave = () => sheet.classList.remove("drop");
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) leave(); });
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    leave();
    input.files = event.dataTransfer.files;
    picked();
  });

  addEventListener("DOMContentLoaded", () => {  // once every script hears of what is sent
    const carried = sessionStorage.getItem("log");
    if (!carried) return;
    sessionStorage.removeItem("log");
    box.value = carried;
    box.form.requestSubmit();
  });
})();
