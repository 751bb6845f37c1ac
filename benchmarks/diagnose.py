"""How long a whole diagnosis takes in process: a paste of 20 kB, of 1 MB and of 5 MB. ``python benchmarks/diagnose.py``"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnose.knowledge import current  # noqa: E402
from diagnose.pipeline import diagnose  # noqa: E402

COMMAND = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=data/kk/instruct/5ppl/train.parquet \\
    data.train_batch_size=8 actor_rollout_ref.rollout.n=32 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct-1M \\
    data.max_prompt_length=400 data.max_response_length=2048 actor_rollout_ref.model.use_remove_padding=True \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True trainer.n_gpus_per_node=4 trainer.nnodes=1
4 * 80g A100
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 13.92 GiB. GPU 0 has a total capacity of 79.15 GiB of which 6.31 GiB is free.
"""
STEP = "(WorkerDict pid=4177) step:{i} - critic/score/mean:0.41 - response_length/mean:812.4 - timing_s/gen:41.2 - perf/throughput:1042.7\n"


def paste(size: int) -> str:
    lines, length = [], 0
    for i in range(size // len(STEP)):
        lines.append(STEP.format(i=i))
        length += len(lines[-1])
        if length > size - len(COMMAND):
            break
    return "".join(lines) + COMMAND


def main() -> None:
    knowledge = current()
    cases = tuple(knowledge.cases.values())
    for size, runs in ((20_000, 50), (1_000_000, 20), (5_000_000, 5)):
        text = paste(size)
        diagnose(text, {}, knowledge, cases)
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            diagnose(text, {}, knowledge, cases)
            times.append((time.perf_counter() - start) * 1000)
        print(
            f"{len(text):9,} characters: median {statistics.median(times):7.1f} ms, worst {max(times):7.1f} ms of {runs}"
        )


if __name__ == "__main__":
    main()
