"""How long reading takes: a usual paste of 20 kB (aim: 12 ms), a log of 1 MiB (aim: 40 ms), 100 MB as a stream (aim: 3 s, 150 MB).

Run from the project's root: ``python benchmarks/read.py [--stream]``. Prints the best of several runs in processor time,
since other work on the machine costs none of that; beside it what ``rg`` takes to count the reader's literals in the same text.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from diagnose.ingest import read, read_stream  # noqa: E402
from diagnose.ingest.telling import LITERALS  # noqa: E402

MIB = 1 << 20
COMMAND = """python3 -m pkg.trainer.main algorithm.adv_estimator=grpo \\
    data.train_batch_size=512 data.max_prompt_length=1024 \\
    actor.micro_batch=4 actor.path=/home/someone/models/Model-7B-Instruct \\
    --deepspeed zero3 --gradient_accumulation_steps $(expr 16 / 4) --bf16
"""
WORKER = "(WorkerDict pid={n}, ip=10.0.3.{m}) "
ENGINE = (
    "INFO 03-01 10:{m:02}:12 [loggers.py:{n}] Engine 00{k}: Avg prompt throughput: {n}.3 tokens/s, Running: {m} reqs, "
    "Waiting: {k} reqs, GPU KV cache usage: {m}.{k}%, Prefix cache hit rate: {k}.0%\n"
)
BAR = "Training:  {m}%|███▌      | {m}/{n} [{m}:23<1:0{k}:11, {m}.{k}s/it]\n"
WARNING = "/home/someone/env/lib/python3.11/site-packages/torch/autograd/graph.py:{n}: UserWarning: Memory format differs in {word}\n"
STEP = "step:{n} - " + " - ".join(f"part{i}/name_{i}/mean:{{m}}.{i}" for i in range(45)) + "\n"
MEMORY = "Before {word} [critic]: memory allocated (GB): {m}.31, memory reserved (GB): {m}.88, device memory used/total: {m}/79.11\n"
FRAME = """  File "/home/someone/pkg/workers/step_{k}.py", line {n}, in update_{word}
    output = self.module(input_ids=input_ids, position_ids=position_ids, {word}=False)
"""
ERROR = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {m}.50 GiB. "
    "GPU {k} has a total capacity of 79.14 GiB of which 3.1 GiB is free.\n"
)
KINDS = (ENGINE, ENGINE, BAR, WORKER + BAR, WORKER + WARNING, WORKER + MEMORY, STEP, FRAME)
WORDS = (
    *("so", "the", "sum", "of", "both", "sides", "is", "therefore"),
    *("equal", "to", "\\frac{3}{4}", "and", "we", "see", "that", "x"),
)


def log(size: int, seed: int = 0) -> Iterator[str]:
    """A log in pieces of about ``size`` characters in all: a third is what a model wrote, the rest what programs print."""
    chance, length, n = random.Random(seed), len(COMMAND), 1000
    yield COMMAND
    while length < size:
        n += 1
        kind = ERROR if n % 211 == 0 else chance.choice(KINDS)
        word = chance.choice(WORDS) + chance.choice(WORDS)
        program = kind.format(n=n, m=n % 97, k=n % 8, word=word)
        sample = WORKER.format(n=n, m=n % 8) + " ".join(chance.choices(WORDS, k=len(program) // 9)) + "\n"
        yield program + sample
        length += len(program) + len(sample)


def best(work: Callable[[], object], runs: int) -> float:
    """The shortest of some runs in milliseconds of processor time."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def rg(path: Path) -> str:
    """What ``rg`` takes to count the lines with one of the reader's literals."""
    if shutil.which("rg") is None:
        return "rg is not installed"
    words = [f"-e{word}" for _, words in LITERALS for word in words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        ["rg", "-j1", "-cF", *words, path], capture_output=True, text=True, check=False
    ).stdout.strip()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"rg {spent * 1000:.1f} ms for {told or 0} lines"


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 16):
            yield chunk


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--stream", action="store_true", help="also read 100 MB as a stream")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        if given.stream:  # first, so that the peak is its own
            with path.open("w") as file:
                file.writelines(log(100_000_000))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            spent = best(lambda: read_stream(chunks(path)), 1)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(
                f"100 MB as a stream {spent:9.1f} ms   {rg(path)}   peak {peak / 1024:.0f} MiB, before {before / 1024:.0f}"
            )
        for size, runs in ((20_000, 30), (64_000, 15), (MIB, 10)):
            text = "".join(log(size))[:size]
            path.write_text(text)
            print(f"{size:>9,} characters {best(lambda text=text: read(text), runs):8.1f} ms   {rg(path)}")  # type: ignore[misc]
        print(f"one line of 10 MB  {best(lambda: read('x=1 ' * 2_500_000), 1):9.1f} ms")


if __name__ == "__main__":
    main()
