"""What a site that others reach over HTTPS may not leave as it is: each refusal names the variable, its value and the cure."""

from __future__ import annotations

from collections.abc import Sequence

from config import env

_OF_THIS_MACHINE = {"localhost", "127.0.0.1", "[::1]"}
_SHORTEST_TOKEN = 16
_FEWEST_LETTERS = 10


def refuse_weak(
    *, debug: bool, hosts: Sequence[str], secret: str, site_url: str, mails: bool, metrics_token: str
) -> None:
    """Raises ``ImproperlyConfigured`` at the first value that a deployed site may not have."""
    if debug:
        env.refuse("DEBUG", "1", "it shows the innards of the site; leave it out where HTTPS is 1")
    if not set(hosts) - _OF_THIS_MACHINE:
        env.refuse(
            "ALLOWED_HOSTS",
            env.text("ALLOWED_HOSTS"),
            "HTTPS is 1 and others reach the site: write the name that they use",
        )
    if "*" in hosts:
        env.refuse("ALLOWED_HOSTS", "*", "any name would be believed; write the name that people use")
    if len(set(secret)) < _FEWEST_LETTERS:
        env.refuse("SECRET_KEY", f"{len(set(secret))} different characters", "leave it out and one is made")
    if mails and not site_url.startswith("https://"):
        env.refuse(
            "SITE_URL",
            env.text("SITE_URL"),
            "links in mails begin with it; write https:// and the name that people use",
        )
    if metrics_token and len(metrics_token) < _SHORTEST_TOKEN:
        env.refuse(
            "METRICS_TOKEN", f"{len(metrics_token)} characters", f"write at least {_SHORTEST_TOKEN}, or leave it out"
        )
