"""``python benchmarks/estimators.py ROWS``: other memory estimators beside this one, on the supervised rows that each of them accepts.

ROWS holds one JSON object a line: ``paste`` and ``answers`` as the batch interface takes them, ``kind``, ``online_rl``, ``counter`` and
``value_gib``, what was measured on one GPU. Each estimator is asked for what it says that it can do, with the shape numbers of the
catalogue and the longest row that the configuration allows, as a person would; whoever is not installed is skipped with a word. Run it in
an environment that holds them: ``pip install deepspeed accelerate llm-analysis fitcheck-llm``. None is needed by the program.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from diagnose.estimate import estimate
from diagnose.estimate.plan import Plan, make_plan
from diagnose.knowledge import CONTENT, Knowledge, read_content
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.units import GIB

Estimator = Callable[[Plan], float]


class Refused(Exception):
    """What an estimator does not claim to do."""


def deepspeed() -> Estimator:
    """Model states of ZeRO-2 and 3: full training, no activations."""
    three = importlib.import_module("deepspeed.runtime.zero.stage3").estimate_zero3_model_states_mem_needs
    two = importlib.import_module("deepspeed.runtime.zero.stage_1_and_2").estimate_zero2_model_states_mem_needs

    def ask(plan: Plan) -> float:
        if plan.adapters or plan.split.stage not in (2, 3) or plan.whole("tp") * plan.whole("pp") > 1:
            raise Refused
        count, off = plan.shape.parameters, plan.values.get("optimizer_on_cpu") is True
        cards = {"num_gpus_per_node": plan.gpus, "num_nodes": 1, "cpu_offload": off}
        if plan.split.stage == 2:
            return float(two(count, **cards)[1])
        params_too = off and plan.values.get("param_on_cpu") is True
        return float(three(count, plan.shape.embedding, cpu_offload_params=params_too, zero_init=True, **cards)[1])

    return ask


def accelerate() -> Estimator:
    """``estimate-memory``: the weights and four times as much for Adam, unsharded."""
    usage = importlib.import_module("accelerate.commands.estimate").estimate_training_usage

    def ask(plan: Plan) -> float:
        if plan.adapters or plan.split.group > 1 and plan.split.stage or plan.whole("tp") * plan.whole("pp") > 1:
            raise Refused
        kind = "float32" if plan.values.get("precision") == "fp32" else "bfloat16"
        return float(max(usage(4 * plan.shape.parameters, kind).values()))

    return ask


def llm_analysis() -> Estimator:
    """Full training of a dense model with Megatron's tensor parallelism and ZeRO."""
    config = importlib.import_module("llm_analysis.config")
    analysis = importlib.import_module("llm_analysis.analysis")
    logging.getLogger("llm_analysis").setLevel(logging.ERROR)

    def ask(plan: Plan) -> float:
        m = plan.model
        if plan.adapters or m.moe or m.vision or not _length(plan):
            raise Refused
        shape = config.ModelConfig(
            m.slug,
            m.layers,
            m.heads,
            m.hidden,
            m.vocab,
            max_seq_len=m.max_position,
            num_key_value_heads=m.kv_heads,
            ffn_embed_dim=m.intermediate,
            expansion_ratio=m.intermediate / m.hidden,  # else 0.2.2 wants it to be a whole number
        )
        card = config.GPUConfig("card", 10_000, 2000, 600, 8e-6, 312)  # large enough that it never refuses
        spread = config.ParallelismConfig(plan.whole("tp"), plan.whole("pp"), plan.split.group)
        one = analysis.LLMAnalysis(
            shape, card, parallelism_config=spread, flops_efficiency=0.5, hbm_memory_efficiency=0.8
        )
        again = plan.values.get("gradient_checkpointing") in (True, "full")
        said = one.training(
            batch_size_per_gpu=plan.whole("micro_batch"),
            seq_len=_length(plan),
            activation_recomputation=analysis.ActivationRecomputation.FULL
            if again
            else analysis.ActivationRecomputation.NONE,
            ds_zero=analysis.DSZeRO(min(3, plan.split.stage)),
            mlp_gated_linear_units=m.gated,
        )
        return float(said["(weight+op_state+grad+act)_memory_per_gpu"])

    return ask


def fitcheck() -> Estimator:
    """Full training, LoRA and QLoRA of a dense model on one GPU."""
    tool = importlib.import_module("fitcheck.estimator")
    config = importlib.import_module("fitcheck.config_parser")
    card = importlib.import_module("fitcheck.gpu_db").get_gpu(vram_mib=81920)

    def ask(plan: Plan) -> float:
        m, values = plan.model, plan.values
        if plan.gpus > 1 or m.moe or m.vision or not _length(plan):
            raise Refused
        shape = config.ModelConfig(
            m.slug,
            plan.shape.parameters,
            m.hidden,
            m.layers,
            m.heads,
            m.kv_heads,
            m.intermediate,
            m.vocab,
            plan.shape.head_dim,
            m.tied,
        )
        how = tool.TrainingConfig(
            precision="fp32" if values.get("precision") == "fp32" else "bf16",
            quantization="nf4" if values.get("full_or_lora") == "qlora" else "none",
            batch_size=plan.whole("micro_batch"),
            seq_len=_length(plan),
            lora_rank=(plan.whole("lora_rank") if "lora_rank" in values else 8) if plan.adapters else None,
            grad_checkpoint=values.get("gradient_checkpointing") in (True, "full"),
            flash_attn=values.get("flash_attention") is not False,
        )
        return float(tool.estimate(shape, how, card).total_mib) * 2**20

    return ask


TOOLS = {"DeepSpeed": deepspeed, "accelerate": accelerate, "llm-analysis": llm_analysis, "fitcheck-llm": fitcheck}


def main() -> None:
    records, _, _ = read_content(CONTENT)
    knowledge = Knowledge(**records)
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    rows = [
        row for row in lines if row["kind"].startswith("measured") and not row["online_rl"] and row["counter"] != "host"
    ]
    runs = [(row, _read(row, knowledge)) for row in rows]
    print(_pace([diagnosis for _, (diagnosis, plan) in runs if plan and not plan.online], knowledge))
    for name, make in TOOLS.items():
        try:
            ask = make()
        except Exception as why:  # whatever keeps an estimator of others from starting is its own affair
            print(f"{name:14} skipped: {type(why).__name__}: {why}")
            continue
        print(_compare(name, ask, runs, knowledge))


def _read(row: dict[str, Any], knowledge: Knowledge) -> tuple[Diagnosis, Plan | None]:
    diagnosis = diagnose(row["paste"], row["answers"], knowledge, ())
    return diagnosis, make_plan(diagnosis.facts, knowledge.fallback)[0]


def _pace(diagnoses: list[Diagnosis], knowledge: Knowledge) -> str:
    """Estimates of all supervised rows, one after the other, in processor time on one core: the median pass of 21, and the
    first one, in which the interpreter has yet to learn the code."""
    first, *later = (_seconds_each(diagnoses, knowledge) for _ in range(22))
    usual = statistics.median(later)
    said = (
        f"{1000 * usual:.3f} ms each, {1 / usual:,.0f} a second; the first time {1000 * first:.3f} ms, {1 / first:,.0f}"
    )
    return f"ours           {len(diagnoses):4} rows   {said}"


def _seconds_each(diagnoses: list[Diagnosis], knowledge: Knowledge) -> float:
    start = time.process_time()
    for diagnosis in diagnoses:
        estimate(diagnosis.facts, knowledge.fallback)
    return (time.process_time() - start) / len(diagnoses)


def _compare(name: str, ask: Estimator, runs: list[Any], knowledge: Knowledge) -> str:
    """Median and ninetieth percentile of both on the rows that the other one accepts, and the time of one estimate."""
    theirs, ours, spent, own = [], [], [], []
    for row, (diagnosis, plan) in runs:
        if plan is None or plan.online:
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                start = time.perf_counter()
                said = ask(plan) / GIB
                spent.append(time.perf_counter() - start)
        except (Refused, AssertionError, ValueError, TypeError, ZeroDivisionError):
            continue
        start = time.perf_counter()
        estimate(diagnosis.facts, knowledge.fallback)
        own.append(time.perf_counter() - start)
        theirs.append(_error(said, row["value_gib"]))
        ours.append(_error(_ours(row["counter"], diagnosis), row["value_gib"]))
    if not theirs:
        return f"{name:14} accepts no row"
    return f"{name:14} {len(theirs):4} rows   its {_figures(theirs, spent)}   ours {_figures(ours, own)}"


def _figures(errors: list[float], seconds: list[float]) -> str:
    tenth = sorted(errors)[max(0, -(-9 * len(errors) // 10) - 1)]
    return f"median {statistics.median(errors):6.1%} p90 {tenth:6.1%} {1000 * statistics.median(seconds):6.3f} ms"


def _error(said: float, measured: float) -> float:
    return max(said / measured, measured / said) - 1 if said > 0 else 1.0


def _ours(counter: str, diagnosis: Diagnosis) -> float:
    """What the same counter would show, in GiB."""
    found = diagnosis.estimate
    size = found.torch_allocated if counter == "torch_allocated" else found.torch_reserved
    if counter == "device" and found.gpu:
        size = found.gpu.peak.bytes
    return (size or 0) / GIB


def _length(plan: Plan) -> int:
    """The longest row that the configuration allows, 0 where it says nothing of it."""
    return plan.whole("max_length") if "max_length" in plan.values else 0


if __name__ == "__main__":
    main()
