"""Files that hold no text: never opened, named, and the text beside them is read."""

from __future__ import annotations

import io
import pickle
import zipfile

import pytest

from diagnose.ingest import read, read_stream, read_streams
from diagnose.ingest.files import kind_of
from diagnose.words.files import FILES, told

LOG = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n--max_length 2048\n"


def zipped() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("train.log", LOG)
    return target.getvalue()


@pytest.mark.parametrize(
    "first",
    [b"", b"\x80", b"PK", LOG.encode(), LOG.encode("utf-16"), "显存不足".encode("gbk"), b"BASH=1\n", b"RIF", b"%PDF", b"\x80\x81\x82 text"],
)  # fmt: skip
def test_it_takes_no_text_for_such_a_file(first: bytes) -> None:
    assert kind_of(first) == ""


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (pickle.dumps({"segments": [], "device_traces": [[]], "allocator_settings": {}}), "snapshot"),
        (pickle.dumps({"a": 1}), "pickle"),
        (pickle.dumps({"a": 1}, protocol=2), "pickle"),
        (zipped(), "archive"),
        (b"\x1f\x8b\x08\x00" + bytes(20), "compressed"),
        (bytes([96, 1, 0, 0, 0, 0, 0, 0]) + b'{"__metadata__":{}}', "tensors"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "picture"),
        (b"%PDF-1.7\n", "document"),
        (b"\x7fELF\x02\x01", "core"),
        (bytes(257) + b"ustar\x0000", "archive"),
    ],
)  # fmt: skip
def test_it_tells_a_file_by_its_first_bytes(first: bytes, kind: str) -> None:
    assert kind_of(first) == kind
    paste = read_stream([first[:3], first[3:]])
    assert (paste.file, paste.lines) == (kind, ())
    assert FILES[kind][0] in told(kind)


def test_the_text_beside_a_snapshot_is_read() -> None:
    snapshot = pickle.dumps({"segments": [], "device_traces": []})
    paste = read_streams([[LOG.encode()], [snapshot]])
    assert paste.file == "snapshot"
    assert paste.settings == read(LOG).settings


def test_two_files_never_run_into_one_line() -> None:
    paste = read_streams([[b"--max_length 2048"], [b"--bf16"]])
    assert [line.text for line in paste.lines] == ["--max_length 2048", "--bf16"]
