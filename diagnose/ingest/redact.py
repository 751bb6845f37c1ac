"""Secrets and personal places out, first of all: numbers, module paths and the number of lines stay.

A mark stands where something was: ``‹token›``, ``‹email›``, ``‹address›``, ``‹host›``, ``‹path›``, ``‹user›``. What was
taken out is told from the marks alone, so that reading a redacted text again gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from diagnose.ingest.normalise import numbered
from diagnose.ingest.places import hide_paths
from diagnose.types import Redaction

_MARK = re.compile(r"‹(token|email|address|host|path|user)›")
_PASSES = 4  # one is enough but for texts that were made to break it

Replacement = str | Callable[[re.Match[str]], str]

# (words of which one must be in the text in lower case, pattern, replacement)
_TOKENS: tuple[tuple[tuple[str, ...], re.Pattern[str], Replacement], ...] = (
    (("hf_",), re.compile(r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{20,}"), "‹token›"),
    (
        ("sk-",),
        re.compile(r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{20,}"),
        "‹token›",
    ),
    (
        ("gh", "github_pat_"),
        re.compile(r"(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
        "‹token›",
    ),
    (("glpat-",), re.compile(r"(?<![A-Za-z0-9_-])glpat-[A-Za-z0-9_-]{16,}"), "‹token›"),
    (("wandb_v1_",), re.compile(r"(?<![A-Za-z0-9_])wandb_v1_\w{20,}"), "‹token›"),
    (("akia", "asia"), re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"), "‹token›"),
    (("aiza",), re.compile(r"(?<![A-Za-z0-9_-])AIza[0-9A-Za-z_-]{35}"), "‹token›"),
    (
        ("pypi-", "npm_"),
        re.compile(r"(?<![A-Za-z0-9_-])(?:pypi-AgE[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,})"),
        "‹token›",
    ),
    (("xox",), re.compile(r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}"), "‹token›"),
    (("hooks.slack.com",), re.compile(r"(hooks\.slack\.com/services/)[A-Za-z0-9/]{8,}"), r"\1‹token›"),
    (("/hook/",), re.compile(r"(/open-apis/bot/v2/hook/)[A-Za-z0-9-]{8,}"), r"\1‹token›"),
    (
        ("eyj",),
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
        "‹token›",
    ),
    (("bearer ",), re.compile(r"(?i)(\bbearer[ \t]{1,4})[A-Za-z0-9._~+/=-]{16,}"), r"\1‹token›"),
    # A hash of 40 digits is a commit unless the words before it speak of a key.
    (
        ("key", "token", "login", "secret"),
        re.compile(r"(?i)((?:key|token|login|secret)\b[^\n]{0,24}?[^\n0-9a-z])[0-9a-f]{40}(?![0-9a-z])"),
        r"\1‹token›",
    ),
    (
        ("key", "token", "passw", "secret"),
        re.compile(
            r"(?i)((?:api_?key|api_token|access_key(?:_id)?|secret_(?:access_)?key|access_token|auth_token|hf_token|hub_token"
            r"|wandb_key|client_secret|passw(?:or)?d)[\"']?(?:[ \t]{0,3}[=:][ \t]{0,3}|[ \t]{1,3})[\"']?)"
            r"(?![$<‹{])(?=[^\s\"'&,;)]*[\d_-]|[^\s\"'&,;)]{20})[^\s\"'&,;)‹›]{8,}"
        ),
        r"\1‹token›",
    ),
    (("://",), re.compile(r"(://)[^\s/@:‹›'\"]{0,80}:[^\s/@‹›'\"]{1,200}@"), r"\1‹token›@"),
)

_KEY_BLOCK = re.compile(r"-----(BEGIN|END)[A-Z0-9 ]{0,40} PRIVATE KEY-----")
_BASE64 = re.compile(r"[>|\s]*[A-Za-z0-9+/=]{16,}\s*")

_PROMPT = re.compile(
    r"(?<![\w/.@+-])[A-Za-z_][\w.-]{0,40}@[A-Za-z0-9][\w.-]{0,80}(?=:[~/]|[ \t][^\s\]]{1,60}\][$#]|:?[$#] )"
)
_SSH = re.compile(r"(\b(?:ssh|scp|rsync)\b[^\n@]{0,60}[ \t])(?!git@)[A-Za-z_][\w.-]{0,40}@[A-Za-z0-9][\w.-]{0,80}")
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+‹›-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-])"
)
_ACCOUNT = re.compile(
    r"(?i)(\blogged in as:?[ \t]{1,4}|\bwandb\.ai/(?!authorize\b|site\b|settings\b|home\b))[\w.-]{1,60}( \([\w.-]{1,60}\))?"
)

_IPV4 = re.compile(r"(\d(?<![\w.]\d)\d{0,2})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\.?\d|[A-Za-z_])")
# What stands before four numbers that are a version: ==, v, "version", or the name column of a package list.
_BEFORE_VERSION = re.compile(
    r"(?:[=~<>!]=[ \t]*|(?i:version|driver)[ \t:=]{0,4}|(?:^|[\s|│])[A-Za-z][\w.-]*(?:cu\d\d\w*)[ \t]+)$"
)
_BEFORE_COLUMN = re.compile(r"^[ \t│|]*[A-Za-z][\w.-]*[ \t]{2,}$")
_PRIVATE = ("10.", "172.", "192.168.")
_NO_SECRET = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})

_HOSTS = (
    (("ip-",), re.compile(r"(?<![\w.-])ip(?:-\d{1,3}){4}(?:\.[\w-]+){0,4}")),
    (("nccl",), re.compile(r"(?m)(?<=^)[A-Za-z][\w.-]{0,80}(?=:\d{1,9}:\d{1,9} \[\d{1,3}\] )")),
    (("srun: error: ",), re.compile(r"(?<=srun: error: )[A-Za-z][\w.-]{0,80}(?=: task)")),
    (
        ("kernel", "systemd"),
        re.compile(r"(?<=\d\d:\d\d:\d\d )[A-Za-z][\w.-]{0,80}(?= (?:kernel|systemd|dockerd|containerd|slurmstepd)\b)"),
    ),
    (
        (": ",),
        re.compile(
            r"(?m)^[A-Za-z][A-Za-z_.-]{0,60}\d[\w.-]{0,60}(?=: (?:\[rank|\[\d{4}-|Traceback \(|  File \"|torch\.|[A-Za-z]{1,40}Error\b))"
        ),
    ),
    (
        ("host",),
        re.compile(
            r"(?im)(?<![\w-])(?P<keep>host(?:name)?[ \t]{0,12}[:=][ \t]{0,4})(?!localhost\b)[A-Za-z][\w-]*[\d.][\w.-]*"
        ),
    ),
    (
        ("master_addr", "head_node"),
        re.compile(
            r"(?i)(?P<keep>(?:master_addr|head_node(?:_ip)?)[=: \t]{1,3})(?!localhost\b)[A-Za-z][\w-]*[\d.][\w.-]*"
        ),
    ),
)


def redact(text: str) -> tuple[str, tuple[Redaction, ...]]:
    """The text with marks in place of secrets, and what stands where. Line by line the same; a second time changes nothing."""
    for _ in range(_PASSES):
        before, text = text, _once(text)
        if text == before:
            break
    return text, marks(text)


def marks(text: str) -> tuple[Redaction, ...]:
    """What was taken out of a redacted text."""
    if "‹" not in text:
        return ()
    rows = (row for row in numbered(text.split("\n")) if "‹" in row[1])
    return tuple(Redaction(number, kind) for number, line in rows for kind in _MARK.findall(line))


def hide_key_blocks(text: str) -> str:
    """Every line of a private key in PEM form as a mark; a block that is cut at either end is known by its base64 lines."""
    if " PRIVATE KEY-----" not in text:
        return text
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = _KEY_BLOCK.search(line)
        if not found:
            continue
        step = 1 if found[1] == "BEGIN" else -1
        other = at + step
        while 0 <= other < len(lines) and (_BASE64.fullmatch(lines[other]) or ": " in lines[other][:20]):
            lines[other] = "‹token›"
            other += step
        lines[at] = "‹token›"
    return "\n".join(lines)


def _once(text: str) -> str:
    lower = text.lower()
    text = hide_key_blocks(text)
    for words, pattern, replacement in _TOKENS:
        if any(word in lower for word in words):
            text = pattern.sub(replacement, text)
    if "@" in text:
        text = _PROMPT.sub("‹user›@‹host›", text)
        text = _SSH.sub(r"\1‹user›@‹host›", text)
        text = _EMAIL.sub("‹email›", text)
    if "logged in as" in lower or "wandb.ai/" in lower:
        text = _ACCOUNT.sub(r"\1‹user›", text)
    for words, pattern in _HOSTS:
        if any(word in lower for word in words):
            text = pattern.sub(_host, text)
    return hide_paths(_IPV4.sub(_address, text))


def _host(found: re.Match[str]) -> str:
    return found.groupdict().get("keep", "") + "‹host›"


def _address(found: re.Match[str]) -> str:
    if found[0] in _NO_SECRET or any(int(part) > 255 for part in found.groups()):
        return found[0]
    start = found.string.rfind("\n", max(0, found.start() - 120), found.start()) + 1 or max(0, found.start() - 120)
    before = found.string[start : found.start()]
    if _BEFORE_VERSION.search(before):
        return found[0]
    if _BEFORE_COLUMN.match(before) and not found[0].startswith(_PRIVATE):
        return found[0]
    return "‹address›"
