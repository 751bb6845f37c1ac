"""What goes, what stays, and that a second time changes nothing. Every secret here was made up for this file."""

from __future__ import annotations

import pytest

from diagnose.ingest import redact

LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233a"

SECRETS = [
    ("token", f"export HF_TOKEN=hf_{LETTERS[:34]}", "hf_"),
    ("token", f"openai key sk-proj-{LETTERS}", "sk-proj"),
    ("token", f"sk-ant-api03-{LETTERS}", "sk-ant"),
    ("token", f"git clone https://ghp_{LETTERS}@github.com/team/repo", "ghp_"),
    ("token", f"github_pat_{LETTERS}", "github_pat_"),
    ("token", f"glpat-{LETTERS[:20]}", "glpat-"),
    ("token", f"wandb login {HEX}", HEX),
    ("token", f"WANDB_API_KEY={HEX}", HEX),
    ("token", f"--use_wandb key {HEX}", HEX),
    ("token", f'"api_key": "{HEX}",', HEX),
    ("token", "AKIA" + "ABCDEFGHIJKLMNOP", "AKIA"),
    ("token", "xoxb-123456789012-abcdefghij", "xoxb"),
    ("token", "https://hooks.slack.com/services/T00000000/B00000000/abcdefgh", "T00000000"),
    ("token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123", "eyJ"),
    ("token", f"Authorization: Bearer {LETTERS}", LETTERS),
    ("token", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7K7MDENG+bPxRfiCYEXAMPLE", "wJalr"),
    ("token", "password: hunter2-hunter2", "hunter2"),
    ("token", "--hub_token 01234567-89ab-cdef-0123-456789abcdef", "89ab"),
    ("token", "redis://:s3cretpw@cache/0", "s3cretpw"),
    ("token", "pip install --index-url https://bob:hunter22@pypi.corp/simple", "hunter22"),
    ("email", "ask li.lei+gpu@lab.example.edu about it", "li.lei"),
    ("address", "(WorkerDict pid=7921, ip=10.244.9.31) x", "10.244"),
    ("address", "MASTER_ADDR=192.168.3.14", "192.168"),
    ("address", "init_method tcp://172.16.0.9:29500", "172.16"),
    ("user", "alice@node01:~/verl$ bash run.sh", "alice"),
    ("host", "root@a1b2c3d4e5f6:/workspace# python train.py", "a1b2c3d4e5f6"),
    ("host", "[bob@gpu-07 verl]$ python train.py", "gpu-07"),
    ("user", "ssh carol@cluster-login", "carol"),
    ("host", "gpu-node-12:4711:4822 [3] NCCL INFO Bootstrap", "gpu-node-12"),
    ("host", "worker-17.hpc: Traceback (most recent call last):", "worker-17"),
    ("host", "srun: error: g0417: task 0: Exited", "g0417"),
    ("host", "Mar  1 10:07:12 gpuhost kernel: Out of memory: Killed process 4711", "gpuhost"),
    ("host", "ip-10-0-3-17.ec2.internal is down", "10-0-3-17"),
    ("path", '  File "/home/alice/x/verl/a.py", line 3, in f', "alice"),
    ("path", "loading /Users/bob/models/Qwen", "bob"),
    ("path", "--model /mnt/wanglei/ckpt/Qwen2.5-7B", "wanglei"),
    ("path", "路径在/data/zhangsan/verl/main.py下面", "zhangsan"),
    ("path", "/cpfs/user/lisi/verl/verl/main.py", "lisi"),
    ("path", r"C:\Users\dave\verl\a.py", "dave"),
    ("user", "wandb: Currently logged in as: erin (team-x)", "erin"),
    ("user", "View run at https://wandb.ai/frank/proj/runs/1", "frank"),
]

KEPT = [
    "commit 0f1e2d3c4b5a69788796a5b4c3d2e1f00112233a of the main branch",
    "HEAD is now at 9d2c457",
    "nvidia-cublas-cu12==12.4.5.8",
    "nvidia-curand-cu12        10.3.5.147",
    "nvidia-cudnn-cu12 9.1.0.70",
    "NVIDIA driver version: 550.90.07.1",
    "libcudnn.so.9.1.0.70",
    "v1.2.3.4 was fine",
    "listening on 0.0.0.0 and 127.0.0.1",
    "numbers 1.2.3.400 are no address",
    "Worker ID: c275fa2b84b492a782f874c5d90108f045847e37a715f1e466757f60",
    "actor_id=0b91743194674a869fed6b9f0f4d330d, pid=211902",
    "task ID: 0028e87765e1b39f10de647ec463d39f83f8ae2488ca8901",
    "namespace: 93e07fc6-d193-72e3-9bf2-71df556217db",
    "verl.workers.fsdp_workers.ActorRolloutRefWorker",
    "File \"/usr/lib/python3/dist-packages/vllm/worker/worker.py\", line 9, in f",
    "File \"/opt/conda/lib/python3.10/site-packages/torch/_tensor.py\", line 581, in backward",
    "data/kk/instruct/3ppl/train.parquet",
    "./data/alice/train.parquet",
    "${HOME}/data/train.parquet",
    "Qwen/Qwen2.5-7B-Instruct",
    "data.train_files=hiyouga/math12k@train",
    "pip install git+https://github.com/volcengine/verl.git@v0.4.0",
    "git@github.com:volcengine/verl.git",
    "tokens: 4096, pad_token_id: 151643, eos_token: <|im_end|>",
    "max_num_batched_tokens=8192",
    "hf_hub_download and hf_transfer",
    "task-specific-learning-rate-0000000001",
    "Tried to allocate 7.25 GiB. GPU 2 has a total capacity of 79.14 GiB",
    "0x7f0e6c2d9b10",
    "/dev/shm has only 67108864 bytes",
    "monkey: 12345678 keyboard=11111111",
    "wandb_key=$WANDB_KEY",
    "@dataclass",
    "https://docs.ray.io/en/latest/data/alice.html",
    "ray start --head --port 6379",
    "layer1: 4",
]  # fmt: skip


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
