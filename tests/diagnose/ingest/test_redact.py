"""What goes, what stays, and that a second time changes nothing."""

from __future__ import annotations

import pytest

from diagnose.ingest import redact
from tests.diagnose.ingest.corpus import KEPT, SECRETS


@pytest.mark.parametrize("line", KEPT)
def test_it_keeps_what_only_looks_like_a_secret(line: str) -> None:
    assert redact(line) == (line, ())


@pytest.mark.parametrize(("kind", "line", "secret"), SECRETS)
def test_it_takes_a_secret_out_and_says_of_what_kind_it_was(kind: str, line: str, secret: str) -> None:
    text, redactions = redact(line)
    assert secret not in text
    assert kind in {redaction.kind for redaction in redactions}


def test_it_finds_the_same_in_one_text_as_in_single_lines() -> None:
    lines = [line for _, line, _ in SECRETS] + KEPT
    assert redact("\n".join(lines))[0].split("\n") == [redact(line)[0] for line in lines]


def test_a_second_time_changes_nothing() -> None:
    once = redact("\n".join(line for _, line, _ in SECRETS))
    assert redact(once[0]) == once


def test_it_takes_every_line_of_a_private_key_out() -> None:
    begin, end = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
    key = ["before", begin, "b3BlbnNzaC1rZXktdjEAAAAA", "QyNTUxOQAAACA=========", end, "after"]
    assert redact("\n".join(key))[0].split("\n") == ["before", "‹token›", "‹token›", "‹token›", "‹token›", "after"]


def test_it_knows_a_private_key_whose_first_line_is_missing() -> None:
    assert "QyNTUxOQAAACAabcd" not in redact("QyNTUxOQAAACAabcd\n-----END RSA PRIVATE KEY-----")[0]


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/home/alice/x/verl/a.py", "‹path›/x/verl/a.py"),
        ("/home/alice", "‹path›"),
        ("/mnt/team/alice/verl/a.py", "‹path›/alice/verl/a.py"),
        ("/nas/Qwen2.5-7B-Instruct", "‹path›/Qwen2.5-7B-Instruct"),
        ("/data/Qwen2.5-7B-Instruct/checkpoint-80", "‹path›/Qwen2.5-7B-Instruct/checkpoint-80"),
        ("/data/gsm8k/train.parquet", "‹path›/gsm8k/train.parquet"),
        ("/mnt/DAPO-Math-17k/train.parquet", "‹path›/DAPO-Math-17k/train.parquet"),
        ("/data2/wang/ckpt/", "‹path›/ckpt/"),
        ("/workspace/Some-R1/pkg/a.py", "‹path›/Some-R1/pkg/a.py"),
        ("/workspace/alice/pkg/a.py", "‹path›/pkg/a.py"),
        ("/root/.cache/huggingface", "‹path›/.cache/huggingface"),
        (
            "/home/bob/miniconda3/lib/python3.10/site-packages/ray/a.py",
            "‹path›/miniconda3/lib/python3.10/site-packages/ray/a.py",
        ),
        ("PATH=/home/a/bin:/usr/bin:/home/b/bin", "PATH=‹path›/bin:/usr/bin:‹path›/bin"),
    ],
)
def test_it_keeps_the_end_of_a_path(path: str, left: str) -> None:
    assert redact(path)[0] == left


def test_it_counts_lines_from_one_over_gaps() -> None:
    assert [redaction.line for redaction in redact("a\n⋯ 37 lines ⋯\n10.0.0.3")[1]] == [39]


def test_it_says_twice_what_stands_twice_in_a_line() -> None:
    assert [redaction.kind for redaction in redact("10.0.0.3 and 10.0.0.4")[1]] == ["address", "address"]


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ('File "/home/müller/x.py", line 3, in f', "ller"),
        ("cd /Users/José/run", "é"),
        ("ssh müller@gpu01", "mü"),
        ("张三@gpu-node-01:~$ ls", "张三"),
        ("我的邮箱是zhang.san@corp.com请联系", "zhang"),
        ("ip是10.1.2.3的机器", "10.1"),
        ("主机gpu-node-17.corp.cn上报错", "corp"),
        ("wandb: Currently logged in as: müller (团队)", "团队"),
        ("WANDB_ENTITY=团队名", "团队"),
    ],
)
def test_names_of_other_alphabets_go_and_chinese_around_a_secret_hides_none(line: str, secret: str) -> None:
    assert secret not in redact(line)[0]
