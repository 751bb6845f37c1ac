"""The model: a key's value, a path, or words. The value is as the person wrote it, without organisation and path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from diagnose.facts import written
from diagnose.facts.config_json import of_config
from diagnose.facts.keys import normal
from diagnose.facts.prose import span_of
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Model
from diagnose.types import Fact, Line, Paste, Setting, Span

_PARAMS = re.compile(r"(?<![A-Za-z\d.])(\d{1,4}(?:[._]\d{1,2})?)\s?([bBmM])(?![A-Za-z0-9])")
_MOE_ACTIVE = re.compile(r"[-_]A\d+(?:\.\d+)?[bB]", re.I)
# a name of the shape word-…-7B-…: hyphens hold it together, and a size in it says that it is a model
_NAMED = re.compile(
    r"(?<![\w/.\-])(?:[A-Za-z][\w.\-]*/)?(?P<name>[A-Za-z][A-Za-z0-9.]*(?:-[A-Za-z0-9.]+)*-\d{1,3}(?:\.\d{1,2})?[bB](?:-[A-Za-z0-9.]+)*)(?![\w/])"
)
_FILE = re.compile(r"\.(?:png|jpe?g|gif|sh|py|ya?ml|jsonl?|log|txt|md)$", re.I)
_SIZE_WORDS = re.compile(
    r"(?<![A-Za-z0-9_.\-/])(\d{1,3}(?:\.\d{1,2})?)\s?[-]?([bB])(?=$|\.(?!\d)|[\s,，。、;；:：)）?？!！\u4e00-\u9fff]|\s*(?:model|模型"
    r"|规模))(?!\s*(?:param\w*\s+)?(?:tokens|images))"
)
_CALLED = re.compile(r"\s*-?(?:sized?\s+)?(?:的)?(?:models?\b|模型|规模|policy\b|actor\b|LLM\b)", re.I)
_MODEL_KEYS = re.compile(
    r"(?:^|[._])(?:model|model_path|model_name|model_name_or_path|base_model|actor_path|pretrain|pretrained?_model"
    r"|policy_model|partial_pretrain|model_id|hf_checkpoint)$"
    r"|model\.path$|model\.model_path$"
)
_NOT_THE_ACTOR = re.compile(r"reward|critic|ref_|teacher|judge|embed|retriev|draft|value|tokenizer|\brm_")
_HUB = re.compile(r"^[A-Za-z][\w.\-]*/(?P<name>[A-Za-z][\w.\-]*)$")


@dataclass(frozen=True, slots=True)
class Read:
    """What the text says of the model; ``unknown`` is a name that the catalogue does not hold."""

    facts: Mapping[str, Fact]
    model: Model | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name with its place; ``certain`` when it is a model's name by itself and not merely a folder's."""

    written: str
    span: Span | None
    key: str = ""
    certain: bool = True
    slug: str = ""


def packed(name: str) -> str:
    """A name as it is compared: lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=4)
def _aliases(models: tuple[Model, ...]) -> dict[str, str]:
    """Packed name → slug, the longest first."""
    known = {packed(name): model.slug for model in models for name in (model.title, *model.aliases)}
    return dict(sorted(known.items(), key=lambda item: -len(item[0])))


@lru_cache(maxsize=4)
def _spoken_names(models: tuple[Model, ...]) -> re.Pattern[str]:
    """Any name of the catalogue in running words; dots, dashes and blanks may be missing or exchanged."""
    forms = {name for model in models for name in (model.title, *model.aliases)}
    loose = sorted((_loose(form) for form in forms), key=len, reverse=True)
    return re.compile(
        rf"(?<![A-Za-z0-9])(?P<name>(?:{'|'.join(loose)}))(?P<tail>(?:[-_](?:[A-Za-z0-9]+(?:\.\d+)*))*)(?![A-Za-z0-9])",
        re.I,
    )


def _loose(name: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+", name)
    return r"[-_. ]?".join(re.escape(part) for part in parts)


def read_model(paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact], knowledge: Knowledge) -> Read:
    """Model and size by an answer, a key, the words, or a pasted config.json."""
    models = tuple(knowledge.models.values())
    given = stated.get("model")
    if given is not None and given.origin == "answered":
        return _of_answer(given, stated, models, knowledge)
    names = [*_of_keys(paste, models, given), *_of_words(speech, models)]
    best = _best(names) or _of_folder(names, knowledge) or _of_family(speech, models)
    if best is None:
        size = _size_in_words(speech, knowledge)
        folder = next((name.written for name in names if not name.certain), "")
        return Read({"params_b": size} if size else {}, of_config(paste), folder)
    facts = {"model": Fact("model", best.written, "read", "", best.key, best.written, best.span)}
    record = knowledge.models.get(best.slug) if best.slug else None
    params = _params(best, record)
    if params is None and (size := _size_in_words(speech, knowledge)) is not None:
        facts["params_b"] = size
    elif params is not None:
        facts["params_b"] = Fact("params_b", params, "read", written=best.written, span=best.span)
    return Read(facts, record or of_config(paste), "" if record else best.written)


def find_model(name: str, models: tuple[Model, ...]) -> str:
    """The slug of the catalogue's model that the name means, or "": the whole name, or its beginning before a tail of words.

    A name that goes on with another size or version is another model.
    """
    words = packed(name)
    known = _aliases(models)
    if words in known:
        return known[words]
    for alias, slug in known.items():
        if len(alias) >= 5 and words.startswith(alias) and not re.match(r"[\dab](?:\d|$)", words[len(alias) :]):
            return slug
    return ""


def _best(names: list[_Name]) -> _Name | None:
    """The configured model; a person's own name for the same model is kept where the key holds only a folder's name."""
    certain = [name for name in names if name.certain]
    if certain and certain[0].key:
        return certain[0]
    if not certain:
        return None
    folders = [name for name in names if not name.certain and name.slug]
    return next((name for name in certain if folders and name.slug == folders[0].slug), certain[0])


def _of_folder(names: list[_Name], knowledge: Knowledge) -> _Name | None:
    """A folder's name that begins like a model of the catalogue stands for that model, under the catalogue's name."""
    slugs = {name.slug for name in names if name.slug and not name.certain}
    if len(slugs) != 1:
        return None
    name = next(name for name in names if name.slug)
    return _Name(knowledge.models[name.slug].title, name.span, name.key, slug=name.slug)


def _of_answer(given: Fact, stated: Mapping[str, Fact], models: tuple[Model, ...], knowledge: Knowledge) -> Read:
    name = str(given.value).rsplit("/", 1)[-1]
    slug = find_model(name, models)
    record = knowledge.models.get(slug)
    params = _params(_Name(name, None, slug=slug), record)
    facts: dict[str, Fact] = {}
    if params is not None and "params_b" not in stated:
        facts["params_b"] = Fact("params_b", params, "derived", why=f"the name {given.value}")
    return Read(facts, record, "" if record else str(given.value))


# --- keys


def _of_keys(paste: Paste, models: tuple[Model, ...], given: Fact | None) -> Iterator[_Name]:
    """The value of the framework's model key first, then of keys that are named like one."""
    settings = [setting for setting in paste.settings if given is not None and setting.span == given.span]
    for setting in (*settings, *reversed(paste.settings)):
        key = normal(setting.key)
        if setting in settings or (_MODEL_KEYS.search(key) and not _NOT_THE_ACTOR.search(key)):
            yield from _of_path(setting, models)


def _of_path(setting: Setting, models: tuple[Model, ...]) -> Iterator[_Name]:
    """The last part of a path that names a model; a part with other words around the name is a folder."""
    value = written.bare(setting.value)
    if written.not_set(value) or "$" in value or "://" in value or written.truth(value) is not None:
        return
    hub = _HUB.match(value)
    parts = [part for part in value.replace("--", "/").split("/") if part]
    for part in reversed(parts):
        slug = find_model(part, models)
        if packed(part) in _aliases(models) or (slug and _NAMED.fullmatch(part)):
            yield _Name(part, setting.span, setting.key, slug=slug)
            return
        if _NAMED.fullmatch(part) and not re.match(r"(?:checkpoint|global_step|base|model|ckpt|exp|run)\b", part, re.I):
            yield _Name(part, setting.span, setting.key)
            return
        if slug:
            yield _Name(part, setting.span, setting.key, certain=False, slug=slug)
            return
    if hub:
        yield _Name(hub["name"], setting.span, setting.key, slug=find_model(hub["name"], models))
    elif parts and not value.endswith((".py", ".json", ".yaml")):
        yield _Name(parts[-1], setting.span, setting.key, certain=False)


# --- words


def _of_words(speech: Sequence[Line], models: tuple[Model, ...]) -> Iterator[_Name]:
    pattern = _spoken_names(models) if models else None
    whole = packed("".join(line.words for line in speech))
    named = [name for name in _aliases(models) if name in whole]
    for line in speech:
        words = packed(line.words) if named else ""
        for found in pattern.finditer(line.words) if pattern and any(name in words for name in named) else ():
            name = found[0]
            slug = find_model(name, models)
            if slug and len(packed(name)) >= 5:
                # words joined by underscores are a folder's or an experiment's name
                yield _Name(name.strip(), span_of(line, found), certain="_" not in found["tail"], slug=slug)
        for found in _NAMED.finditer(line.words):
            if not _FILE.search(found["name"]) and not find_model(found["name"], models):
                yield _Name(found["name"], span_of(line, found, "name"))


def _of_family(speech: Sequence[Line], models: tuple[Model, ...]) -> _Name | None:
    """A family of the catalogue with a size or a version that it does not hold: “llama-70B”, “Qwen 1.5B”."""
    stems = {found[0] for model in models if (found := re.match(r"[A-Za-z]{4,}", model.title))}
    if not stems:
        return None
    family = rf"(?<![\w/.-])(?:{'|'.join(sorted(stems))})"
    sized = re.compile(rf"{family}[\d.]*(?:-[A-Za-z]+)*[ -]?\d{{1,3}}(?:\.\d+)?[bBmM](?![\w/])", re.I)
    versioned = re.compile(rf"{family}-?\d(?:\.\d)?(?:-?VL|-?Omni|-?Next)?(?![\w/.-])", re.I)
    for form in (sized, versioned):
        for line in speech:
            if found := form.search(line.words):
                return _Name(found[0], span_of(line, found))
    return None


def _size_in_words(speech: Sequence[Line], knowledge: Knowledge) -> Fact | None:
    """``7B`` in words; of several sizes the only one that is called a model's, else none. A card's name is no size."""
    cards = {
        word for gpu in knowledge.gpus.values() for name in (gpu.title, *gpu.aliases) for word in name.lower().split()
    }
    found: dict[float, Fact] = {}
    called: set[float] = set()
    for line in speech:
        for match in _SIZE_WORDS.finditer(line.words):
            if f"{match[1]}b" in cards:
                continue
            value = _plain(float(match[1]))
            found.setdefault(float(value), Fact("params_b", value, "read", written=match[0], span=span_of(line, match)))
            if _CALLED.match(line.words[match.end() :]):
                called.add(float(value))
    sizes = called if len(called) == 1 else set(found)
    return found[sizes.pop()] if len(sizes) == 1 else None


def _params(name: _Name, record: Model | None) -> float | int | None:
    """Billions of parameters by the name, the whole model of a sparse one; else what the record says."""
    words = _MOE_ACTIVE.sub("", name.written)
    found = _PARAMS.search(words.replace("_", "-"))
    if found:
        number = float(found[1].replace("_", ".").replace("-", "."))
        return _plain(number / 1000 if found[2] in "mM" else number)
    return _plain(record.params_b) if record else None


def _plain(number: float) -> float | int:
    return int(number) if float(number).is_integer() else number
