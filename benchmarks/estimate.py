"""``python benchmarks/estimate.py``: estimates a second for a GRPO run with every phase, and turning lengths a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnose.batch import resolve
from diagnose.estimate import estimate, turning_length
from diagnose.knowledge import CONTENT, read_content
from diagnose.types import Fact, Facts
from diagnose.units import from_gib

RUN = {
    "algo": "grpo", "n_gpus": 8, "n_nodes": 1, "gpu_mem_gib": 80, "host_ram_gb": 1000, "params_b": 7, "full_or_lora": "full",
    "strategy": "fsdp", "zero_stage": 3, "train_batch_size": 64, "rollout_n": 8, "micro_batch": 8, "prompt_length": 1024,
    "response_length": 3072, "remove_padding": True, "gradient_checkpointing": True, "has_ref": True, "gpu_memory_utilization": 0.5,
    "rollout_tp": 2, "sleep_level": 1, "rollout_engine": "vllm", "rollout_mode": "colocated", "param_offload": True,
    "optimizer_offload": True,
}  # fmt: skip


def rate(call: Callable[[], object], seconds: float = 1.0) -> float:
    """Calls a second of processor time, counted over about ``seconds``."""
    call()
    calls, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        call()
        calls += 1
    return calls / (time.process_time() - start)


def main() -> None:
    records, _, _ = read_content(CONTENT)
    stated = {id: Fact(id, value, "read") for id, value in RUN.items()}
    for slug, framework in records["frameworks"].items():
        facts = Facts(stated=stated, values=resolve(stated), framework=framework)  # type: ignore[arg-type]
        per_second = rate(lambda facts=facts: estimate(facts))  # type: ignore[misc]
        turns = rate(lambda facts=facts: turning_length(facts, from_gib(50), "actor_update"))  # type: ignore[misc]
        print(f"{slug:20} {per_second:8,.0f} estimates/s   {turns:8,.0f} turning lengths/s")


if __name__ == "__main__":
    main()
