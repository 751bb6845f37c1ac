// Going back to an answer: each entry of this tab's history holds the reduced paste and the answers, with which the page is asked for
// again. One only read comes out of the browser's cache.
(() => {
  const one = (query) => document.querySelector(query), pasted = () => one("#again[method=post]");
  const here = () => location.pathname + location.search;
  let shown = here();

  const keep = () => {
    const form = pasted(), [path, facts] = form?.getAttribute("action").split("?") || [];
    if (!facts || path !== location.pathname) return;
    const sent = [...form.querySelectorAll('[type="hidden"]')].map(({ name, value }) => [name, value]);
    history.replaceState({ ...history.state, sent }, "", `${path}?${facts}${location.hash}`);
    shown = here();
  };
  addEventListener("htmx:beforeHistoryUpdate", keep);
  addEventListener("htmx:afterSettle", ({ target }) => { if (target.id === "main") keep(); });
  // a jump here, clicked or typed, makes an entry that has no answers yet; who leaves before the page hears of it is met at the door
  const jumped = () => { if (location.hash && !history.state?.sent) keep(); };
  addEventListener("hashchange", jumped);
  addEventListener("beforeunload", jumped);

  const again = async () => {
    const asked = (shown = here()), body = new URLSearchParams(history.state.sent);
    const token = document.cookie.match(/(?:^|; )csrftoken=(\w+)/)?.[1];
    if (token) body.set("csrfmiddlewaretoken", token);
    const answer = await fetch(location.pathname, { method: "POST", body });
    if (!answer.ok || here() !== asked) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    one("#main").replaceWith(page.querySelector("#main"));
    document.title = page.title;
    htmx.process(one("#main"));
    if (location.hash) one(location.hash)?.scrollIntoView();
  };
  // before htmx, which loads the page of facts
  addEventListener("popstate", (event) => {
    if (!event.state?.sent) return;
    event.stopImmediatePropagation();
    if (here() !== shown) again();
  });
  if (history.state?.sent && !pasted()) again();
})();
