"""What launchers, collectors of logs and chats put before every line, and what a log repeats.

``LABELLED`` are labels that the reader has no name for: it learns them from the lines of a traceback.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from benchmarks.damage.shapes import Damage, each_line, prefixed
from benchmarks.damage.terminal import LOG

_REPEATED = (
    " [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
    "https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more options.)"
)


def of_docker(text: str) -> str:
    """A container's log file: one JSON object a line."""

    def change(line: str) -> str:
        entry = {"log": line + "\n", "stream": "stderr", "time": "2025-03-02T09:00:01.123456789Z"}
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))

    return each_line(text, change)


def two_ranks(text: str) -> str:
    """Both ranks print every line, one after the other, each under its name."""
    return each_line(text, lambda line: f"[rank0]: {line}\n[rank1]: {line}" if line.strip() else line)


def twice(text: str) -> str:
    """Two processes without names print every line of the log, one after the other."""
    return LOG.sub(r"\g<0>\n\g<0>", text)


def repeated(text: str) -> str:
    return LOG.sub(lambda found: found[0] + _REPEATED, text)


def entries(make: Callable[[str], dict[str, object]]) -> Damage:
    """One JSON object a line."""
    return lambda text: each_line(text, lambda line: json.dumps(make(line), ensure_ascii=False))


def events(text: str) -> str:
    """What ``aws logs get-log-events`` prints: one JSON object, each entry over several lines."""
    lines = [{"timestamp": 1740906001123, "message": line, "ingestionTime": 1740906002123} for line in text.split("\n")]
    return json.dumps({"events": lines}, indent=4, ensure_ascii=False)


COLLECTOR: dict[str, Damage] = {
    "rank": prefixed("[rank3]: "),
    "worker": prefixed("(Worker pid=123, ip=10.0.0.1) "),
    "worker in colour's rest": prefixed("[36m(Worker pid=123, ip=10.0.0.1)[0m "),
    "task": prefixed("(TaskRunner pid=4711) "),
    "torchrun": prefixed("[default0]:"),
    "slurm": prefixed("0: "),
    "mpirun": prefixed("[1,0]<stderr>:"),
    "pdsh": prefixed("worker-0: "),
    "kubectl time": prefixed("2025-03-02T09:00:01.123456789Z "),
    "kubectl pod": prefixed("[pod/grpo-train-worker-0/trainer] "),
    "containerd": prefixed("2025-03-02T09:00:01.123456789+08:00 stderr F "),
    "compose": prefixed("trainer-1  | "),
    "docker's JSON": of_docker,
    "journald": prefixed("Mar 02 09:00:01 gpu-node-07 python3[4711]: "),
    "syslog": prefixed("Mar  2 09:00:01 gpu-node-07 train.sh[4711]: "),
    "ts": prefixed("Mar 02 09:00:01 "),
    "brackets of time": prefixed("[2025-03-02 09:00:01,123] "),
    "logging": prefixed("2025-03-02 09:00:01,123 - INFO - "),
    "logger's name": prefixed("2025-03-02 09:00:01,123 - __main__ - INFO - "),
    "loguru": prefixed("2025-03-02 09:00:01.123 | INFO     | trainer.main:run:42 - "),
    "airflow": prefixed("[2025-03-02, 09:00:01 UTC] {subprocess.py:93} INFO - "),
    "engine": prefixed("INFO 03-02 09:00:01 [core.py:12] "),
    "clock": prefixed("09:00:01 "),
    "two ranks": two_ranks,
    "twice": twice,
    "repeated": repeated,
    "Elastic's JSON": entries(lambda line: {"@timestamp": "2025-03-02T09:00:01Z", "message": line, "stream": "stderr"}),
    "Loki's JSON": entries(
        lambda line: {"line": line, "timestamp": "1740906001123456789", "fields": {"pod": "train-0"}}
    ),
    "Google's JSON": entries(lambda line: {"insertId": "a1", "textPayload": line, "severity": "ERROR"}),
    "zap's JSON": entries(lambda line: {"level": "info", "ts": 1740906001.1, "msg": line}),
    "events over lines": events,
}
LABELLED: dict[str, Damage] = {
    "stern": prefixed("train-worker-0 trainer "),
    "stern, time": prefixed("train-master-0 › pytorch 2025-03-02T09:00:01.123456789Z "),
    "compose, no number": prefixed("trainer  | "),
    "compose, time": prefixed("trainer-1  | 2025-03-02T09:00:01.123456789Z "),
    "Horovod": prefixed("[1,0]<stderr>:Sun Mar  2 09:00:01 2025[0]<stderr>:"),
    "SageMaker": prefixed("[1,mpirank:3,algo-1]<stderr>:"),
    "GitLab": prefixed("2025-03-02T09:00:01.123456Z 01O "),
    "Heroku": prefixed("2025-03-02T09:00:01.123456+00:00 app[worker.1]: "),
    "a platform": prefixed("[2025-03-02 09:00:01] [worker-0] "),
    "a platform, bare": prefixed("2025-03-02 09:00:01.123 worker-0 "),
    "wandb": prefixed("2025-03-02 09:00:01,123 INFO    MainThread:4711 [wandb_run.py:_redirect():2366] "),
    "epoch": prefixed("1740906001.123 "),
    "dmesg": prefixed("[  12.345678] "),
    "Chinese date": prefixed("2025年03月02日 09:00:01 "),
    "slashes, AM": prefixed("3/2/2025 9:00:01 AM "),
    "level": prefixed("[INFO] "),
    "root logger": prefixed("ERROR:root:"),
    "name of rank": prefixed("rank=3 "),
    "grep, file": prefixed("logs/train.log:"),
    "grep, file and number": lambda text: "\n".join(
        f"train.log:{at}:{line}" for at, line in enumerate(text.split("\n"), 1)
    ),
    "less -N": lambda text: "\n".join(f"{at:7} {line}" for at, line in enumerate(text.split("\n"), 1)),
    "difference": prefixed("+"),
    "IRC": prefixed("[10:23:01] <anna> "),
    "chat": prefixed("张三 10:23: "),
    "chat, quoted": prefixed("「张三："),
    "margin": prefixed("│ "),
    "bullets": prefixed("• "),
    "arrows": prefixed("» "),
    "comment": prefixed("// "),
}
