"""The calculator's form: the settings that the chosen framework knows, each with what holds where it is left empty."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.estimate import plan_of
from diagnose.knowledge import Knowledge
from diagnose.types import Diagnosis, Facts
from diagnose.vocabulary import FACTS, ONLINE_ALGOS, Value
from diagnose.words import value_words
from wizard.reading import GROUPS, options_of
from wizard.state import Answers, as_text

_ALWAYS = (
    *("framework", "algo", "model", "card", "n_gpus", "gpus_per_node", "host_ram_gb"),
    *("real_prompt_length", "real_response_length", "max_pixels"),
)
_FIRST = (
    *(
        "framework",
        "algo",
        "model",
        "params_b",
        "full_or_lora",
        "lora_rank",
        "card",
        "gpu_mem_gib",
        "n_gpus",
        "gpus_per_node",
    ),
    *("prompt_length", "response_length", "max_length", "max_pixels", "micro_batch", "micro_tokens", "rollout_n"),
    *("gpu_memory_utilization", "rollout_tp", "gradient_checkpointing", "remove_padding", "param_offload"),
    *("optimizer_offload", "logits_chunked"),
)
_MORE = (
    *("framework_version", "precision", "optimizer", "has_ref", "has_critic", "host_ram_gb"),
    *("train_batch_size", "mini_batch_size", "logprob_micro_batch", "dynamic_batch"),
    *("real_prompt_length", "real_response_length"),
    *("strategy", "zero_stage", "sp", "tp", "pp", "optimizer_on_cpu", "param_on_cpu", "ref_offload"),
    *("activation_offload", "flash_attention", "rollout_mode", "sleep_level", "enforce_eager"),
    *("max_num_seqs", "max_num_batched_tokens"),
)
_OF_AN_ENGINE = ("gpu_memory_utilization", "rollout_tp", "rollout_mode", "sleep_level", "enforce_eager")
_WITH_ROLLOUT = (
    "prompt_length",
    "real_prompt_length",
    "response_length",
    "rollout_n",
    "max_num_seqs",
    "max_num_batched_tokens",
)
_WIDE = ("framework", "algo", "card", "full_or_lora", "precision", "rollout_mode", "strategy")  # their options are long
ALGOS = tuple((algo, value_words("algo", algo)) for algo in ONLINE_ALGOS)
_ORIGINS = {"default": "default", "assumed": "assumed", "derived": "follows"}


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. ``empty`` says what holds while it is left empty; with ``options`` it is a choice; ``names`` is its list of names."""

    id: str
    title: str
    value: str
    empty: str
    unit: str = ""
    options: tuple[tuple[str, str], ...] = ()
    names: str = ""
    error: str = ""
    required: bool = False

    @property
    def short(self) -> bool:
        """Whether it is one of the switches, which stand in a line with their names."""
        return bool(self.options) and self.id not in _WIDE


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked first, in groups, and the rest that the framework knows; ``set_more`` counts what is set of the rest."""

    groups: tuple[Group, ...]
    more: tuple[Group, ...]
    set_more: int


def form(diagnosis: Diagnosis, answers: Answers, knowledge: Knowledge) -> Form:
    set_ones = {*answers.values, *answers.errors}
    plan = plan_of(diagnosis.facts, knowledge.fallback)
    online = plan is None or plan.online
    known = [
        id for id in (*_FIRST, *_MORE) if (id in set_ones and id != "gpu_mem_gib") or _has(id, diagnosis.facts, online)
    ]
    others = [id for id in FACTS if id in set_ones and id not in known and id not in ("gpu_model", "gpu_mem_gib")]
    made = {id: _field(id, diagnosis.facts, answers, knowledge) for id in (*known, *others)}
    rest = [id for id in made if id not in _FIRST]
    return Form(
        groups=_groups([made[id] for id in made if id in _FIRST]),
        more=_groups([made[id] for id in rest]),
        set_more=sum(id in set_ones for id in rest),
    )


def cards(knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    """Every card in every size that it is sold in, as ``A100:80``."""
    return tuple(
        (f"{gpu.title}:{size}", f"{gpu.title} {size}GB") for gpu in knowledge.gpus.values() for size in gpu.sizes
    )


def frameworks(knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    known = ((slug, one.title) for slug, one in knowledge.frameworks.items() if not one.fallback)
    return tuple(sorted(known, key=lambda row: row[1].lower()))


def _groups(fields: list[Field]) -> tuple[Group, ...]:
    """By the groups of the vocabulary; the engine's settings are memory settings here."""
    rows: dict[str, list[Field]] = {}
    for group in ("run", "machine", "sizes", "memory"):
        rows[group] = [field for field in fields if _group(field.id) == group]
    return tuple(Group(GROUPS[id].split(" settings")[0], tuple(members)) for id, members in rows.items() if members)


def _group(id: str) -> str:
    group = "machine" if id == "card" else FACTS[id].group
    return "memory" if group == "engine" else group


def _has(id: str, facts: Facts, online: bool) -> bool:
    """Whether this framework and kind of run have the setting."""
    packed = facts.flag("dynamic_batch") is True
    absent = {
        "params_b": facts.model is not None,
        "gpu_mem_gib": facts.gpu is not None or "gpu_model" not in facts.values,
        "lora_rank": facts.values.get("full_or_lora") not in ("lora", "qlora"),
        "micro_batch": packed,
        "micro_tokens": not packed,
        "max_length": online,
        "max_pixels": facts.flag("multimodal") is not True,
    }
    if absent.get(id, False) or (not online and id in (*_OF_AN_ENGINE, *_WITH_ROLLOUT)):
        return False
    return (
        id in facts.keys
        or id in facts.stated
        or id in (*_ALWAYS, "params_b", "gpu_mem_gib", "response_length", "micro_batch")
    )


def _field(id: str, facts: Facts, answers: Answers, knowledge: Knowledge) -> Field:
    if id == "card":
        return _card(facts, answers, knowledge)
    value = answers.values.get(id)
    written = as_text(value) if value is not None else answers.written.get(id, "") if id in answers.errors else ""
    options = _options(id, facts, value, knowledge)
    if id == "framework" and facts.framework and not facts.framework.fallback:
        written = facts.fork.id if facts.fork else facts.framework.slug
    if options and value is not None:
        written = next((word for word, _ in options if word.lower() == written.lower()), written)
    return Field(
        id=id,
        title=FACTS[id].title,
        value=written,
        empty=_empty(id, facts),
        unit=FACTS[id].unit,
        options=options,
        names=id if id == "model" else "",
        error=answers.errors.get(id, ""),
        required=id in ("model", "n_gpus"),
    )


def _empty(id: str, facts: Facts) -> str:
    """What is taken while nobody sets it, with the word that says that it is no reading."""
    fact, value = facts.stated.get(id), facts.values.get(id)
    if value is None or (fact is not None and fact.certain):
        return "not told"
    origin = _ORIGINS.get(fact.origin, "follows") if fact is not None else "follows"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{origin} {as_text(value)}"
    return f"{origin}: {value_words(id, value)}"


def _options(id: str, facts: Facts, value: Value | None, knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    """The closed options of a setting; what is set and none of them stands first, as it was written."""
    if id == "framework":
        own = ((facts.fork.id, facts.fork.title),) if facts.fork else ()
        known = (*own, *frameworks(knowledge))
    elif id == "algo":
        known = ALGOS
    else:
        return options_of(FACTS[id])
    words = {word.lower() for option in known for word in option}
    return known if value is None or str(value).lower() in words else ((str(value), str(value)), *known)


def _card(facts: Facts, answers: Answers, knowledge: Knowledge) -> Field:
    """Card and size as one choice. A card that is not of the catalogue, or of no size that it is sold in, stands first."""
    known, size = cards(knowledge), facts.number("gpu_mem_gib")
    name = facts.gpu.title if facts.gpu else str(answers.values.get("gpu_model", ""))
    value = f"{name}:{size:.10g}" if name and size else f"{name}:" if name else f":{size:.10g}" if size else ""
    if value and value not in dict(known):
        words = " ".join(part for part in (name, f"{size:.10g}GB" if size else "of a size not told") if part)
        known = ((value, words), *known)
    errors = [answers.errors[id] for id in ("gpu_model", "gpu_mem_gib") if id in answers.errors]
    return Field("card", "Card", value, "not told", options=known, error=" ".join(errors), required=True)
