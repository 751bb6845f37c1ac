"""``python -m diagnose < train.log``: the diagnosis as text, or as JSON with ``--json``; needs the standard library alone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import BinaryIO

from diagnose.ingest import read_streams
from diagnose.knowledge import ContentError, current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_markdown, to_text

CHUNK = 1 << 16


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream in pieces, so that a log of any size costs little memory."""
    while chunk := stream.read(CHUNK):
        yield chunk


def main() -> int:
    """Reads the files that are named, or standard input; 0 also when nothing could be told, 2 when the content does not fit."""
    parser = argparse.ArgumentParser(prog="python -m diagnose", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=argparse.FileType("rb"), help="logs, scripts or YAML; standard input without any"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, as the batch interface gives it")
    parser.add_argument("--markdown", action="store_true", help="one Markdown block for an issue")
    options = parser.parse_args()
    try:
        knowledge = current()
    except ContentError as misfits:
        print(misfits, file=sys.stderr)
        return 2
    streams = options.files or [sys.stdin.buffer]
    paste = read_streams(chunks(stream) for stream in streams)
    diagnosis = diagnose(paste, {}, knowledge, tuple(knowledge.cases.values()))
    if options.json:
        told = json.dumps(to_json(diagnosis), ensure_ascii=False, indent=1)
    else:
        told = to_markdown(diagnosis) if options.markdown else to_text(diagnosis)
    try:
        print(told, flush=True)
    except BrokenPipeError:  # as under `| head`: the reader has had enough
        sys.stdout = None
    return 0


if __name__ == "__main__":
    sys.exit(main())
