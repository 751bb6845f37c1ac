"""What carried a text on its way and left its marks: a log as JSON, a notebook, a web page, an editor of Markdown."""

from __future__ import annotations

import json
import re

_START = 4_000  # bytes that tell whether a look at the whole text is worth its time
# The text of an entry of a log: moby daemon/logger/jsonfilelog/jsonlog and Fluent Bit, Elastic's common schema, zap, Loki's
# export, Google's LogEntry, Splunk's raw event, systemd.journal-fields.
_TEXTS = ("log", "message", "msg", "line", "textPayload", "_raw", "MESSAGE")
# A field of an entry that holds settings beside its text.
_SETTINGS = re.compile(r"(?:cfg|conf|config\w*|args|arguments|h?params|hyper\w*|settings|options)", re.I | re.A)
_NAMES = "|".join(_TEXTS).encode()
_ENTRY = re.compile(rb'^[ \t]*\{[^\n]{0,2000}?"(?:' + _NAMES + rb')":[ ]?"', re.M)
# The same of an entry that is spread over lines, and a line of what a notebook printed (nbformat: multiline strings).
_SPREAD = re.compile(rb'^[ \t]*"(?:' + _NAMES + rb')"[ ]?:[ ]?("(?:[^"\\\n]|\\.)*+")[ \t]*,?$', re.M)
_BESIDE = re.compile(
    rb'^[ \t]*(?:"\w*(?:[tT]ime|[sS]tamp|[sS]tream|Id|severity)\w*"[ ]?:.*|[\[\]{}]+,?)(?:\n|\Z)', re.M
)
_CELL = re.compile(rb'^[ \t]*(?:"(?:evalue|source|text|text/plain)":[ ]?)?("(?:[^"\\\n]|\\.)*+")[ \t]*,?$', re.M)
_STRUCTURE = re.compile(
    rb'^[ \t]*(?:"(?:cells|cell_type|execution_count|id|metadata|outputs|output_type|name|source|traceback|ename|data|text|text/plain'
    rb'|text/html|nbformat|nbformat_minor|kernelspec|display_name|language)"[ ]?:.*|[\[\]{}]+,?)(?:\n|\Z)',
    re.M,
)
_NOTEBOOK = re.compile(rb'^[ \t]*"(?:output_type|cell_type)":[ ]?"', re.M)
# The text of an entry of logfmt (brandur.org/logfmt), and the last column of an export of a log in commas (RFC 4180).
_LOGFMT = re.compile(
    rb'^(?:[\w.-]{1,80}: )?(?:[\w.@-]{1,40}=(?:"(?:[^"\\\n]|\\.)*+"|[^\s"]{0,200}) ){1,12}(?:'
    + _NAMES
    + rb')=("(?:[^"\\\n]|\\.)*+")(?: .*)?$',
    re.M,
)
_COLUMN = re.compile(rb'^(?:(?:"[^"\n]{0,80}"|[^",\n]{0,80}),){1,8}"((?:[^"\n]|"")*+)"$', re.M)
_DOUBLED = re.compile(rb'^[^\n]{1,80},"[^\n]{0,400}""', re.M)
# What is before a text that was quoted whole.
_QUOTED = re.compile(rb'\s*(?:\{[ ]?["\']\w{1,40}["\']:[ ]?)?b?["\'](?=\S)')
# A tag behind which another line begins, and those that only dress words.
_ENDS = re.compile(rb"[ \t]*(?:<br[ \t]*/?>|</(?:p|div|li|tr|pre|summary|blockquote|h[1-6])>)(?:[ \t]*\n)?")
_TAGS = re.compile(
    rb"</?(?:p|br|div|pre|code|span|details|summary|li|ul|ol|t[dhr]|table|tbody|thead|blockquote|b|i|em|strong|font|samp|kbd|tt|a|h[1-6])"
    rb"(?:[ \t][^<>\n]{0,300})?/?>"
)
# A value in quotes, whose tags are its own: of a prompt, a template, a word at which an engine stops.
_VALUE = re.compile(rb"""(?<=[\s=:,(\[])(?:'[^'\n]{0,2000}'|"[^"\n]{0,2000}")(?=[\s,;)\]}]|\Z)""")
_CELLS_OF_A_ROW = re.compile(rb"[ \t]*</t[dh]>[ \t]*\n?[ \t]*(?=<t[dh][ >])")
_ENDS_OR_VALUE, _TAGS_OR_VALUE = (re.compile(_VALUE.pattern + b"|" + tags.pattern) for tags in (_ENDS, _TAGS))
_MARKED = re.compile(rb"<(?:/[a-z]|br)")
_EDITED = re.compile(rb"\\(?:_|(?<=\d\\)\*|(?<=\d \\)\*)")  # what no program writes
_SOME = 3  # entries that prove a form
_FAR = 65_536  # bytes in which they stand
_FEW = 16  # lines that stand apart by chance
_ESCAPED = re.compile(
    rb"\\++([_*\[\]~<>#|^])"
)  # all of a run at once: a text of nothing else would take as many rounds


def unpacked(data: bytes) -> bytes:
    """The lines out of a log's entries or a notebook, or of a text that was quoted whole, with its line ends as ``\\n``."""
    if b'":' in data:
        if _ENTRY.search(data):
            return b"\n".join(map(_text, data.split(b"\n")))
        if _NOTEBOOK.search(data):
            return _STRUCTURE.sub(b"", _CELL.sub(_string, data))
        if len(_SPREAD.findall(data, 0, _FAR)) >= _SOME:
            return _BESIDE.sub(b"", _SPREAD.sub(_string, data))
    if len(_LOGFMT.findall(data, 0, _FAR)) >= _SOME:
        return _LOGFMT.sub(_string, data)
    if _DOUBLED.search(data, 0, _FAR) and len(_COLUMN.findall(data, 0, _FAR)) >= _SOME:
        return _COLUMN.sub(lambda found: found[1].replace(b'""', b'"'), data)
    if b"\\n" in data[:_START] and data.count(b"\\n") > 3 * (data.count(b"\n") + 1):
        data = _QUOTED.sub(b"", data, count=1) if _QUOTED.match(data) else data
        return data.replace(b"\\r", b"").replace(b"\\n", b"\n").replace(b"\\t", b"\t").replace(b'\\"', b'"')
    return data


def _text(line: bytes) -> bytes:
    """The text of an entry, with the settings beside it on lines of their own; of any other line the line."""
    if not _ENTRY.match(line):
        return line
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), None)
    if text is None:
        return line
    held = [value for name, value in entry.items() if isinstance(value, dict) and _SETTINGS.fullmatch(name)]
    return b"\n".join([_encoded(text), *(_encoded(json.dumps(one, ensure_ascii=False)) for one in held if one)])


def _string(found: re.Match[bytes]) -> bytes:
    """What a string of JSON says."""
    try:
        return _encoded(json.loads(found[1]))
    except ValueError:
        return found[0]


def _encoded(text: str) -> bytes:
    return text.rstrip("\r\n").encode("utf-8", "replace")


def unmarked(data: bytes) -> bytes:
    """Without the tags of a web page, the backslashes of an editor and the blank line behind every line."""
    if _MARKED.search(data):
        data = _CELLS_OF_A_ROW.sub(b"\t", data)
        data = _ENDS_OR_VALUE.sub(lambda found: _own(found[0]) or b"\n", data)
        data = _TAGS_OR_VALUE.sub(lambda found: _own(found[0]), data)
    if _EDITED.search(data):
        data = _ESCAPED.sub(rb"\1", data).replace(b"\\\\\n", b"\\\n")
    while _is_double_spaced(data):
        data = b"\n".join(data.split(b"\n")[::2])
    return data


def _own(found: bytes) -> bytes:
    """A value as it stands; nothing of a tag."""
    return found if found[:1] in (b"'", b'"') else b""


def _is_double_spaced(data: bytes) -> bool:
    if b"".join(data[:_START].split(b"\n")[1:-1:2]).strip():
        return False
    lines = data.split(b"\n")
    return len(lines) > _FEW and not b"".join(lines[1::2]).strip()
