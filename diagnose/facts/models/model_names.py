"""Names of models: how the catalogue's are told from others, in whatever order and with whatever marks people write the parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix

from diagnose.knowledge.hardware import Model, Models
from diagnose.types import Span

# a name of the shape word-…-7B-…: hyphens hold it together, and a size in it says that it is a model
NAMED = re.compile(
    r"(?<![\w/.\-])(?:[A-Za-z][\w.\-]*/)?(?P<name>[A-Za-z](?:[A-Za-z0-9.]|(?<=\d)_(?=\d))*(?:-[A-Za-z0-9.]+)*-\d{1,3}(?:\.\d{1,2})?[bB](?:-[A-Za-z0-9.]+)*)(?![\w/])",
    re.A,
)
SIZE_IN_NAME = re.compile(r"(?<![A-Za-z\d.])(\d{1,4}(?:[._]\d{1,2})?)\s?([bBmM])(?![A-Za-z0-9])", re.A)
# 30B-A3B, 17B-128E: what a token passes through is not the size
_ACTIVE = re.compile(r"[-_]A\d+(?:\.\d+)?[bB]", re.I | re.A)
_MOE_ACTIVE = re.compile(rf"{_ACTIVE.pattern}|[-_]\d+B(?=[-_]\d+E(?![A-Za-z0-9]))", re.I | re.A)
_DECIMAL = re.compile(r"(?<=-[01])_(?=\d{1,2}[bB](?![A-Za-z0-9]))", re.A)  # internlm2-1_8b, but llama-3_8b
# words of a name that change neither shape nor size
_NEUTRAL = frozenset(("instruct", "chat", "base", "it", "hf", "inst"))
# words of a name that make it another model than the one it begins with
_OTHER = re.compile(r"^(?:vl|omni|audio|moe|next|coderv|v\d|\dv|(?:it)?assistant$)(?![a-z]*ersion)", re.A)
# the same behind a name that no size settles, as in GLM-4.7-Flash, GLM-4.5V
_SIBLING = re.compile(
    r"^[-_. ]?(?:air|flash|lite|mini|nano|tiny|small|large|ultra|super|pro|plus|turbo|max|ocr|vision|v)(?![a-z0-9])",
    re.I | re.A,
)
_SIZED = re.compile(r"\d[bm](?![a-z])", re.A)
# how the family is called in Chinese
_CHINESE = re.compile(r"(?:通义)?千问", re.A)
_TOKEN = re.compile(r"[a-z]+|\d+(?:\.\d+)?", re.A)
# where a name may begin within another, and what it is to have: a word, perhaps a version, and a size
_CUT = re.compile(r"[-_/](?=[A-Za-z])", re.A)
_WITH_SIZE = re.compile(r"[A-Za-z]+[-_ ]?(?:v?\d(?:\.\d)?[-_ ])?\d{1,3}(?:\.\d)?[bB](?![A-Za-z0-9])", re.A)
# of Qwen people leave the version away
_LOOSE = re.compile(r"qwen[-_ ]?\d+(?:\.\d)?b(?![a-z0-9])", re.I | re.A)
# models that are made of another with more beside it, or that draft for it
_OF_ANOTHER_KIND = re.compile(
    r"llava|cog|vision|video|omni|audio|eagle|medusa|draft|(?<![a-z])(?:vl|vlm|ov|moe|v(?!\d))(?![a-z])", re.I | re.A
)
_BEGINNING = 4  # letters by which names are looked up
_STEM = re.compile(r"[A-Za-z]{3,}(?:[-_ ]?[rv]?\d)?", re.I | re.A)  # a family, with its generation where one is told
_ALIKE = 3  # models that are named where one is meant that nobody knows
_ROUNDED = 0.25  # a size in a name lies this near the model's own


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its place; ``certain`` when it is a model's name by itself and not merely a folder's.

    ``aside``: the text says that all went well with it, or names it for comparison.
    """

    written: str
    span: Span | None
    key: str = ""
    certain: bool = True
    slug: str = ""
    aside: bool = False


def packed(name: str) -> str:
    """A name as it is compared: lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", _CHINESE.sub("qwen", name.lower()))


@lru_cache(maxsize=4)
def aliases(models: Models) -> dict[str, str]:
    """Packed name → slug, the longest first; what a record calls its own comes before a shortened name of another."""
    known = {packed(name): model.slug for model in models for name in _shortened(model)}
    known |= {packed(name): model.slug for model in models for name in (model.title, *model.aliases)}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


def _shortened(model: Model) -> set[str]:
    """Names of a sparse model without what a token passes through, as people write them: Qwen3-235B."""
    return {short for name in (model.title, *model.aliases) if (short := _ACTIVE.sub("", name)) != name}


@lru_cache(maxsize=4)
def _namesakes(models: Models) -> dict[str, tuple[str, ...]]:
    """Packed names that several models share, since a point is no letter: OPT-13B before OPT-1.3B."""
    slugs: dict[str, list[str]] = {}
    for model in models:
        for name in {packed(name) for name in (model.title, *model.aliases)}:
            slugs.setdefault(name, []).append(model.slug)
    return {name: tuple(sorted(of, key=lambda slug: slug.count("."))) for name, of in slugs.items() if len(of) > 1}


def _meant(alias: str, name: str, models: Models) -> str:
    """The slug of a packed name; of several the one of the size that the name tells; "" where it has a point that the slug lacks."""
    of, size = _namesakes(models).get(alias, ()), _size(name)
    slug = next((slug for slug in of if _of_size(size, _sizes(models)[slug])), aliases(models)[alias])
    return "" if size and _of_size(10 * size, _sizes(models)[slug]) else slug


@lru_cache(maxsize=4)
def _sizes(models: Models) -> dict[str, float]:
    """Slug → billions of parameters."""
    return {model.slug: model.params_b for model in models}


@lru_cache(maxsize=4)
def _by_beginning(models: Models) -> dict[str, list[str]]:
    """Packed names by the letters that they begin with: few families have hundreds of names."""
    found: dict[str, list[str]] = {}
    for name in aliases(models):
        found.setdefault(name[:_BEGINNING], []).append(name)
    return found


def named_in(words: str, models: Models) -> list[str]:
    """The packed names that stand in packed words."""
    there = (names for beginning, names in _by_beginning(models).items() if beginning in words)
    return [name for names in there for name in names if name in words]


@lru_cache(maxsize=4)
def _by_parts(models: Models) -> dict[tuple[str, ...], str]:
    """The parts of a name in any order → slug, where only one model has them."""
    found: dict[tuple[str, ...], set[str]] = {}
    for model in models:
        for name in (model.title, *model.aliases):
            found.setdefault(_parts(name), set()).add(model.slug)
    return {parts: slugs.pop() for parts, slugs in found.items() if len(slugs) == 1}


def _parts(name: str) -> tuple[str, ...]:
    words = re.sub(r"(?<![\d.])(\d)_(\d)(?=[a-z_\-]|$)(?!b)", r"\1.\2", name.lower())
    return tuple(sorted(part for part in _TOKEN.findall(words) if part not in _NEUTRAL))


@lru_cache(maxsize=4)
def spoken_names(models: Models) -> re.Pattern[str]:
    """Any name of the catalogue in running words; dots, dashes, colons and blanks may be missing or exchanged.

    One that goes on with a point and a digit is a later version, of another shape.
    """
    forms = {name for model in models for name in (model.title, *model.aliases, *_shortened(model))}
    loose = sorted((_loose(form) for form in forms), key=len, reverse=True)
    return re.compile(
        rf"(?<![A-Za-z0-9])(?P<name>(?:{'|'.join(loose)}))(?P<tail>(?:[-_](?:[A-Za-z0-9]+(?:\.\d+)*))*)(?![A-Za-z0-9]|\.\d)",
        re.I | re.A,
    )


def _loose(name: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+", name)
    return r"[-_. :]?".join(r"(?:Qwen|(?:通义)?千问)" if part == "Qwen" else re.escape(part) for part in parts)


def find_model(name: str, models: Models) -> str:
    """The slug of the catalogue's model that the name means, or "": the whole name, its parts in another order, or its beginning.

    A name that goes on with another size or version is another model. What was trained of a model often has its whole name within its own,
    as in ``math-shepherd-mistral-7b-sft``.
    """
    words = packed(name)
    known = aliases(models)
    if words in known and (slug := _meant(words, name, models)):
        return slug
    if slug := _by_parts(models).get(_parts(name), ""):
        return slug
    if slug := _begins_with(name, models):
        return slug
    if _OF_ANOTHER_KIND.search(name):
        return ""
    rests = (name[cut.end() :] for cut in _CUT.finditer(name) if _WITH_SIZE.match(name, cut.end()))
    return next((slug for rest in rests if not _LOOSE.match(rest) and (slug := _begins_with(rest, models))), "")


def _begins_with(name: str, models: Models) -> str:
    """The slug of the model whose name stands at the beginning of another, the longest of them; "" for none."""
    words = packed(name)
    for alias in aliases(models):
        if not words.startswith(alias):
            continue
        if not (slug := _meant(alias, name, models)):
            continue
        rest, behind = words[len(alias) :], _behind(alias, name)
        sized = None if _SIZED.search(alias) else _size(behind)
        other = (sized is None and re.match(r"[\dab](?:\d|$)", rest)) or _OTHER.match(rest)
        sibling = _SIBLING.match(behind) and not _SIZED.search(alias)
        same = not (other or sibling) and _of_size(sized, _sizes(models)[slug])
        if same and (len(alias) >= 5 or behind[:1] in "-_ "):
            return slug
    return ""


def _of_size(size: float | None, params_b: float) -> bool:
    """Whether a model of so many billions may be told by this size, if any is told."""
    return size is None or abs(size - params_b) <= _ROUNDED * params_b


def _behind(alias: str, name: str) -> str:
    """What stands behind a packed name at the beginning of another, as it is written."""
    end = next((end for end in range(len(name) + 1) if packed(name[:end]) == alias), len(name))
    return name[end:]


def whole_name(name: str, models: Models) -> str:
    """The catalogue's title where the name holds the parts of one of its names in another order, else ""."""
    words = packed(name)
    if _CHINESE.search(name):
        return next((model.title for model in models if model.slug == find_model(words, models)), "")
    slug = _by_parts(models).get(_parts(name), "")
    straight = next((other for alias, other in aliases(models).items() if words.startswith(alias)), "")
    return next((model.title for model in models if model.slug == slug), "") if slug != straight else ""


def params_of(name: Name, record: Model | None) -> float | int | None:
    """Billions of parameters by the name, the whole model of a sparse one; else what the record says.

    A sparse model may bear what a token passes through before its whole size, or alone (OLMoE-1B-7B, Llama-4-Scout-17B-16E).
    """
    size = _size(name.written)
    if size is not None:
        return plain(record.params_b if record and record.moe and size < record.params_b / 2 else size)
    return plain(record.params_b) if record else None


def _size(name: str) -> float | None:
    """Billions of parameters by the words of a name, without what a token passes through; None where they tell none."""
    words = _DECIMAL.sub(".", _MOE_ACTIVE.sub("", name))
    found = SIZE_IN_NAME.search(words.replace("_", "-"))
    if not found:
        return None
    number = size_of(found[1])
    return number / 1000 if found[2] in "mM" else number


def size_of(digits: str) -> float:
    """The number that a name writes as ``1.5``, ``1_5``, ``1p5`` or, without its point, ``05``."""
    words = re.sub(r"[_\-pP]", ".", digits)
    return float(f"0.{words[1:]}" if re.fullmatch(r"0\d{1,2}", words, re.A) else words)


def alike(name: str, models: Models) -> tuple[str, ...]:
    """Names of the catalogue's models of the same family and about the same size as one that it does not hold, the likest first."""
    size, stem = _size(name), _STEM.match(name)
    if size is None or stem is None:
        return ()
    words, near = packed(name), [model for model in models if _of_size(size, model.params_b)]
    found = [(_like(model, words), model) for model in near]
    kin = [(other, model) for other, model in found if packed(other).startswith(packed(stem[0]))]
    kin.sort(key=lambda one: (-_shared(one[0], words), abs(one[1].params_b - size)))
    return tuple(other for other, _ in kin[:_ALIKE])


def _like(model: Model, words: str) -> str:
    """The name of the model that has most of the packed words' beginning; its title of equals."""
    return max((model.title, *model.aliases), key=lambda name: _shared(name, words))


def _shared(name: str, words: str) -> int:
    return len(commonprefix((packed(name), words)))


def plain(number: float) -> float | int:
    return int(number) if float(number).is_integer() else number
