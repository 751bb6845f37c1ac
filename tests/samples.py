"""A diagnosis with every piece that a page can show, built by hand: what the templates are tested with where content must not matter.

The figures are those of a 7B model on four 80 GB cards with 64 sequences in one pass.
"""

from __future__ import annotations

import datetime

from diagnose.batch import resolve
from diagnose.knowledge.records import Case, Fix, Lever, Option, Question
from diagnose.types import (
    Asked,
    CaseMatch,
    Change,
    Diagnosis,
    Estimate,
    Evidence,
    Fact,
    Facts,
    Line,
    NotAdvised,
    Paste,
    PatchLine,
    PhaseEstimate,
    PoolEstimate,
    Prescription,
    Redaction,
    Span,
    Term,
)
from diagnose.units import from_gib
from diagnose.vocabulary import Pool

REVIEWED = datetime.date(2026, 11, 20)
HOSTILE = "<script>alert(1)</script>"

LINES = (
    "4 x A100 80GB, one machine",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.50 GiB.",
    '  File "‹path›/workers/actor.py", line 248, in update_policy',
    "train.batch=8 \\",
    f"rollout.n=32 {HOSTILE}",
)


def term(id: str, family: str, gib: float, spread: float = 0.0) -> Term:
    size = from_gib(gib)
    return Term(
        id=id,
        title=id.replace("_", " "),
        family=family,
        bytes=size,
        low=round(size * (1 - spread)),
        high=round(size * (1 + spread)),
        how=f"{gib} worked out",
        source="a paper",
        moved_by=("micro_batch",) if family == "work" else (),
    )


def phase(id: str, *terms: Term, moment: str = "") -> PhaseEstimate:
    return PhaseEstimate(id, moment, terms)


WEIGHTS, CONTEXT = term("actor_weights", "held", 7.1), term("context", "fixed", 1.8)
HELD = (WEIGHTS, term("actor_gradients", "held", 7.1), term("actor_optimizer", "held", 14.2))
GATHER = term("gathered_units", "work", 2.9)


def gpu_pool() -> PoolEstimate:
    phases = (
        phase("load", WEIGHTS, term("load_copy", "work", 4.1), CONTEXT),
        phase("weight_sync", WEIGHTS, term("sync_copy", "work", 9.1), term("engine_weights", "engine", 7.1), CONTEXT),
        phase(
            "rollout", WEIGHTS, term("engine_weights", "engine", 8.7), term("kv_pool", "engine", 30.2, 0.06), CONTEXT
        ),
        phase("logprob", WEIGHTS, GATHER, term("logits", "work", 29.0, 0.19), CONTEXT),
        phase("ref_logprob", term("ref_weights", "held", 3.5), GATHER, term("logits", "work", 29.0, 0.19), CONTEXT),
        updating(58.0),
        phase("optimizer_step", *HELD, term("adam_temporaries", "work", 7.1), CONTEXT),
        phase("checkpoint", WEIGHTS, term("save_copy", "work", 4.5), CONTEXT),
    )
    size = from_gib(79.2)
    return PoolEstimate("gpu", phases, capacity=size, limit=size, capacity_why="as the driver prints it")


def updating(logits: float) -> PhaseEstimate:
    kept = term("kept_for_backward", "work", logits / 6, 0.19)
    return phase(
        "actor_update",
        *HELD,
        GATHER,
        kept,
        term("logits", "work", logits, 0.19),
        CONTEXT,
        moment="start of the backward pass",
    )


def host_pool() -> PoolEstimate:
    offloaded = (term("host_weights", "held", 43.2), term("host_optimizer", "held", 86.5))
    processes = term("processes", "fixed", 49.5)
    data = term("images_on_host", "work", 96.0, 0.4)
    return PoolEstimate(
        "host",
        (
            phase("load", processes, offloaded[0]),
            phase("rollout", processes, *offloaded, term("sleep_backup", "engine", 61.8), data),
            phase(
                "checkpoint",
                processes,
                *offloaded,
                term("sleep_backup", "engine", 61.8),
                data,
                term("save_copy", "work", 92.7),
            ),
        ),
        capacity=from_gib(760),
        limit=from_gib(722),
        limit_why="Ray kills at 95 %",
    )


def lever(slug: str, title: str, **more: object) -> Lever:
    return Lever(
        slug=slug,
        body="",
        title=title,
        reviewed=REVIEWED,
        sources=("https://example.org/lever",),
        pools=("gpu",),
        **more,  # type: ignore[arg-type]
    )


def case(slug: str = "somebody-8") -> Case:
    return Case(
        slug=slug,
        body="",
        title="Same cards, still out of GPU memory",
        reviewed=REVIEWED,
        sources=("https://github.com/somebody/project/issues/8",),
        facts={"oom_kind": "gpu_oom", "n_gpus": 4, "gpu_mem_gib": 80},
        fixes=(Fix(lever="batch.halve", detail="", by="reporter", worked=True),),
        solved=True,
    )


def stated() -> dict[str, Fact]:
    def read(id: str, value: object, line: int, start: int, end: int) -> Fact:
        return Fact(id, value, "read", span=Span(line, start, end))  # type: ignore[arg-type]

    facts = (
        read("oom_kind", "gpu_oom", 2, 0, 42),
        read("phase", "actor_update", 3, 43, 60),
        read("tried_alloc_gib", 14.5, 2, 62, 71),
        read("gpu_model", "A100", 1, 4, 8),
        read("gpu_mem_gib", 80, 1, 9, 13),
        read("n_gpus", 4, 1, 0, 1),
        read("train_batch_size", 8, 4, 0, 13),
        read("rollout_n", 32, 5, 0, 12),
        Fact("real_response_length", 800, "assumed", why="a third of the limit"),
        Fact("gradient_checkpointing", "true", "answered"),
        Fact("fused_optimizer", False, "default"),
    )
    return {fact.id: fact for fact in facts}


def paste() -> Paste:
    lines = tuple(Line(number, text, text) for number, text in enumerate(LINES, 1))
    return Paste(text="\n".join(LINES), lines=lines, redactions=(Redaction(3, "path"),), total_lines=len(lines))


def prescription() -> Prescription:
    return Prescription(
        lever=lever(
            "batch.halve",
            "Halve the prompts per step",
            results="may_change",
            cost="Half the prompts.",
            verify="nvidia-smi",
        ),
        changes=(Change("train_batch_size", "train.batch", "8", "4", Span(4, 12, 13)),),
        pool="gpu",
        phase="actor_update",
        before=updating(58.0),
        after=updating(29.0),
        after_verdict="fits",
        evidence=Evidence(worked=("somebody-8",)),
        why="64 sequences become 32.",
        patch=(
            PatchLine(" ", 3, LINES[2]),
            PatchLine("-", 4, "train.batch=8 \\", (12, 13)),
            PatchLine("+", 4, "train.batch=4 \\", (12, 13)),
        ),
        length_range=(650, 1400),
    )


def question() -> Asked:
    record = Question(
        slug="micro_batch",
        body="",
        title="How many sequences does one GPU take at once?",
        reviewed=REVIEWED,
        sources=("https://example.org/question",),
        fact="micro_batch",
        hint="The key that ends in micro_batch_size.",
        options=(Option(value="16", title="16", hint="also when it is not set"), Option(value="4", title="4")),
        find_out="grep -o 'micro_batch_size=[0-9]*' train.log",
    )
    return Asked(record, from_gib(20), (("16", "16", "advice 1 leads"), ("4", "4", "another cause")))


def diagnosis(*, pool: Pool = "gpu", kind: str | None = "gpu_oom") -> Diagnosis:
    """A whole answer; with ``pool`` host the node ran out and the settings explain only a part."""
    facts = stated()
    if pool == "host":
        facts |= {
            "oom_kind": Fact("oom_kind", "host_ram", "read", span=Span(2, 0, 10)),
            "node_used_gb": Fact("node_used_gb", 726.33, "read", span=Span(2, 0, 10)),
            "node_total_gb": Fact("node_total_gb", 760.0, "read", span=Span(2, 0, 10)),
        }
    near = case()
    return Diagnosis(
        paste=paste(),
        facts=Facts(stated=facts, values=resolve(facts), keys={"micro_batch": "train.micro_batch"}),
        kind=kind if pool == "gpu" else "host_ram",
        phase="actor_update" if pool == "gpu" else None,
        pool=pool,
        verdict="out" if pool == "gpu" else "fits",
        estimate=Estimate(gpu=gpu_pool(), host=host_pool()),
        matches=(CaseMatch(near, 0.9, (("n_gpus", 4),), (("gpu_mem_gib", 80, 40),)),),
        prescriptions=(prescription(),),
        not_advised=(NotAdvised(lever("offload.more", "Offload more"), "on", "It is on already.", Span(4, 0, 5)),),
        questions=(question(),),
    )
