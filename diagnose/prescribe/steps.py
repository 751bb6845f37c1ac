"""A lever's changes as values of facts, smallest first: halved once, twice …, a step further each time, or simply set."""

from __future__ import annotations

import math
from collections.abc import Mapping

from diagnose.batch import longest_row, whole
from diagnose.conditions import alike, version
from diagnose.knowledge.records import Lever, LeverChange
from diagnose.prescribe.shown_in_limit import room_for_images
from diagnose.types import Facts
from diagnose.units import from_gib
from diagnose.vocabulary import FACTS, Value, is_number

MOST_STEPS = 7
# What a person gives up with each halving; a run with an eighth of its response length is another run.
_FEWER_STEPS = {
    "train_batch_size": 3, "rollout_n": 3, "response_length": 2, "prompt_length": 2, "start_length": 2, "max_length": 2,
    "max_pixels": 2, "image_tiles": 2, "engine_image_pixels": 3, "max_turns": 2,
    "n_gpus": 2, "trainer_gpus": 2, "critic_gpus": 2, "ref_gpus": 2, "reward_gpus": 2,
}  # fmt: skip
# Budgets of tokens that hold at least one longest row, or what one rank gets of it.
_HOLD_A_ROW = (
    *("micro_tokens", "logprob_tokens", "ref_logprob_tokens", "values_tokens", "critic_tokens"),
    "max_model_len",
)
_OF_A_PASS = _HOLD_A_ROW[:3]
# Limits of what the images of a prompt stand in.
_HOLD_IMAGES = ("prompt_length", "start_length", "max_length")
_OF_THE_CRITIC = ("values_tokens", "critic_tokens")
# Sizes that cut one model or one sequence among cards: they divide the cards, and the attention heads too.
_PARALLEL = ("rollout_tp", "tp", "sp", "critic_sp", "pp", "ep", "shard_size")
_CUT_THE_CARDS = ("tp", "pp", "sp")
_BY_HEADS = ("rollout_tp", "tp", "sp", "critic_sp")

# What a message itself says to be the largest that fits.
_PRINTED = {"max_model_len": "fitting_length"}
_USUAL_CARD = 80.0
# the megatron-core from which on ranks may share a head of key and value
_SHARES_HEADS = version("0.16")

Targets = Mapping[str, Value]


def steps(lever: Lever, facts: Facts) -> list[Targets]:
    """What the lever could set, smallest change first; empty when every fact that it moves is unknown or at its bound."""
    # A fact that follows from another moves with it; it is a change of its own only where it stands first.
    moved = [
        change for i, change in enumerate(lever.changes) if i == 0 or change.op == "set" or change.fact in facts.stated
    ]
    ladders = {change.fact: ladder for change in moved if (ladder := _ladder(change, facts))}
    longest = max((len(ladder) for ladder in ladders.values()), default=0)
    return [
        _with_company(facts, {id: ladder[min(i, len(ladder) - 1)] for id, ladder in ladders.items()})
        for i in range(longest)
    ]


def at_bound(lever: Lever, facts: Facts) -> str:
    """What the lever moves and has no further step for, with its value; empty while its first fact is unknown."""
    id = lever.changes[0].fact
    value = facts.values.get(id)
    if value is None:
        return ""
    told = f"{value:g}" if is_number(value) else str(value).lower()
    if not facts.certain(id):
        file = facts.shipped_in(id)
        told += f" in {file} as it is shipped" if file else " by default"
    if id in _PARALLEL and _cards(id, facts) is None:
        return f"{FACTS[id].title} is {told}; without the number of cards no further step can be told."
    return f"{FACTS[id].title} is {told}; there is no further step."


def without(facts: Facts, targets: Targets, id: str) -> Targets:
    """The same step with one fact left alone, unless that must move with what is left."""
    fewer = _with_company(facts, {other: value for other, value in targets.items() if other != id})
    return targets if id in fewer else fewer


def _ladder(change: LeverChange, facts: Facts) -> list[Value]:
    if change.op == "set":
        assert change.to is not None
        return [] if alike(facts.values.get(change.fact), change.to) else [change.to]
    now = facts.number(change.fact)
    if now is None or not change.by:
        return []
    printed = facts.number(_PRINTED.get(change.fact, ""))
    told = change.op == "scale" and printed is not None and _row(change.fact, facts) <= printed < now
    ladder: list[Value] = [int(printed)] if told and printed else []
    for times in range(1, _FEWER_STEPS.get(change.fact, MOST_STEPS) + 1):
        value = _bounded(change, now * change.by**times if change.op == "scale" else now + change.by * times, now)
        value = max(value, min(now, _row(change.fact, facts)))
        if told and printed and value > printed:
            continue  # the message itself says that it does not fit
        if value == now or value in ladder or not _possible(change.fact, value, facts):
            break
        ladder.append(value)
    return ladder


def _bounded(change: LeverChange, value: float, now: float) -> float:
    """Within the lever's bounds, whole where the fact is; never against the lever's direction.

    A whole number that stands beyond the upper bound already is not held by it: an engine over two nodes may take four.
    """
    down, counts = value < now, FACTS[change.fact].type == "int"
    if not down and change.at_least is not None:
        value = max(value, change.at_least)
    if down and change.at_least is not None:
        value = min(now, max(value, change.at_least))
    if not down and change.at_most is not None and not (counts and now > change.at_most):
        value = max(now, min(value, change.at_most))
    if not counts:
        return round(value, 3)
    return math.floor(value) if down else math.ceil(value)


def _row(id: str, facts: Facts) -> int:
    """The tokens of the longest row that a budget must hold, split among the sequence-parallel ranks but for the engine's; else 0.

    A limit of prompts or of rows must hold the images.
    """
    row = longest_row(facts.values) if id in _HOLD_A_ROW or (id == "max_length" and _filled(facts)) else None
    if row is None and id in _HOLD_A_ROW:
        row = whole(facts.values, "response_length")  # nothing limits the prompt
    split = "critic_sp" if id in _OF_THE_CRITIC and "critic_sp" in facts.values else "sp"
    parts = 1 if id in ("max_model_len", "max_length") else whole(facts.values, split) or 1
    least = math.ceil(row / parts) if row else 0
    return max(least, room_for_images(facts)) if id in _HOLD_IMAGES else least


def _possible(id: str, value: Value, facts: Facts) -> bool:
    if id not in _PARALLEL:
        return True
    gpus = _cards(id, facts)
    if gpus is None or gpus % (int(value) * _beside(id, facts)):
        return False
    if id == "rollout_tp" and int(value) < (facts.number(id) or 0) and not _holds_engine(int(value), facts):
        return False
    if id == "pp" and not _in_stages(int(value), facts):
        return False
    if id == "tp" and not _whole_groups(int(value), facts):
        return False
    return id not in _BY_HEADS or facts.model is None or facts.model.heads % int(value) == 0


def _whole_groups(ranks: int, facts: Facts) -> bool:
    """Whether each rank of a trainer gets whole heads of key and value, or several share one, unless it does without now.

    Megatron-core up to 0.15 transformer_config.py: num_query_groups, since 0.16 a multiple or a divisor of them; NeMo RL 911dfc31d
    models/dtensor/parallelize.py: num_key_value_heads.
    """
    heads, now = facts.model.kv_heads if facts.model else 0, whole(facts.values, "tp") or 1
    core = facts.versions.get("megatron-core")
    shared = (
        facts.values.get("strategy") == "megatron" and core is not None and version(str(core.value)) >= _SHARES_HEADS
    )
    return not heads or heads % now > 0 or heads % ranks == 0 or (shared and ranks % heads == 0)


def _in_stages(stages: int, facts: Facts) -> bool:
    """Whether the layers divide among so many stages; an end of its own or stages in several parts must be laid out by hand."""
    by_hand = ("first_stage_layers", "last_stage_layers", "embedding_as_layer", "loss_as_layer", "virtual_stages")
    if facts.model is None or any(facts.values.get(id) not in (None, False) for id in by_hand):
        return False
    return facts.model.layers % stages == 0


def _cards(id: str, facts: Facts) -> int | None:
    """How many cards this size may divide among itself."""
    trainer, run = whole(facts.values, "trainer_gpus"), whole(facts.values, "n_gpus")
    gpus = run or trainer if id == "rollout_tp" else trainer
    if gpus is None and facts.serves and facts.model:
        return facts.model.heads  # of an engine alone nobody need tell how many cards there are
    return gpus


def _beside(id: str, facts: Facts) -> int:
    """Into how many parts the trainer's cards are cut already, besides by this size."""
    if id not in _CUT_THE_CARDS:
        return 1
    return math.prod(whole(facts.values, other) or 1 for other in _CUT_THE_CARDS if other != id)


def _holds_engine(ranks: int, facts: Facts) -> bool:
    """Whether a card, of 80 GB where none is told, holds the engine's weights of two bytes when so many share them."""
    if facts.model is None or "quantization" in facts.values:
        return True
    card = facts.number("gpu_total_gib") or facts.number("gpu_mem_gib") or _USUAL_CARD
    return 2 * facts.model.published / ranks < from_gib(card)


def _with_company(facts: Facts, targets: Targets) -> Targets:
    """A step with what must go along: accumulation keeps a batch that follows from it, a mini batch is no larger than its batch."""
    company = dict(targets)
    micro, now, steps = (
        targets.get("micro_batch"),
        whole(facts.values, "micro_batch"),
        facts.stated.get("gradient_accumulation"),
    )
    # prompts of a step that nobody sets are those of its passes; passes that somebody sets beside them are those of an optimizer step
    kept = steps and ("train_batch_size" not in facts.stated or steps.origin == "read")
    if micro and now and steps and kept and "gradient_accumulation" in facts.keys:
        company["gradient_accumulation"] = math.ceil(int(steps.value) * now / float(micro))
    prompts, mini = targets.get("train_batch_size"), whole(facts.values, "mini_batch_size")
    batch = whole(facts.values, "train_batch_size")
    if prompts and mini and batch and float(prompts) < mini <= batch and "mini_batch_size" in facts.keys:
        company["mini_batch_size"] = prompts
    return {**company, **_split_budgets(facts, targets), **_filled_row(facts, targets), **_tied(facts, targets)}


def _split_budgets(facts: Facts, targets: Targets) -> Targets:
    """Budgets of tokens that count each card’s part of a row: they fall as it is split further, or the cards hold as much as before."""
    now, ranks = whole(facts.values, "sp") or 1, int(targets.get("sp") or 0)
    row = longest_row(facts.values) or whole(facts.values, "response_length")
    if ranks <= now or row is None or facts.values.get("dynamic_batch") is not True:
        return {}
    budgets = {id: whole(facts.values, id) for id in _OF_A_PASS if id in facts.keys and id not in targets}
    return {
        id: part
        for id, budget in budgets.items()
        if budget and (part := max(budget * now, row) // -ranks * -1) < budget
    }


def _filled_row(facts: Facts, targets: Targets) -> Targets:
    """A row that is filled with whole samples shrinks by as much as the longest of them: its own limit decides what a pass holds."""
    response, now, row = targets.get("response_length"), whole(facts.values, "response_length"), _filled(facts)
    return (
        {"max_length": row - (now - int(response))} if response and now and row and "max_length" in facts.keys else {}
    )


def _filled(facts: Facts) -> int | None:
    """The limit of a row that is filled with whole samples, prompt and response each with a limit of its own; None elsewhere."""
    samples = facts.values.get("packed_rows") is True and whole(facts.values, "prompt_length")
    return whole(facts.values, "max_length") if samples and whole(facts.values, "response_length") else None


def _tied(facts: Facts, targets: Targets) -> Targets:
    """Sizes that the framework takes only while they are equal: what is equal to one that moves, with its new value."""
    if facts.framework is None or not facts.framework.ties:
        return {}
    moved: dict[str, Value] = {}
    for id, value in targets.items():
        equal = facts.framework.tied(facts.keys.get(id, ""), facts.values)
        others = (one for one, key in facts.keys.items() if key in equal and one not in targets)
        moved |= {one: value for one in others if alike(facts.values.get(one), facts.values.get(id, ""))}
    return moved
