"""The catalogue as lists, each entry with a word on the right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils.text import capfirst

from diagnose.conditions import version
from diagnose.facts.failing.signature import is_mark
from diagnose.knowledge import Knowledge
from diagnose.knowledge.advisory import Advisory, Point
from diagnose.knowledge.dataset import Dataset, Tokens
from diagnose.knowledge.hardware import Model
from diagnose.knowledge.records import Case, Framework, Key, Lever, Signature
from diagnose.vocabulary import BATCH_UNITS, KINDS
from diagnose.words.advisory import range_words
from diagnose.words.figures import NBSP
from kb import rules_in_words
from kb.evidence import Mark, counted, outcomes
from kb.usual import Usual, usual

GROUPS = {  # the first part of a lever's name, where the word itself would not do
    "algo": "Algorithm",
    "batch": "Batches",
    "checkpoint": "Saving",
    "checkpointing": "Activations",
    "downgrade": "Older versions",
    "length": "Lengths",
    "load": "Loading",
    "peft": "LoRA",
    "image": "Images",
    "rollout": "Rollout engine",
    "run": "The run",
    "shard": "Sharding",
    "sync": "Weight sync",
    "upgrade": "Newer versions",
}


@dataclass(frozen=True)
class Entry:
    """One line of a list."""

    title: str
    href: str
    note: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class KeyRow:
    """How one framework writes a fact: the keys, the value that the newest version takes when nothing sets it, and from which version."""

    framework: Framework
    fact: str
    keys: tuple[str, ...]
    default: str
    note: str


BESIDE, NO_MEMORY = "memory of a process beside the training", "no memory failure"
NO_FAILURE = "no failure: tells a fact or a phase"
Groups = list[tuple[str, list[Entry]]]


def levers(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by what they act on, each with its evidence."""
    groups: dict[str, list[Entry]] = {}
    for lever in sorted(knowledge.levers.values(), key=lambda lever: lever.title):
        word = lever.slug.split(".")[0]
        entry = Entry(
            lever.title,
            reverse("kb:lever", args=[lever.slug]),
            "same results" if lever.results == "same" else "may change results",
            counted(outcomes(lever.slug, cases)),
        )
        groups.setdefault(GROUPS.get(word, word.capitalize()), []).append(entry)
    return sorted(groups.items())


def advisories(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by package, the newest remedy first, each with its evidence; the note holds the versions."""
    groups: dict[str, list[Entry]] = {}
    ordered = sorted(
        knowledge.advisories.values(), key=lambda one: (version(one.target.version), one.slug), reverse=True
    )
    for advisory in ordered:
        entry = Entry(
            advisory.title,
            reverse("kb:advisory", args=[advisory.slug]),
            range_words(advisory),
            counted(outcomes(advisory.slug, cases)),
        )
        groups.setdefault(advisory.package, []).append(entry)
    return sorted(groups.items())


def points(advisory: Advisory) -> list[tuple[str, Point]]:
    """The points of its package's history that are told, by their words."""
    named = (("Introduced", advisory.introduced), ("Fixed", advisory.fixed), ("Last good", advisory.last_good))
    return [(words, point) for words, point in named if point and (point.version or point.commit)]


def errors(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by the kind of failure, those of programs before those in people's words."""
    groups: dict[str, list[Entry]] = {words: [] for words in (*KINDS.values(), BESIDE, NO_MEMORY, NO_FAILURE)}
    for record in sorted(knowledge.signatures.values(), key=lambda record: (-record.strength, record.title)):
        words = {3: "printed by a program", 2: "a strong sign", 1: "in people’s words"}
        groups.setdefault(what_it_tells(record), []).append(
            Entry(record.title, reverse("kb:error", args=[record.slug]), words.get(record.strength, ""))
        )
    return [(capfirst(words), entries) for words, entries in groups.items() if entries]


def what_it_tells(signature: Signature) -> str:
    """The kind of failure in words; of a message that tells none of memory, or none of the training's, that it does not."""
    if signature.not_memory:
        return BESIDE if signature.apart else NO_MEMORY
    return NO_FAILURE if is_mark(signature) else KINDS.get(signature.kind, signature.kind)


def frameworks(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    counts = Counter(case.facts.get("framework") for case in cases)
    ordered = sorted(knowledge.frameworks.values(), key=lambda record: (record.fallback, record.title.lower()))
    entries = [
        Entry(f.title, reverse("kb:framework", args=[f.slug]), f"{counts[f.slug]} case{pluralize(counts[f.slug])}")
        for f in ordered
    ]
    return [("", entries)] if entries else []


def gpus(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by vendor; the note holds the sizes as sold, each with what the driver prints of it where that is known."""
    groups: dict[str, list[Entry]] = {}
    for gpu in sorted(knowledge.gpus.values(), key=lambda gpu: gpu.title):
        sizes = ", ".join(
            f"{size}{NBSP}GB" + (f":{NBSP}{printed:.2f}{NBSP}GiB" if (printed := gpu.printed(size)) else "")
            for size in gpu.sizes
        )
        groups.setdefault(gpu.vendor, []).append(Entry(gpu.title, reverse("kb:gpu", args=[gpu.slug]), sizes))
    return sorted(groups.items())


def models(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by family, the smallest first; the note holds the count of parameters."""
    groups: dict[str, list[Entry]] = {}
    for model in sorted(knowledge.models.values(), key=lambda model: (model.published, model.title)):
        note = f"{model.published / 1e9:,.2f} billion"
        groups.setdefault(model.family or "others", []).append(
            Entry(model.title, reverse("kb:model", args=[model.slug]), note)
        )
    return sorted(groups.items())


def datasets(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by what is known, the shortest first; the note holds the mean."""
    groups: dict[str, list[Entry]] = {}
    for dataset in sorted(knowledge.datasets.values(), key=lambda one: (lengths(one)[0][1].mean, one.title)):
        title, tokens = lengths(dataset)[0]
        entry = Entry(dataset.title, reverse("kb:dataset", args=[dataset.slug]), f"{tokens.mean:,.0f} tokens")
        groups.setdefault(f"{title}, without its images" if dataset.media else title, []).append(entry)
    return sorted(groups.items())


def logs(knowledge: Knowledge, cases: Sequence[Case]) -> Groups:
    """Grouped by what they measure; the note counts the figures."""
    groups: dict[str, list[Entry]] = {}
    for log in sorted(knowledge.logs.values(), key=lambda log: log.title):
        figures = len(log.measures)
        entry = Entry(log.title, reverse("kb:log", args=[log.slug]), f"{figures} figure{pluralize(figures)}")
        memory = any(measure.counter for measure in log.measures)
        groups.setdefault("Memory" if memory else "Lengths", []).append(entry)
    return sorted(groups.items(), reverse=True)


def lengths(dataset: Dataset) -> list[tuple[str, Tokens]]:
    """What of a data set's rows is known, by its name; never empty."""
    sides = (("Whole row", dataset.row_tokens), ("Prompt", dataset.prompt_tokens), ("Answer", dataset.response_tokens))
    sampled = [(f"Answer of {' or '.join(one.by)}", Tokens(mean=one.mean)) for one in dataset.sampled]
    return [*((title, tokens) for title, tokens in sides if tokens), *sampled]


# Units in which the number that is written is the number that one GPU sees.
_OWN_UNITS = ("", "sequences_per_gpu", "tokens_per_gpu", "prompts")


def lever_keys(lever: Lever, knowledge: Knowledge) -> tuple[KeyRow, ...]:
    """The key of each framework for each fact that the lever changes; those that have none are left out."""
    facts = dict.fromkeys(change.fact for change in lever.changes)
    rows = [row for framework in knowledge.frameworks.values() for fact in facts if (row := _key_row(framework, fact))]
    return tuple(sorted(rows, key=lambda row: (row.framework.fallback, row.framework.title.lower(), row.fact)))


def _key_row(framework: Framework, fact: str) -> KeyRow | None:
    keys = _open_keys(framework).get(fact, ())
    if not keys:
        return None
    default = usual(framework, fact)
    ranges: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        ranges.setdefault(key.key, []).append((key.since, key.until))
    told = [f"{key}: {words}" for key, several in ranges.items() if (words := rules_in_words.ranges(several))]
    unit = keys[0].unit
    counts = [BATCH_UNITS[unit]] if unit not in _OWN_UNITS else []
    return KeyRow(
        framework=framework,
        fact=rules_in_words.title(fact),
        keys=tuple(ranges),
        default=_default_words(fact, default, counts=bool(counts)) if default else "",
        note="; ".join((*counts, *told)),
    )


def _default_words(fact: str, default: Usual, *, counts: bool) -> str:
    """The value, with the version from which it is that or up to which it was."""
    value = default.value
    words = f"{value:,}" if counts and isinstance(value, (int, float)) else rules_in_words.value(fact, value)
    told = [f"since {default.since}"] if default.since else [f"before {default.until}"] if default.until else []
    return " ".join([words, *told])


@lru_cache(maxsize=64)
def _open_keys(framework: Framework) -> dict[str, list[Key]]:
    """The keys that a person may write, by the facts that they give."""
    given: dict[str, list[Key]] = {}
    for key in framework.keys:
        if not key.dead and not key.hidden:
            for fact in {key.fact, *(fact for facts in key.values.values() for fact in facts)}:
                given.setdefault(fact, []).append(key)
    return given


def told_of(fact: str, words: Iterable[str], cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases whose fact is one of these words, in any case; the newest first, those without a day last."""
    wanted = {word.lower() for word in words}
    told = [case for case in cases if str(case.facts.get(fact, "")).lower() in wanted]
    return tuple(sorted(told, key=lambda case: case.date or date.min, reverse=True))


def shape(model: Model) -> list[tuple[str, str]]:
    """The numbers of a model with their names; what it does not have is left out."""
    numbers: list[tuple[str, int]] = [
        ("Parameters", model.published),
        ("Hidden size", model.hidden),
        ("Layers", model.layers),
        ("Attention heads", model.heads),
        ("Key and value heads", model.kv_heads),
        ("Head size", model.head_dim or model.hidden // model.heads),
        ("MLP width", model.intermediate),
        ("Vocabulary", model.vocab),
        ("Longest context, tokens", model.max_position),
    ]
    if model.mixer:
        numbers += [("Layers with attention", model.attends), ("Layers with a recurrent state", model.mixer.layers)]
    if model.moe:
        numbers += [
            ("Experts", model.moe.experts),
            ("Experts of a token", model.moe.active),
            ("Width of an expert", model.moe.width),
        ]
    if model.vision:
        numbers += [
            ("Parameters of the vision tower", model.vision.params),
            ("Pixels of a token", model.vision.pixels_per_token),
        ]
    rows = [(title, f"{number:,}") for title, number in numbers]
    return [*rows, ("Embeddings tied", "yes" if model.tied else "no")]
