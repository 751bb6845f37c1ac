"""How long a whole diagnosis takes in process: pastes of 20 kB, 1 MB and 5 MB with their stages, a run that no change alone makes fit,
and every paste of the tests.

Milliseconds of processor time, so that other work on the machine counts less. ``python benchmarks/diagnose.py [FOLDER]``: a folder
of other texts instead of the tests' pastes.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from diagnose import pipeline  # noqa: E402
from diagnose.knowledge import current  # noqa: E402

COMMAND = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=data/kk/instruct/5ppl/train.parquet \\
    data.train_batch_size=8 actor_rollout_ref.rollout.n=32 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct-1M \\
    data.max_prompt_length=400 data.max_response_length=2048 actor_rollout_ref.model.use_remove_padding=True \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True trainer.n_gpus_per_node=4 trainer.nnodes=1
4 * 80g A100
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 13.92 GiB. GPU 0 has a total capacity of 79.15 GiB of which 6.31 GiB is free.
"""
TIGHT = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.train_batch_size=128 data.max_prompt_length=1024 \\
    data.max_response_length=4096 actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-32B-Instruct \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 critic.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1
verl 0.8.0, 8 x H100 80GB, it dies in the update of the critic
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.80 GiB. GPU 0 has a total capacity of 79.11 GiB of which 3.30 GiB is free.
"""
STEP = "(WorkerDict pid=4177) step:{i} - critic/score/mean:0.41 - response_length/mean:812.4 - timing_s/gen:41.2 - perf/throughput:1042.7\n"
STAGES = ("read", "read_facts", "estimate", "match", "prescribe", "ask")

stages: defaultdict[str, list[float]] = defaultdict(list)


def paste(size: int) -> str:
    lines, length = [], 0
    for i in range(size // len(STEP)):
        lines.append(STEP.format(i=i))
        length += len(lines[-1])
        if length > size - len(COMMAND):
            break
    return "".join(lines) + COMMAND


def timed(name: str, call: Callable[..., object]) -> Callable[..., object]:
    def run(*given: object, **named: object) -> object:
        start = time.process_time()
        answer = call(*given, **named)
        stages[name].append((time.process_time() - start) * 1000)
        return answer

    return run


def times(text: str, runs: int) -> list[float]:
    """Of so many diagnoses, after two that warm up."""
    knowledge = current()
    cases = tuple(knowledge.cases.values())
    found = []
    for _ in range(runs + 2):
        start = time.process_time()
        pipeline.diagnose(text, {}, knowledge, cases)
        found.append((time.process_time() - start) * 1000)
    return found[2:]


def main() -> None:
    for name in STAGES:
        setattr(pipeline, name, timed(name, getattr(pipeline, name)))
    for text, runs in ((TIGHT, 10), (paste(20_000), 50), (paste(1_000_000), 20), (paste(5_000_000), 5)):
        stages.clear()
        taken = times(text, runs)
        print(f"{len(text):9,} characters: median {statistics.median(taken):6.1f}, worst {max(taken):6.1f} of {runs}")
        print("   ", "  ".join(f"{name} {statistics.median(stages[name]):.1f}" for name in STAGES))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "pastes"
    files = sorted(path for path in folder.rglob("*.txt"))
    each = {path: statistics.median(times(path.read_text(encoding="utf-8"), 5)) for path in files}
    if each:
        slowest = max(each, key=lambda path: each[path])
        name = slowest.relative_to(folder)
        print(
            f"{len(each):9,} pastes: median {statistics.median(each.values()):6.1f}, worst {each[slowest]:6.1f} ({name})"
        )


if __name__ == "__main__":
    main()
