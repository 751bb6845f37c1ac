"""Words that only the page needs: captions, sources, counts. The sentences of the answer itself stand in diagnose.words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnose.facts.hardware.memory_limits import job_limited
from diagnose.knowledge.records import Case
from diagnose.types import Diagnosis, Facts, PoolEstimate
from diagnose.units import tenths
from diagnose.words import phase_words
from diagnose.words.figures import NBSP, need_tenths
from diagnose.words.lists import listed
from kb.sections import thread_name
from wizard.chart.data import shown


def names_of(cases: Iterable[Case]) -> dict[str, str]:
    """Slug → the thread that a case comes from; its title where no source is an issue."""
    return {case.slug: thread_name(case.sources) or case.title for case in cases}


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def nothing_given(empty: Sequence[str]) -> str:
    """What to do where neither words nor files held anything; ``empty`` names the files."""
    if empty:
        return f"{listed(empty)} {'is' if len(empty) == 1 else 'are'} empty. Add the log again once it is written, or paste its end."
    return "Paste something first: the last 50 lines of the log are enough, the launch command makes it better."


def ceiling_words(pool: PoolEstimate, facts: Facts) -> str:
    """What has the capacity of the line."""
    if pool.pool == "host":
        return "all that the job may use" if job_limited(facts) else "the node’s RAM"
    size = facts.number("gpu_mem_gib")
    name = " ".join(part for part in (str(facts.values.get("gpu_model", "")), f"{size:g}GB" if size else "") if part)
    return f"one {name}" if name else "one card"


def caption(pool: PoolEstimate, facts: Facts) -> str:
    if pool.pool == "host":
        return "Host memory of one node at the peak of each phase. The line is all it has; the space below it is your headroom."
    gpus, train = facts.number("n_gpus"), facts.number("trainer_gpus")
    if "own" in (facts.values.get(place) for place in ("critic_place", "ref_place", "reward_place")):
        where = "on a card of those that run it"
    elif gpus and train and 1 < train < gpus:
        where = f"on each of the {train:.0f} GPUs that train"
    else:
        where = f"on each of the {gpus:.0f} GPUs" if gpus and gpus > 1 else "on the GPU"
    roof = (
        " The line is what the card really has; the space below it is your headroom."
        if pool.capacity is not None
        else ""
    )
    return f"Peak of each phase of a step, {where}.{roof}"


def other_pool_words(pool: PoolEstimate) -> str:
    """The pool that did not fail, in one line: ``GPU memory: fits, 14.0 GiB free at the worst``."""
    name = "Host RAM" if pool.pool == "host" else "GPU memory"
    verdict = pool.verdict()
    worst = pool.deciding
    if pool.limit is None or verdict == "unknown":
        return f"{name}: {shown(need_tenths(worst)[0])}{NBSP}GiB at the worst, in the {phase_words(worst.phase)}"
    left = tenths(pool.limit) - need_tenths(worst)[0]
    said = {"fits": "fits", "close": "too close to call", "out": "runs out too"}[verdict]
    return f"{name}: {said}, {shown(abs(left))}{NBSP}GiB {'free' if left >= 0 else 'over'} in the {phase_words(worst.phase)}"


def redacted(diagnosis: Diagnosis) -> str:
    """``1 path and 2 tokens taken out``, or nothing."""
    kinds: dict[str, int] = {}
    for redaction in diagnosis.paste.redactions:
        kinds[redaction.kind] = kinds.get(redaction.kind, 0) + 1
    plural = {"address": "addresses"}
    parts = [counted(count, kind, plural.get(kind, "")) for kind, count in kinds.items()]
    if not parts:
        return ""
    words = parts[0].replace(" ", NBSP) if len(parts) == 1 else listed(parts)
    return f"{words} taken out"
