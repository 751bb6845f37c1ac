"""What must hold for a data set beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnose.knowledge.dataset import Dataset
from diagnose.knowledge.loader import Problem

# Names that everybody gives to files of their own: none of them tells which data they hold.
_ANYBODYS = frozenset(
    (
        *("train", "training", "test", "val", "valid", "validation", "eval", "data", "dataset", "datasets"),
        *("default", "main", "sft", "rl", "prompts"),
    )
)


def check_datasets(datasets: Mapping[str, Dataset]) -> Iterator[Problem]:
    """Each record by itself, and that no folder's name stands for two."""
    owner: dict[str, str] = {}
    for dataset in datasets.values():
        yield from _lengths(dataset)
        yield from _names(dataset)
        for folder in {folder.lower() for folder in dataset.folders}:
            if folder in owner:
                says = f"“{folder}” belongs to {owner[folder]} too: keep it in one"
                yield Problem(f"datasets/{dataset.slug}.md: folders", says)
            owner[folder] = dataset.slug


def _lengths(dataset: Dataset) -> Iterator[Problem]:
    place = f"datasets/{dataset.slug}.md"
    told = {
        "row_tokens": dataset.row_tokens,
        "prompt_tokens": dataset.prompt_tokens,
        "response_tokens": dataset.response_tokens,
    }
    if not any(told.values()):
        yield Problem(place, f"tells no length: give one of {', '.join(told)}, or leave the record out")
    if dataset.timed and not dataset.media:
        yield Problem(f"{place}: timed", "is told of sound and video alone: add media = true, or leave it out")
    for one in dataset.sampled:
        if one.mean <= 0 or not one.by:
            yield Problem(f"{place}: sampled", "wants a mean above 0 and the names that answered: give both")
    for field, tokens in told.items():
        if tokens and tokens.mean <= 0:
            yield Problem(f"{place}: {field}.mean", f"is {tokens.mean}, must be above 0")
        if tokens and tokens.sd is not None and tokens.sd < 0:
            yield Problem(f"{place}: {field}.sd", f"is {tokens.sd}, must not be below 0")
        if tokens and tokens.max is not None and tokens.max < tokens.mean:
            yield Problem(f"{place}: {field}.max", f"is {tokens.max}, below the mean {tokens.mean}: exchange them")


def _names(dataset: Dataset) -> Iterator[Problem]:
    for field, names in (("aliases", dataset.aliases), ("folders", dataset.folders)):
        for name in names:
            if name.lower().split(".")[0] in _ANYBODYS:
                says = f"“{name}” is what anybody calls a file: name what only this data set is called"
                yield Problem(f"datasets/{dataset.slug}.md: {field}", says)
            if field == "folders" and "/" in name:
                yield Problem(f"datasets/{dataset.slug}.md: folders", f"“{name}” is a path: write one part of it")
