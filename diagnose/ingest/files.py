"""Files that hold no text, told by their first bytes: a pickle, an archive, a picture. None of them is ever opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

FIRST = 512  # bytes that tell a file
# The keys with which torch.cuda.memory._dump_snapshot begins.
_SNAPSHOT = (b"segments", b"device_traces")
_MAGIC = (
    ("compressed", (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")),
    ("archive", (b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")),
    ("picture", (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")),
    ("document", (b"%PDF-", b"\xd0\xcf\x11\xe0")),
    ("core", (b"\x7fELF",)),
)


def kind_of(first: bytes) -> str:
    """The kind of a file by its first bytes: a word of ``diagnose.words.files``, or "" for what may be text."""
    if first[:1] == b"\x80" and first[1:2] in b"\x02\x03\x04\x05" and len(first) > 2:
        return "snapshot" if any(key in first[:FIRST] for key in _SNAPSHOT) else "pickle"
    if first[257:262] == b"ustar":
        return "archive"
    if first[8:10] == b'{"' and first[5:8] == b"\0\0\0":
        return "tensors"
    return next((kind for kind, starts in _MAGIC if first.startswith(starts)), "")


def without_files(streams: Iterable[Iterable[bytes]]) -> tuple[Iterator[bytes], list[str]]:
    """All streams as one with a line end between them, less those that are no text; their kinds are listed once read."""
    kinds: list[str] = []
    return _texts(streams, kinds), kinds


def _texts(streams: Iterable[Iterable[bytes]], kinds: list[str]) -> Iterator[bytes]:
    for number, stream in enumerate(streams):
        chunks = iter(stream)
        first = b""
        while len(first) < FIRST and (chunk := next(chunks, None)) is not None:
            first += chunk
        if kind := kind_of(first):
            kinds.append(kind)
            continue
        if number:
            yield b"\n"
        yield first
        yield from chunks
