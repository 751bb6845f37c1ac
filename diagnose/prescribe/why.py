"""One or two sentences on what a change does to this run, put together from its own numbers."""

from __future__ import annotations

from diagnose.batch import rows_held, whole
from diagnose.estimate import free_before
from diagnose.knowledge.records import Lever
from diagnose.prescribe.older import of_new_keys
from diagnose.prescribe.order import rank_of
from diagnose.prescribe.outcome import POOL_WORDS, Trial
from diagnose.prescribe.situation import Situation
from diagnose.types import Facts, PhaseEstimate
from diagnose.units import GIB, from_gib, gib, tenths
from diagnose.vocabulary import FACTS, OTHER_POOL, PHASES
from diagnose.words import in_sentence

_ROWS = {
    "micro_batch": "The update takes {new} instead of {old} through one pass on each GPU.",
    "logprob_micro_batch": "A log-prob pass takes {new} instead of {old} on each GPU.",
    "ref_logprob_micro_batch": "A pass of the reference model takes {new} instead of {old} on each GPU.",
    "reward_micro_batch": "A pass of the reward model takes {new} instead of {old} on each GPU.",
    "values_micro_batch": "A values pass of the critic takes {new} instead of {old} on each GPU.",
    "critic_micro_batch": "A critic pass takes {new} instead of {old} on each GPU.",
}
_TOKENS = {
    "shm_gib": "/dev/shm has {old} GiB, which is not enough: give it more, such as docker run --shm-size={new}g, or the same in compose "
    "(shm_size), in Kubernetes (an emptyDir with medium: Memory at /dev/shm) or by mount -o remount,size={new}G /dev/shm.",
    "micro_tokens": "One pass of the update holds at most {new} tokens on a GPU instead of {old}.",
    "logprob_tokens": "One log-prob pass holds at most {new} tokens on a GPU instead of {old}.",
    "ref_logprob_tokens": "One pass of the reference model holds at most {new} tokens on a GPU instead of {old}.",
    "values_tokens": "One values pass of the critic holds at most {new} tokens on a GPU instead of {old}.",
    "critic_tokens": "One critic pass holds at most {new} tokens on a GPU instead of {old}.",
    "response_length": "A response may have {new} tokens instead of {old}.",
    "prompt_length": "A prompt may have {new} tokens instead of {old}.",
    "max_length": "A row may have {new} tokens instead of {old}.",
    "max_model_len": "The engine plans for sequences of {new} tokens instead of {old}.",
    "image_tiles": "An image is cut into {new} tiles at most instead of {old}: vision tokens go down with them.",
    "engine_image_pixels": "The engine starts with an image of {new} pixels instead of {old}.",
    "max_pixels": "An image is scaled to {new} pixels instead of {old}: as many times fewer vision tokens.",
}


def why(lever: Lever, trial: Trial, situation: Situation) -> str:
    """What the change does to this run, and what is said of a key that it adds."""
    said = (_effect(lever, trial, situation), of_new_keys(situation.facts, trial.changes))
    return " ".join(part for part in said if part)


def _effect(lever: Lever, trial: Trial, situation: Situation) -> str:
    """What changes in sequences, tokens or shares, then the term that falls most; the lever's own words where nothing is computed."""
    rank = rank_of(lever, situation)
    blind = trial.after is None and not situation.facts.configured  # both numbers would be those of a default
    changed = [id for id in _changed(trial) if not blind or situation.facts.certain(id)]
    first = next((said for id in changed if (said := _fact_sentence(id, situation.facts, trial.facts))), "")
    if trial.after is None:
        said_here = (
            rank.why if rank else "",
            first or opening(lever),
            _no_figure(lever, situation),
            _worsened(trial, situation),
        )
        return " ".join(part for part in said_here if part)
    fallen = _fallen(situation.failing, trial.after) if situation.failing else ""
    first = first or fallen
    second = _moved(trial, situation) or (fallen if fallen != first else "")
    return " ".join(part for part in (first, second) if part) or opening(lever)


def _worsened(trial: Trial, situation: Situation) -> str:
    """Which phase has less room for it than it lacks as it is."""
    over, limit = trial.worsens, situation.before.gpu.limit if situation.before.gpu else None
    if over is None or limit is None:
        return ""
    return f"The {PHASES[over.phase]} then needs {over.shown} GiB of {gib(limit)} by the estimate."


def opening(lever: Lever) -> str:
    """The first sentence of the lever's own page."""
    for paragraph in lever.body.split("\n\n"):
        text = " ".join(paragraph.split())
        if text and not text.startswith("#"):
            end = text.find(". ")
            return text if end < 0 else text[: end + 1]
    return ""


def _changed(trial: Trial) -> list[str]:
    return list(dict.fromkeys(change.fact for change in trial.changes))


def _fact_sentence(id: str, before: Facts, after: Facts) -> str:
    old, new = before.number(id), after.number(id)
    if old is None or new is None or old == new:
        return ""
    if id in ("train_batch_size", "rollout_n"):
        return _held(before, after)
    if id in _ROWS:
        return _ROWS[id].format(new=_sequences(new), old=f"{old:,.0f}")
    if id in _TOKENS:
        return _TOKENS[id].format(new=f"{new:,.0f}", old=f"{old:,.0f}" if old >= 1 else f"{old:g}")
    if id == "gpu_memory_utilization":
        return _share(before, old, new)
    if id in ("n_gpus", "trainer_gpus"):
        return _cards(before, after, old, new)
    return ""


def _held(before: Facts, after: Facts) -> str:
    """``8 × 32 = 256 sequences give each GPU 64; 4 × 32 = 128 give it 32.``"""
    sides = []
    for facts in (before, after):
        prompts, n = whole(facts.values, "train_batch_size"), whole(facts.values, "rollout_n")
        held = rows_held(facts.values, "train_batch_size")
        if not prompts or not n or not held:
            return ""
        sides.append((f"{prompts:,} × {n:,} = {prompts * n:,}", held))
    shares = f"{sides[0][0]} sequences give each GPU {sides[0][1]:,}; {sides[1][0]} give it {sides[1][1]:,}."
    return shares + _remainder(before, after)


def _remainder(before: Facts, after: Facts) -> str:
    """A word when the prompts no longer go evenly to the cards that train (volcengine/verl: verl/protocol.py, DataProto.chunk)."""
    ranks, was, now = (
        whole(facts.values, id)
        for facts, id in ((before, "trainer_gpus"), (before, "train_batch_size"), (after, "train_batch_size"))
    )
    if not ranks or not was or not now or was % ranks or now % ranks == 0:
        return ""
    told = f"{now} prompt" + ("" if now == 1 else "s")
    return f" A version that deals prompts out before it repeats them refuses {told} on {ranks} GPUs."


def _cards(before: Facts, after: Facts, old: float, new: float) -> str:
    was, now = rows_held(before.values, "train_batch_size"), rows_held(after.values, "train_batch_size")
    rows = f" Each holds {now:,} sequences instead of {was:,}." if was and now and was != now else ""
    return f"{new:,.0f} cards instead of {old:,.0f} share weights, gradients and Adam state.{rows}"


def _share(before: Facts, old: float, new: float) -> str:
    if free := free_before(before.measured):
        freed = f"{gib(round(abs(old - new) * free))} GiB {'less' if new < old else 'more'}"
        return f"The engine may take {new:g} instead of {old:g} of what was free before it: {freed}."
    card = before.number("gpu_total_gib") or before.number("gpu_mem_gib")
    freed = f": {gib(from_gib(abs(old - new) * card))} GiB {'less' if new < old else 'more'}" if card else ""
    return f"The engine may take {new:g} instead of {old:g} of the card{freed}."


def _sequences(number: float) -> str:
    return f"{number:,.0f} sequence" + ("" if number == 1 else "s")


def _fallen(before: PhaseEstimate, after: PhaseEstimate) -> str:
    """The term that falls most, by name and figures; nothing when the worst moment of the phase becomes another one."""
    if before.moment != after.moment:
        return ""
    was, now = _by_term(before), _by_term(after)
    term = max(before.terms, key=lambda term: was[term.id] - now.get(term.id, 0), default=None)
    if term is None or was[term.id] <= now.get(term.id, 0):
        return ""
    title = term.title[0].upper() + term.title[1:]
    came = [new for new in after.terms if new.id not in {old.id for old in before.terms} and new.family == term.family]
    instead = max(came, key=lambda new: new.bytes, default=None)
    beside = f"; {instead.title} {gib(instead.bytes)} GiB instead" if instead and tenths(instead.bytes) else ""
    return f"{title}: {gib(was[term.id])} → {gib(now.get(term.id, 0))} GiB{beside}."


def _by_term(phase: PhaseEstimate) -> dict[str, int]:
    """Bytes by the terms' ids: a moment may have two of one id, as the activations of all layers and of the one at work."""
    sums: dict[str, int] = {}
    for term in phase.terms:
        sums[term.id] = sums.get(term.id, 0) + term.bytes
    return sums


def _moved(trial: Trial, situation: Situation) -> str:
    """Bytes that turn up in the other pool, with a word when that pool gets tight."""
    if trial.other_pool is None or trial.after is None or situation.failing is None:
        return ""
    was, now = trial.other_pool
    other = OTHER_POOL[situation.pool or "host"]
    if now.bytes - was.bytes < GIB:
        return ""
    tight = " Whether that fits is too close to call." if trial.other_verdict == "close" else ""
    name = POOL_WORDS[other][0].upper() + POOL_WORDS[other][1:]
    return f"{name} goes from {was.shown} to {now.shown} GiB for it.{tight}"


def _no_figure(lever: Lever, situation: Situation) -> str:
    if (
        situation.room is None
        and situation.kind != "host_shm"
        and situation.before.missing
        and lever.changes
        and situation.failing is None
        and situation.pool
    ):
        words = ", ".join(in_sentence(FACTS[id].title) if id in FACTS else id for id in situation.before.missing[:4])
        return f"No saving is computed without: {words}."
    return ""
