// Copy, keys, what the site does not answer and the focus after a swap. Every page works without this file.
(() => {
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];

  const fade = (note) => {
    const leave = () => (note.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : note.remove());
    setTimeout(leave, 6000);
  };
  const toast = (words) => {
    const note = document.createElement("span");
    note.className = "toast";
    note.textContent = words;
    one("#toasts").replaceChildren(note);
    fade(note);
  };
  all(".toast").forEach(fade);

  const patch = (table) => [...table.rows].map(({ cells }) => (cells[1].textContent.replace("−", "-") || " ") + cells[2].textContent).join("\n");
  const copy = async (button) => {
    const from = document.getElementById(button.dataset.copy), text = from.rows?.length ? patch(from) : from.value;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // plain http: no clipboard API
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    toast(button.dataset.said || "Copied");
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });

  // below the width of its words the navigation scrolls: to where one is
  const nav = one(".nav"), current = one(".nav [aria-current]");
  if (current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;

  let at = -1;
  const step = (by) => {
    const stops = all(".rx, .case");
    if (!stops.length) return;
    at = Math.min(Math.max(at + by, 0), stops.length - 1);
    stops[at].tabIndex = -1;
    stops[at].focus();
    stops[at].scrollIntoView({ block: "start" });
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return event.target.form?.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const keys = {
      "/": () => { const box = one("[data-slash]"); if (box) { event.preventDefault(); box.focus(); } },
      c: () => { const button = one(".rx [data-copy]"); if (button) copy(button); },
      e: () => one("[data-edit]")?.click(),
      j: () => step(1),
      k: () => step(-1),
      "?": () => one("#shortcuts").togglePopover(),
    };
    keys[event.key]?.();
  });

  // A log pasted into the search box goes to the wizard: through this tab's own storage, never through an address.
  const log = /Traceback \(most recent call last\)|Tried to allocate|\n.*\n/;
  document.addEventListener("paste", (event) => {
    const box = event.target.closest("[data-seek]"), text = event.clipboardData?.getData("text") || "";
    if (!box || (text.length <= 300 && !log.test(text))) return;
    event.preventDefault();
    sessionStorage.setItem("log", text);
    location.assign(box.dataset.seek);
  });

  // a sign-in in another tab wears the token of this page: what is sent has the one of now
  const token = () => document.cookie.match(/(?:^|; )csrftoken=(\w+)/)?.[1];
  document.addEventListener("submit", ({ target }) => {
    const field = target.elements.csrfmiddlewaretoken;
    if (field) field.value = token() || field.value;
  }, true);

  // a second press while the answer is on its way sends nothing again; after ten seconds one may, as after going back
  const free = (form) => form.removeAttribute("aria-busy");
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[aria-busy]")) return event.preventDefault(), event.stopImmediatePropagation();
    setTimeout(() => {  // what another script refuses or sends by itself is not on its way
      if (form.method !== "post" || event.defaultPrevented) return;
      form.ariaBusy = "true";
      setTimeout(free, 10_000, form);
    });
  }, true);
  addEventListener("pageshow", () => all("form[aria-busy]").forEach(free));

  // htmx passes over the name of a button that stands outside its form
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (token() && detail.formData.has("csrfmiddlewaretoken")) detail.formData.set("csrfmiddlewaretoken", token());
    const button = detail.triggeringEvent?.submitter;
    if (button?.name) detail.formData.append(button.name, button.value);
  });

  // said where it was asked, until the site answers again; of words that it only suggests nobody waits
  const silence = Object.assign(document.createElement("p"), { className: "err", role: "alert" });
  document.addEventListener("htmx:sendError", ({ detail: { elt, target, requestConfig } }) => {
    const asked = requestConfig.triggeringEvent?.submitter || (elt.hidden ? target : elt);
    if (asked.matches("[data-seek]")) return;
    asked.after(silence);
    silence.textContent = "The site did not answer. What you wrote still stands here: try again.";
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => { if (detail.successful) silence.remove(); });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "main") return;
    at = -1;
    const refused = one("#main [aria-invalid]");
    if (refused) return refused.focus();
    // who passes a question over reads the next one; who answers reads what came of it
    const passed = event.detail.requestConfig?.triggeringEvent?.submitter?.name === "skip";
    const next = passed && one("#askh"), answer = one("#main [data-answer]"), heading = answer || next || one("#main h1");
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: !answer });  // a long form ends far below the answer beside it
    if (next) next.closest(".ask").scrollIntoView();
    else if (!answer) scrollTo(0, 0);
    toast(heading.textContent);
  });
})();
