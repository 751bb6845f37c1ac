// The editor: from a finding to its line. The editor works without this file.
(() => {
  document.documentElement.classList.add("js");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-line]");
    if (!button) return;
    const area = document.getElementById("doc"), tab = document.getElementById("pane-doc");
    if (tab) tab.checked = true;
    const lines = area.value.split("\n"), at = Math.min(Number(button.dataset.line), lines.length) - 1;
    const start = lines.slice(0, at).join("\n").length + (at ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + lines[at].length);
    area.scrollTop = Math.max(0, (at - 4) * parseFloat(getComputedStyle(area).lineHeight));
  });
})();
