"""Which rules of our stylesheets match nothing on any page: run by hand against a site that has a bit of everything on it.

``python tests/browser/unused_styles.py http://127.0.0.1:8000 SESSION`` visits an answer and every page that it finds a link to, as
whoever the session is of, and prints the selectors that matched nowhere. States (``:hover``, ``[open]``) are taken off first. What
only a conflict, an error or a running refresh shows stays in the list: look before deleting.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

from playwright.sync_api import sync_playwright

MOST = 150  # pages
FIND = """() => {
  const found = {};
  const walk = (rules, name) => { for (const rule of rules) {
    if (rule.selectorText) for (const one of rule.selectorText.split(/,(?![^(]*\\))/)) {
      const plain = one.replace(/::?(hover|active|focus-visible|focus-within|focus|checked|target|before|after|placeholder|selection|-webkit[\\w-]*)/g, '').trim() || '*';
      let seen = true;
      try { seen = !!document.querySelector(plain) } catch { /* not for querySelector */ }
      const key = `${name} ${one.trim()}`;
      found[key] = found[key] || seen;
    } else if (rule.cssRules) walk(rule.cssRules, name);
  } };
  for (const sheet of document.styleSheets) if (sheet.href) walk(sheet.cssRules, sheet.href.split('/').pop().replace(/\\.[0-9a-f]{12}/, ''));
  return found;
}"""  # noqa: E501


def visit(page: Any, site: str) -> dict[str, bool]:
    seen: dict[str, bool] = {}
    page.goto(site)
    page.get_by_role("button", name="See all of it").click()
    page.wait_for_selector(".verdict")
    seen.update(page.evaluate(FIND))
    waiting, known = [f"{site}/"], {f"{site}/"}
    while waiting and len(known) < MOST * 4:
        answer = page.goto(waiting.pop(0))
        if not answer or "html" not in answer.headers.get("content-type", ""):
            continue
        for selector, matched in page.evaluate(FIND).items():
            seen[selector] = seen.get(selector, False) or matched
        links = page.eval_on_selector_all("a[href]", "links => links.map(link => link.href.split('#')[0])")
        for link in links:
            if link.startswith(site) and link not in known and len(known) < MOST and "/files/" not in link:
                known.add(link)
                waiting.append(link)
    return seen


def main(site: str, session: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(accept_downloads=False)
        context.add_cookies([{"name": "sessionid", "value": session, "url": site}])
        for selector, matched in sorted(visit(context.new_page(), site).items()):
            if not matched:
                print(selector)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), sys.argv[2])
