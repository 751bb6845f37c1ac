"""The data sets that a run trains on, by the names that its command gives, and the lengths that follow from their records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from diagnose.batch import resolve, rows_met
from diagnose.knowledge.dataset import PHOTOGRAPH, PIXELS_PER_TOKEN, Dataset, Tokens
from diagnose.types import Fact
from diagnose.vocabulary import ONLINE_ALGOS

# On-policy distillation trains on answers of the student too (arXiv:2306.13649, algorithm 1), though it counts as offline training.
_WRITES_ANSWERS = (*ONLINE_ALGOS, "gkd")
_CLASSIFIES = ("seq_cls", "sft_seq_cls")
# How one name is written: a hub before it, rows taken of it behind a #, a part of it behind a colon, @ or in brackets.
_NAME = re.compile(r"(?:(?:hf|ms)::)?(?P<name>[^#:@\[\]]+)[^#]*(?:#(?P<rows>\d{1,12})(?P<share>%)?)?", re.I | re.A)
# train[:5%]: huggingface/datasets@2.21 src/datasets/arrow_reader.py: _SUB_SPEC_RE
_SLICE = re.compile(r"\[(?P<first>\d{0,12})(?P<of>%?):(?P<last>\d{0,12})(?P<to>%?)\]", re.A)
# rows of the set before it, or with a point a share of them: allenai/open-instruct@e6c3044 open_instruct/dataset_transformation.py
_AMOUNT = re.compile(r"(?P<whole>\d{1,12})(?P<part>\.\d{0,6})?", re.A)
_APART = re.compile(r"[\s,;'\"\[\]()]+", re.A)
_FILE = re.compile(r"\.(?:parquet|jsonl?|csv|arrow|txt)$", re.A)


class Used(NamedTuple):
    """A data set of the catalogue that a run trains on; ``rows`` where the command takes so many of it."""

    record: Dataset
    rows: int | None

    @property
    def name(self) -> str:
        return f"{self.record.title}#{self.rows}" if self.rows else self.record.title


def with_lengths(stated: dict[str, Fact], datasets: Mapping[str, Dataset]) -> tuple[tuple[str, ...], dict[str, Fact]]:
    """The names of the run's data sets, and the facts with the lengths that follow from them where nothing states any."""
    if "dataset" not in stated:
        return (), stated
    written = str(stated["dataset"].value)
    if "dataset_split" in stated and not _APART.search(written):
        written = f"{written}:{stated['dataset_split'].value}"
    sets = used(written, datasets)
    return tuple(one.name for one in sets), {**_lengths(sets, stated), **_of_text(sets), **stated}


def _of_text(sets: tuple[Used, ...]) -> dict[str, Fact]:
    """That the rows are text alone, where all sets are known and none holds images, sound or video."""
    if not sets or any(one.record.media for one in sets):
        return {}
    why = f"{', '.join(one.name for one in sets)} as its record tells"
    return {"text_data": Fact("text_data", True, "derived", why=why)}


def used(written: str, datasets: Mapping[str, Dataset]) -> tuple[Used, ...]:
    """What the written names stand for; nothing where one of them is unknown, since it may hold the longest rows."""
    found: list[Used] = []
    for word in _APART.split(_SLICE.sub(_rows_of, written)):
        if found and (amount := _AMOUNT.fullmatch(word)):
            found[-1] = found[-1]._replace(rows=_amount(found[-1].record, amount))
            continue
        name = _NAME.fullmatch(word) if word else None
        if name is None:
            if word:
                return ()
            continue
        slug = _slug(name["name"].lower(), tuple(datasets.values()))
        if not slug:
            return ()
        found.append(Used(datasets[slug], _taken(datasets[slug], name)))
    return tuple(found)


def _rows_of(part: re.Match[str]) -> str:
    """A slice as the rows behind a # that it takes, or as their share; nothing where its end is open."""
    first = int(part["first"] or 0)
    if part["last"] and (not first or part["of"] == part["to"]):
        return f"#{max(1, int(part['last']) - first)}{part['to']}"
    return f"#{max(1, 100 - first)}%" if part["of"] and not part["last"] else ""


def _taken(record: Dataset, name: re.Match[str]) -> int | None:
    """Rows that the name takes of a set, as their number or as a share of all."""
    if not name["rows"]:
        return None
    rows = int(name["rows"])
    if name["share"]:
        return max(1, record.rows * min(rows, 100) // 100) if record.rows else None
    return rows


def _amount(record: Dataset, amount: re.Match[str]) -> int | None:
    """The rows that a number behind the name takes of a set; None where those are all."""
    if not amount["part"]:
        return int(amount["whole"])
    share = float(amount[0])
    return max(1, int(share * record.rows)) if record.rows and share < 1 else None


def _slug(name: str, datasets: tuple[Dataset, ...]) -> str:
    """By the whole name, the end of a path that is one, or a folder or file in a path that nothing else is called."""
    whole, folders = _names(datasets)
    parts = _FILE.sub("", name).strip("/").split("/")
    ends = ("/".join(parts[i:]) for i in range(len(parts)))
    found = next((whole[end] for end in ends if end in whole and (end == name or "/" in end)), "")
    return found or next((folders[part] for part in reversed(parts) if part in folders), "")


@lru_cache(maxsize=4)
def _names(datasets: tuple[Dataset, ...]) -> tuple[dict[str, str], dict[str, str]]:
    whole = {name.lower(): one.slug for one in datasets for name in (one.title, *one.aliases)}
    return whole, {name.lower(): one.slug for one in datasets for name in one.folders}


def _lengths(sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """Real lengths of the rows. Where the model writes the answers, only those of the prompts.

    Nothing follows from rows with sound or video, whose tokens the records leave out. Those of images stand beside the text, as many
    as a usual image has pixels; where the model writes answers and no record tells its images, the limit of pixels alone is taken, if the
    run sets one.
    """
    algo, media = stated.get("algo"), any(one.record.media for one in sets)
    silent = "student_answers" in stated and stated["student_answers"].value is False
    answers = algo is not None and algo.value in _WRITES_ANSWERS and not silent
    if not sets or any(one.record.timed for one in sets):
        return {}
    if media and answers and not all(one.record.largest_image_pixels for one in sets if one.record.media):
        return _shown(sets, stated)
    if answers and algo is not None and algo.value == "gkd":
        return _distilled(sets, stated)
    images = [_image(sets), *_largest_image(sets)] if media else []
    prompts = [*_side("prompt", [one.record.prompt_tokens for one in sets], sets, stated)]
    found = [*prompts]
    if answers:
        found += [*(() if found else _within_row(sets, stated)), *_sampled(sets, stated)]
    elif algo is not None:
        # a limit for each side cuts them apart; else a row is all one
        apart = "prompt_length" in stated and "response_length" in stated
        if apart:
            found += _side("response", [one.record.response_tokens for one in sets], sets, stated)
        else:
            told = [_row(one.record, str(algo.value)) for one in sets]
            found = [*_side("response", told, sets, stated), *_met(told, sets, stated)]
            if found and str(algo.value) not in _CLASSIFIES:
                found += prompts
    return {fact.id: fact for fact in (*found, *images)} if found else {}


def _shown(sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The longest prompt that shows an image: the longest text, and an image of as many pixels as the run lets through."""
    longest, values = _longest([one.record.prompt_tokens for one in sets], sets), resolve(stated)
    most, images = values.get("max_pixels"), values.get("images_per_prompt")
    if longest is None or not isinstance(most, int) or values.get("images_tiled") is True:
        return {}
    shown = most / PIXELS_PER_TOKEN * (images if isinstance(images, int) else 1)
    why = f"the longest text of {', '.join(one.name for one in sets)} and an image of {most:,} pixels"
    id = "longest_prompt_length"
    return {id: Fact(id, round(longest + shown), "derived", why=why)}


def _distilled(sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The longest row where a student answers by itself too: a row of the data, whose prompt is no longer, and the longest answer."""
    longest, answer = _longest([one.record.row_tokens for one in sets], sets), stated.get("response_length")
    if longest is None or answer is None or not isinstance(answer.value, int):
        return {}
    why = f"the longest row of {', '.join(one.name for one in sets)} and an answer of {answer.value:,} tokens"
    id = "longest_response_length"
    return {id: Fact(id, round(longest) + answer.value, "derived", why=why)}


def _within_row(sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> Iterator[Fact]:
    """The longest prompt where a record counts whole rows alone: no prompt is longer than its row."""
    longest = _longest([one.record.row_tokens for one in sets], sets)
    if longest is not None and "real_prompt_length" not in stated:
        why = f"no longer than the longest row of {', '.join(one.name for one in sets)}"
        yield Fact("longest_prompt_length", round(longest), "derived", why=why)


def _row(record: Dataset, algo: str) -> Tokens | None:
    """A whole row. One that is sorted into classes has no answer in words: its prompt is all of it."""
    return (record.prompt_tokens or record.row_tokens) if algo in _CLASSIFIES else record.row_tokens


def _image(sets: tuple[Used, ...]) -> Fact:
    """Pixels of a usual image: of the set with the largest, and a photograph's where the record does not tell."""
    pixels, held = max(
        ((one.record.image_pixels or PHOTOGRAPH, one.record) for one in sets if one.record.media),
        key=lambda told: told[0],
    )
    told = "as its record tells" if held.image_pixels else "taken as photographs of 640 × 480"
    return Fact("image_pixels", pixels, "derived", why=f"the counted rows of {held.title} leave images out; {told}")


def _largest_image(sets: tuple[Used, ...]) -> Iterator[Fact]:
    """Pixels of the largest image, where the record of every set with images tells it."""
    told = [one.record.largest_image_pixels for one in sets if one.record.media]
    largest = [pixels for pixels in told if pixels]
    if len(largest) == len(told):
        why = f"as the records of {', '.join(one.name for one in sets if one.record.media)} tell"
        yield Fact("largest_image_pixels", max(largest), "derived", why=why)


def _sampled(sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> Iterator[Fact]:
    """The usual length of answers where public runs tell it of every set and of a model of this name, the longest of them."""
    model = str(stated["model"].value) if "model" in stated else ""
    told = [next((one for one in used.record.sampled if one.told_of(model)), None) for used in sets]
    known = [one for one in told if one is not None]
    if model and len(known) == len(sets):
        why = f"what {' and '.join(known[0].by)} answered to {', '.join(one.name for one in sets)} in public runs"
        yield Fact("usual_response_length", round(max(one.mean for one in known)), "derived", why=why)


def _side(side: str, tokens: list[Tokens | None], sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> Iterator[Fact]:
    """Mean and longest of one side, unless the log or a person told the mean, or a record does not."""
    told = [one for one in tokens if one is not None]
    if len(told) < len(sets) or f"real_{side}_length" in stated:
        return
    mean, longest = _mean(told, sets), _longest(told, sets)
    counted = ", ".join(dict.fromkeys(one.record.tokenizer for one in sets))
    why = f"{', '.join(one.name for one in sets)}, counted with the tokenizer of {counted}"
    yield Fact(f"real_{side}_length", round(mean), "derived", why=why)
    if longest:
        yield Fact(f"longest_{side}_length", round(max(mean, longest)), "derived", why=why)


def _met(tokens: list[Tokens | None], sets: tuple[Used, ...], stated: Mapping[str, Fact]) -> Iterator[Fact]:
    """The longest row that a run of so few steps is likely to meet, where its rows are fewer than those of the sets."""
    rows = rows_met(resolve(stated)) if "max_steps" in stated else None
    if rows is None or "real_response_length" in stated:
        return
    drawn = tuple(one._replace(rows=min(rows, one.rows or one.record.rows or rows)) for one in sets)
    before, longest = _longest(tokens, sets), _longest(tokens, drawn)
    if before and longest and longest < before:
        yield Fact("longest_met_length", round(longest), "derived", why=f"about the longest of {rows:,} rows")


def _mean(told: list[Tokens], sets: tuple[Used, ...]) -> float:
    """Over the rows that are taken of each; where a share is unknown, that of the set with the longest rows."""
    shares = [one.rows or one.record.rows for one in sets]
    known = [share for share in shares if share]
    if len(known) < len(shares):
        return max(one.mean for one in told)
    return sum(share * one.mean for share, one in zip(known, told, strict=True)) / sum(known)


def _longest(told: Sequence[Tokens | None], sets: tuple[Used, ...]) -> float | None:
    """The longest row that the run meets: of all, or of as many as are taken."""
    tops = [
        tokens.longest_of(one.rows) if one.rows and one.rows < (one.record.rows or one.rows + 1) else tokens.max
        for tokens, one in zip(told, sets, strict=True)
        if tokens
    ]
    known = [top for top in tops if top]
    return max(known) if len(known) == len(sets) else None
