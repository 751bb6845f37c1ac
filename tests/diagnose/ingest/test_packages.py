"""Packages with versions."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


@pytest.mark.parametrize(
    "text",
    [
        "takes 79.14 GiB",
        "about 1.5 hours",
        "top_p 0.8",
        "vllm 0.8",
        "lr: 0.001",
        "Qwen 1.5B",
        "MASTER_ADDR=127.0.0.1",
        "loss 0.25",
        "a 32.5%",
    ],
)
def test_it_takes_no_measure_for_a_version(text: str) -> None:
    assert read(text).packages == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vllm==0.8.2", [("vllm", "0.8.2")]),
        ("torch==2.6.0+cu124, flash-attn==2.7.4.post1", [("torch", "2.6.0+cu124"), ("flash-attn", "2.7.4.post1")]),
        ("torch                    2.4.0", [("torch", "2.4.0")]),
        ("vllm        0.8.2       pypi_0    pypi", [("vllm", "0.8.2")]),
        ("- torch: 2.4.0", [("torch", "2.4.0")]),
        ("vLLM version 0.8.2", [("vLLM", "0.8.2")]),
        ("vllm 版本 0.8.2。", [("vllm", "0.8.2")]),
        ("vllm 0.11, sglang v0.5", [("vllm", "0.11"), ("sglang", "0.5")]),
        ("after upgrading vllm from 0.8.5 to 0.11 it dies", [("vllm", "0.11")]),
        ("vllm 0.8.5 -> 0.11.0", [("vllm", "0.11.0")]),
        ("transformers 4.48.2 升级到 4.51.0 之后", [("transformers", "4.51.0")]),
        ("downgrading vllm from 0.11.0 to 0.8.5 cures it", []),
        ("upgrading vllm from 0.8.5 to 0.11 fixed it", []),
        ("upgraded vllm 0.8.5 -> 0.11 and now it OOMs, rollback works", [("vllm", "0.11")]),
        ("vllm 0.8.5 升级到 0.11 之后爆，降回去就好了", [("vllm", "0.11")]),
        ("torch 2.6, vllm 0.7.2", [("torch", "2.6"), ("vllm", "0.7.2")]),
        ("pkg@0.5.0", [("pkg", "0.5.0")]),
        ("pkg-0.5.7", [("pkg", "0.5.7")]),
        ("tool 3.10.dev", [("tool", "3.10.dev")]),
        ("Python 3.11", [("Python", "3.11")]),
        ("Tool info: version=0.16.4, git-hash=unknown", [("Tool", "0.16.4")]),
        ("/opt/site-packages/tool-0.8.2+cu121-py3.10-linux.egg/tool/a.py", [("tool", "0.8.2+cu121")]),
        ("/opt/site-packages/tool-0.8.2.dist-info/METADATA", [("tool", "0.8.2")]),
        ("docker run some/image:app-base0.5-tool0.10.0-te2.2", [("base", "0.5"), ("tool", "0.10.0"), ("te", "2.2")]),
    ],
)
def test_it_reads_packages_as_people_and_tools_write_them(text: str, found: list[tuple[str, str]]) -> None:
    assert [(package.name, package.version) for package in read(text).packages] == found


def test_it_says_on_which_line() -> None:
    assert read("a\n\nvllm==0.8.2").packages[0].line == 3
