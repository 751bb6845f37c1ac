"""What carried a text on its way and left its marks: a container's log as JSON, a web page, an editor of Markdown."""

from __future__ import annotations

import json
import re

# moby daemon/logger/jsonfilelog/jsonlog: one object a line, the text under "log".
_START = 4_000  # bytes that tell whether a look at the whole text is worth its time
_ENTRY = b'{"log":"'
# A tag behind which another line begins, and those that only dress words.
_ENDS = re.compile(rb"[ \t]*(?:<br[ \t]*/?>|</(?:p|div|li|tr|pre|summary|blockquote|h[1-6])>)(?:[ \t]*\n)?")
_TAGS = re.compile(
    rb"</?(?:p|br|div|pre|code|span|details|summary|li|ul|ol|t[dhr]|table|tbody|thead|blockquote|b|i|em|strong|font|samp|kbd|tt|a|h[1-6])"
    rb"(?:[ \t][^<>\n]{0,300})?/?>"
)
_MARKED = re.compile(rb"<(?:/[a-z]|br)")
_EDITED = re.compile(rb"\\(?:_|(?<=\d\\)\*|(?<=\d \\)\*)")  # what no program writes
_FEW = 16  # lines that stand apart by chance
_ESCAPED = re.compile(
    rb"\\++([_*\[\]~<>#|^])"
)  # all of a run at once: a text of nothing else would take as many rounds


def unpacked(data: bytes) -> bytes:
    """The lines out of a container's log, or of a text that was quoted whole, with its line ends as ``\\n``."""
    if _ENTRY in data:
        return b"\n".join(map(_text, data.split(b"\n")))
    if b"\\n" in data[:_START] and data.count(b"\\n") > 3 * (data.count(b"\n") + 1):
        return data.replace(b"\\r", b"").replace(b"\\n", b"\n").replace(b"\\t", b"\t").replace(b'\\"', b'"')
    return data


def _text(line: bytes) -> bytes:
    """The text of an entry; of any other line the line."""
    if not line.startswith(_ENTRY):
        return line
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    return str(entry["log"]).rstrip("\r\n").encode("utf-8", "replace")


def unmarked(data: bytes) -> bytes:
    """Without the tags of a web page, the backslashes of an editor and the blank line behind every line."""
    if _MARKED.search(data):
        data = _TAGS.sub(b"", _ENDS.sub(b"\n", data))
    if _EDITED.search(data):
        data = _ESCAPED.sub(rb"\1", data).replace(b"\\\\\n", b"\\\n")
    while _is_double_spaced(data):
        data = b"\n".join(data.split(b"\n")[::2])
    return data


def _is_double_spaced(data: bytes) -> bool:
    if b"".join(data[:_START].split(b"\n")[1:-1:2]).strip():
        return False
    lines = data.split(b"\n")
    return len(lines) > _FEW and not b"".join(lines[1::2]).strip()
