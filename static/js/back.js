// Going back to an answer after a correction or a jump within it: each entry of this tab's own history holds the reduced paste and the
// answers, with which the page is asked for again. An answer that was only read comes out of the browser's cache and needs none of this.
(() => {
  const one = (query, root = document) => root.querySelector(query);
  const here = () => location.pathname + location.search;
  let shown = here();

  const keep = () => {
    const form = one("#again"), [path, facts] = form?.getAttribute("action").split("?") || [];
    if (!facts || path !== location.pathname || !one('[name="reduced"]', form)) return false;
    const sent = [...form.querySelectorAll('[type="hidden"]')].map(({ name, value }) => [name, value]);
    history.replaceState({ ...history.state, sent }, "", `${path}?${facts}${location.hash}`);
    shown = here();
    return true;
  };
  document.addEventListener("htmx:beforeHistoryUpdate", keep);
  document.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "main") keep(); });
  // The jump is made here, so that no moment lies between the new entry and its answers in which the person can leave.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || !keep() || link.hash === location.hash || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    location.hash = link.hash;
    keep();
  });
  addEventListener("hashchange", () => { if (!history.state?.sent) keep(); });

  const again = async () => {
    const asked = (shown = here()), body = new URLSearchParams(history.state.sent);
    const token = document.cookie.match(/(?:^|; )csrftoken=(\w+)/)?.[1];
    if (token) body.set("csrfmiddlewaretoken", token);
    const answer = await fetch(location.pathname, { method: "POST", body });
    if (!answer.ok || here() !== asked) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    one("#main").replaceWith(one("#main", page));
    document.title = page.title;
    htmx.process(one("#main"));
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  // before htmx, which would load the page of facts
  addEventListener("popstate", (event) => {
    if (!event.state?.sent) return;
    event.stopImmediatePropagation();
    if (here() !== shown) again();
  });
  if (history.state?.sent && !one('#again [name="reduced"]')) again();
})();
