"""Credentials: tokens by the form that their service gives them, others by the word that stands before them.

A rule is (words of which one must stand in the line in lower case, pattern, replacement); all look at one line. Forms are those
that the services document and that secret scanners know: github.com/gitleaks/gitleaks config/gitleaks.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Replacement = str | Callable[[re.Match[str]], str]
Rule = tuple[tuple[str, ...], re.Pattern[str], Replacement]

TOKEN = "‹token›"
_B = r"(?<![A-Za-z0-9_])"
_D = r"(?<![A-Za-z0-9_-])"


def _form(words: tuple[str, ...], pattern: str) -> Rule:
    return words, re.compile(pattern, re.A), TOKEN


def _after(words: tuple[str, ...], pattern: str) -> Rule:
    """What stands behind the group is taken out, the group stays."""
    return words, re.compile(pattern, re.A), r"\1" + TOKEN


_BY_FORM: tuple[Rule, ...] = (
    _form(("hf_", "api_org_"), _B + r"(?:hf_|api_org_)[A-Za-z0-9]{20,}"),
    _form(("sk-", "pk-lf-"), _D + r"(?:sk|pk-lf)-(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{20,}"),
    _form(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _B + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})",
    ),
    _form(
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "glsa_"),
        _D + r"(?:glpat|gldt|glrt|glcbt|glptt|glft|glsoat|glagent)-[A-Za-z0-9_.-]{16,}|" + _B + r"glsa_\w{30,}",
    ),
    _form(("wandb_v1_",), _B + r"wandb_v1_\w{20,}"),
    _form(("akia", "asia", "abia", "acca"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _form(
        ("ltai", "akid", "aklt", "altak"),
        r"(?<![A-Za-z0-9])(?:LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{28,36}|AKLT[A-Za-z0-9]{20,50}"
        r"|(?:bce-v3/)?ALTAK-[A-Za-z0-9]{16,}(?:/[0-9a-f]{32,})?)(?![A-Za-z0-9])",
    ),
    _form(
        ("aiza", "ya29.", "gocspx-"),
        _D + r"(?:AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})",
    ),
    _form(("q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    _form(("pypi-", "npm_"), _D + r"(?:pypi-AgE[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,})"),
    _form(("xox", "xapp-"), r"(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _form(
        ("gsk_", "r8_", "fw_", "tgp_v1_", "rpa_", "kgat_", "ntn_"),
        _B
        + r"(?:gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{32,}|fw_[A-Za-z0-9]{20,}|tgp_v1_[\w-]{30,}|rpa_[A-Z0-9]{30,}\w{0,9}|KGAT_[0-9a-f]{32}"
        r"|ntn_[A-Za-z0-9]{30,})",
    ),
    _form(
        ("nvapi-", "pplx-", "xai-", "tskey-", "lin_api_", "lsv2_"),
        _D
        + r"(?:nvapi-[\w-]{40,}|pplx-[A-Za-z0-9]{32,}|xai-[A-Za-z0-9]{40,}|tskey-[a-z]{2,10}-[\w-]{16,}|lin_api_[A-Za-z0-9]{32,}"
        r"|lsv2_(?:pt|sk)_\w{30,})",
    ),
    _form(
        ("dckr_pat_", "dapi", "dop_v1_", "hvs."),
        _D + r"(?:dckr_pat_[\w-]{20,}|dapi[0-9a-f]{32}|dop_v1_[0-9a-f]{40,}|hvs\.[\w-]{20,})",
    ),
    _form(("sg.", "_live_"), _D + r"(?:SG\.[\w-]{16,32}\.[\w-]{30,64}|[sr]k_live_[A-Za-z0-9]{20,})"),
    _form(("age-secret",), r"AGE-SECRET-KEY-1[0-9A-Z]{30,}"),
    _form((":aa",), r"(?<![\w:.-])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),  # a bot of Telegram
    _form(("ms-",), _D + r"ms-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    _form(("eyj",), _D + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    _form(("-begin",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|[A-Za-z0-9+/=:, ‹›-])+"),
)

# Names behind which a secret stands, by their last word; what comes before it is looked at apart, which is many times faster.
_NAMED = re.compile(
    r"(?:(?:\b|_)(?:api|access|secret|account|encryption|signing|storage|shared[_-]?access|subscription|master|auth|license|service|app"
    r"|wandb|swanlab)[_-]?(?:access[_-]?)?key(?:[_-]?(?:id|secret))?"
    r"|(?:\b|_)(?:access|client|app|consumer|webhook|shared)[_-]?(?:key[_-]?)?secret"
    r"|(?:\b|_)(?:hf|hub|api|auth|access|bot|refresh|session|security|git(?:hub|lab)?|wandb|swanlab|modelscope|private|personal|deploy|oauth"
    r"|bearer|registry|sdk|vault|user|ms|login|write|read|id)[_-]?token|(?:^|[^\w])--?token|(?:\b|_)(?:password|passwd|pwd|passphrase)"
    r"|(?:\b|_)credentials?)$",
    re.I | re.A,
)
# Behind a name: a value with a digit in it or a long one; a variable, a mark, a path and a special token of a model are none.
_VALUE = (
    r"(?![$<‹{(\[/.%*])(?=[^\s\"'&,;)]{0,400}?[\d_-]|[^\s\"'&,;)]{20})(?!\d{1,7}(?:[^\w.+/=-]|$)|(?:true|false|none|null)\b)"
    r"[^\s\"'&,;)‹›]{8,}"
)


def _hide_named(found: re.Match[str]) -> str:
    end = found.end("word")
    if not _NAMED.search(found.string[max(0, found.start() - 40) : end]):
        return found[0]
    return found.string[found.start() : found.start("value")] + TOKEN


_BY_NAME: tuple[Rule, ...] = (
    _after(("bearer ", "basic "), r"(?i)(\b(?:bearer|authorization:[ \t]{0,3}basic)[ \t]{1,4})[A-Za-z0-9._~+/=-]{16,}"),
    # A hash of 40 digits is a commit unless the words before it speak of a key.
    _after(
        ("key", "token", "login", "secret"),
        r"(?i)((?:key|(?<!‹)token|login|secret)\b[^\n]{0,24}?[^\n0-9a-z])[0-9a-f]{40}(?![0-9a-z])",
    ),
    (
        ("key", "token", "passw", "pwd", "secret", "credential", "passphrase"),
        re.compile(
            r"(?i)(?P<word>key(?:[_-]?id)?|token|secret|passw(?:or)?d|pwd|passphrase|credentials?)"
            rf"[\"']?(?:[ \t]{{0,3}}[=:][ \t]{{0,3}}|[ \t]{{1,3}}|[\"'],[ \t]?)[\"']?(?P<value>{_VALUE})",
            re.A,
        ),
        _hide_named,
    ),
    # a password may be any word when a sign of assignment stands before it
    _after(
        ("passw", "passphrase"),
        r"(?i)((?:passw(?:or)?d|passphrase)[\"']?[ \t]{0,3}[=:][ \t]{0,3}[\"']?)(?![$<‹{%*])[^\s\"'&,;)‹›]{4,}",
    ),
    _after(
        ("swanlab login", "swanlab.login"),
        r"(swanlab(?: login|\.login)[^\n]{0,40}?(?:-k|--api-key|api_key=|\()[ \t]*[\"']?)[A-Za-z0-9]{16,64}",
    ),
    _after(("accountkey", "sharedaccesskey"), r"(?i)((?:account|sharedaccess)key=)[A-Za-z0-9+/]{40,}={0,2}"),
    _after(("hooks.slack.com",), r"(hooks\.slack\.com/services/)[A-Za-z0-9/]{8,}"),
    _after(("/hook/", "/webhook/send"), r"(/open-apis/bot/v2/hook/|/webhook/send\?key=)[A-Za-z0-9-]{8,}"),
    _after(("discord",), r"(discord(?:app)?\.com/api/webhooks/)[\w/-]{20,}"),
    _after(
        ("signature", "sig=", "token=", "credential=", "keyid=", "q-ak", "secret=", "api_key=", "&key=", "?key="),
        r"(?i)([?&](?:x-(?:amz|oss|goog)-(?:signature|credential|security-token)|(?:q-)?signature|ossaccesskeyid|awsaccesskeyid|sig|q-ak|token"
        r"|access_token|security-token|secret|api_key|key)=)[A-Za-z0-9%._~+/=-]{8,}",
    ),
    (("://",), re.compile(r"(://)[^\s/@:‹›'\"]{0,80}:[^\s/@‹›'\"]{1,200}@", re.A), rf"\1{TOKEN}@"),
    (
        ("ingest", "sentry"),
        re.compile(r"(https?://)[0-9a-f]{32}(?=@[\w.-]{0,80}(?:sentry|ingest))", re.A),
        rf"\1{TOKEN}",
    ),
    _after(('"key"',), r"(\"username\":[ \t]?\"[^\"\n]{1,60}\",[ \t]?\"key\":[ \t]?\")[0-9a-f]{32}"),  # kaggle.json
    _after(("cookie",), r"(?i)(\b(?:set-)?cookie:[ \t]{1,3}[\w.-]{1,60}=)[^\s;]{12,}"),
)

CREDENTIALS = (*_BY_FORM, *_BY_NAME)

_KEY_BLOCK = re.compile(r"-----(BEGIN|END)[A-Z0-9 ]{0,40} PRIVATE KEY(?: BLOCK)?-----", re.A)
_BASE64 = re.compile(r"[>|\s]*[A-Za-z0-9+/=]{16,}\s*", re.A)


def hide_key_blocks(text: str) -> str:
    """Every line of a private key in PEM form as a mark; a block that is cut at either end is known by its base64 lines."""
    if " PRIVATE KEY" not in text:
        return text
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = _KEY_BLOCK.search(line)
        if not found or "\\n" in line:  # a key in one line, which is a token by its form
            continue
        step = 1 if found[1] == "BEGIN" else -1
        other = at + step
        while 0 <= other < len(lines) and (_BASE64.fullmatch(lines[other]) or ": " in lines[other][:20]):
            lines[other] = TOKEN
            other += step
        lines[at] = TOKEN
    return "\n".join(lines)
