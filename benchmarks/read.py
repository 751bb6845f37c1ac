"""How long reading takes: a usual paste of 20 kB (aim: 12 ms), a log of 1 MB (aim: 120 ms), 100 MB through a pipe.

Run from the project's root: ``python benchmarks/read.py [--stream]``. Prints the best of several runs, on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from diagnose.ingest import read, read_stream  # noqa: E402

COMMAND = """python3 -m pkg.trainer.main algorithm.adv_estimator=grpo \\
    data.train_batch_size=512 data.max_prompt_length=1024 \\
    actor.micro_batch=4 actor.path=/home/someone/models/Model-7B-Instruct \\
    --deepspeed zero3 --gradient_accumulation_steps $(expr 16 / 4) --bf16
"""
FRAME = """(WorkerDict pid={n}, ip=10.0.3.{m})   File "/home/someone/pkg/workers/step_{k}.py", line {n}, in update_{k}
(WorkerDict pid={n}, ip=10.0.3.{m})     output = self.module(input_ids=input_ids, use_cache=False)
"""
LOG = "(WorkerDict pid={n}, ip=10.0.3.{m}) INFO 03-01 10:07:12 model_runner.py:{n}] step:{n} - loss:0.{n} - mfu:0.{m} - time:{m}.5s\n"
ERROR = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {m}.50 GiB. "
    "GPU 0 has a total capacity of 79.14 GiB of which 3.1 GiB is free.\n"
)


def paste(size: int) -> str:
    """A command, then log lines with frames and errors among them, of about ``size`` characters."""
    parts, length, n = [COMMAND], len(COMMAND), 0
    while length < size:
        n += 1
        kind = FRAME if n % 6 == 0 else ERROR if n % 41 == 0 else LOG
        parts.append(kind.format(n=1000 + n, m=n % 200, k=n % 40))
        length += len(parts[-1])
    return "".join(parts)[:size]


def best(work: Callable[[], object], runs: int) -> float:
    """The shortest of some runs in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def chunks(size: int) -> Iterator[bytes]:
    """A byte stream of about ``size`` bytes."""
    block = paste(1_000_000).encode()
    for _ in range(size // len(block)):
        yield block


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--stream", action="store_true", help="also read 100 MB as a stream")
    given = options.parse_args()
    for size, runs in ((20_000, 30), (64_000, 15), (1_000_000, 5)):
        text = paste(size)
        print(f"{size:>11,} characters {best(lambda text=text: read(text), runs):9.1f} ms")  # type: ignore[misc]
    print(f"  one line of 10 MB    {best(lambda: read('x=1 ' * 2_500_000), 1):9.1f} ms")
    if given.stream:
        print(f"  100 MB as a stream   {best(lambda: read_stream(chunks(100_000_000)), 1):9.1f} ms")


if __name__ == "__main__":
    main()
