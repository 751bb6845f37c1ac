"""What a request brings: the paste, the files and the reduced paste of an earlier page, as one text that is read as a stream."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest

from diagnose.ingest import read_streams
from diagnose.types import Paste
from wizard import limits

CHUNK = 1 << 16
_END, _LINES = 200_000, 400  # letters and lines of a text that is too long which its writer gets back


class TooLong(Exception):
    """More text than is taken; ``size`` in bytes, ``end`` its last lines where they are known."""

    def __init__(self, size: int, end: str = "") -> None:
        self.size, self.end = size, end
        super().__init__(f"{limits.size_words(size)} pasted")


def pasted(request: HttpRequest) -> Paste | str | None:
    """The text to diagnose: a new paste with its files, else the reduced one that the page carries; None where there is nothing."""
    text = request.POST.get("paste", "")
    files = [file for file in request.FILES.getlist("files") if file.size]
    if len(text) > limits.PASTE:
        raise TooLong(len(text.encode(errors="replace")), "\n".join(text[-_END:].splitlines()[-_LINES:]))
    if text.strip() or files:
        return read_streams([*_typed(text), *(file.chunks(CHUNK) for file in files)])
    return request.POST.get("reduced") or None


def empty(request: HttpRequest) -> list[str]:
    """The names of the files that hold nothing."""
    return [file.name or "" for file in request.FILES.getlist("files") if not file.size]


def _typed(text: str) -> Iterator[list[bytes]]:
    """What was typed or pasted as the first of the streams, if there is any."""
    if text.strip():
        yield [text.encode("utf-8", errors="replace")]


def body(request: HttpRequest) -> Iterator[bytes]:
    """A raw body in pieces; raises ``TooLong`` where more than ``limits.SHELL`` bytes come."""
    # Django reads no further than the announced length, and a body that is sent in chunks announces none.
    stream = request.META["wsgi.input"] if request.META.get("wsgi.input_terminated") else request
    if (announced := limits.content_length(request)) > limits.SHELL:
        raise TooLong(announced)
    came = 0
    while chunk := stream.read(CHUNK):
        came += len(chunk)
        if came > limits.SHELL:
            raise TooLong(came)
        yield chunk
