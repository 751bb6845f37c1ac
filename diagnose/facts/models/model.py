"""The model: a key's value, a path, or words. The value is as the person wrote it, without organisation and path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.models.config_json import of_config, params_of_config
from diagnose.facts.models.experts import by_sizes
from diagnose.facts.models.model_names import NAMED, SIZE_IN_NAME, Name, aliases, find_model, packed, params_of
from diagnose.facts.models.model_sizes import size_in_words, size_of_script
from diagnose.facts.models.model_words import of_family, of_words
from diagnose.facts.models.reward_names import without_reward_models
from diagnose.facts.models.shape_flags import of_flags
from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Model, Models
from diagnose.types import Fact, Line, Paste, Setting, Span

_MODEL_KEYS = re.compile(
    r"(?:^|[._])(?:model|model_path|model_name|model_name_or_path|base_model|actor_path|pretrain|pretrained?_model"
    r"|policy_model|partial_pretrain|model_id|hf_checkpoint)$"
    r"|model\.path$|model\.model_path$",
    re.A,
)
_NOT_THE_ACTOR = re.compile(r"reward|critic|ref_|teacher|judge|embed|retriev|draft|value|tokenizer|\brm_", re.A)
# settings that name a model beside the trained one, or what reads a model's answers
_OF_ANOTHER = re.compile(r"reward|judge|teacher|embed|retriev|draft|genrm|parser", re.A)
# what a run is called and where it writes to: words of a person's own
_OF_THE_RUN = re.compile(
    r"(?:^|[._])(?:(?:log|logging|output|save|ckpt|checkpoint|checkpointing)_?(?:dir|path)"
    r"|(?:experiment|exp|run|trial|project|group|wandb|swanlab)(?:_name|\.name|$))$",
    re.A,
)
_OF_CODE = re.compile(r"(?:^|\.)(?:model_type|architectures)\b", re.A)
_TYPE = re.compile(r"[-_](?:bf16|fp8)(?=$|[-_])", re.I | re.A)
_FILE_WORD = re.compile(r"\.(?:py|sh|ya?ml|json|jsonl|txt|toml)$|[$={}]", re.A)
# the configurations of a trainer that names them by family and size: llama3_1/8B_full
_RECIPE = re.compile(r"([a-z]+\d*(?:_\d+)?)/(\d+(?:\.\d+)?[BM])_(?:full|lora|qlora|dora|qat|qdora|ppo)", re.A)
_BEFORE_CARDS = re.compile(r"[a-z]{2,20}-([a-z][\w.-]{1,60}?)-\d{1,3}n[1248]g(?![a-z0-9])", re.I | re.A)
_PRETRAINED = re.compile(r"(?:^|,)pretrained=([^,\s]{1,200})", re.A)
_BARE_WORDS = 3  # behind the engine's own words
_HUB = re.compile(r"^[A-Za-z][\w.\-]*/(?P<name>[A-Za-z][\w.\-]*)$", re.A)


@dataclass(frozen=True, slots=True)
class Read:
    """What the text says of the model; ``unknown`` is a name that the catalogue does not hold."""

    facts: Mapping[str, Fact]
    model: Model | None = None
    unknown: str = ""


def read_model(paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact], knowledge: Knowledge) -> Read:
    """Model and size by an answer, a key, the words, or a pasted config.json."""
    models = knowledge.catalogue
    given = stated.get("model")
    if given is not None and given.origin == "answered":
        return _of_answer(given, stated, models, knowledge)
    pasted = of_config(paste, knowledge.models.values()) or of_flags(paste)
    speech = without_reward_models(paste, _without_types(paste, speech) if pasted else speech, stated)
    speech, own = _apart(paste, speech)
    served = tuple(_of_server(paste, models, knowledge.engines))
    names = [
        *_of_keys(paste, models, given),
        *(served or _of_places(paste, models)),
        *_unless_of_run(paste, of_words(speech, models)),
        *map(_folder, of_words(own, models)),
    ]
    best = _best(names) or _of_folder(names, knowledge)
    if pasted is None:  # config.json names a family by its type
        best = best or _of_type(paste, names, knowledge) or of_family(speech, models, _trainers(knowledge))
    if best is None:
        told, usual = by_sizes(speech, models)
        if told and pasted is None:
            return Read(told, usual, "")
        size = size_in_words(speech, knowledge)
        folder = next((name.written for name in names if not name.certain), "")
        size = params_of_config(pasted) if pasted else size or (None if folder else size_of_script(paste))
        return Read({"params_b": size} if size else {}, pasted, folder)
    best = _in_its_type(best, names)
    facts = {"model": Fact("model", best.written, "read", "", best.key, best.written, best.span)}
    record = knowledge.models.get(best.slug) if best.slug else None
    params = params_of(best, record)
    if params is None and (size := size_in_words(speech, knowledge)) is not None:
        facts["params_b"] = size
    elif params is not None:
        facts["params_b"] = Fact("params_b", params, "read", written=best.written, span=best.span)
    return Read(facts, record or pasted, "" if record else best.written)


def _without_types(paste: Paste, speech: Sequence[Line]) -> list[Line]:
    """The lines without those by which a config.json tells whose code runs it, which may be that of a model of another size."""
    kinds = {setting.span.line for setting in paste.settings if _OF_CODE.search(setting.key)}
    return [line for line in speech if line.number not in kinds]


def _apart(paste: Paste, speech: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines without those of a configuration file that are about another model, and apart those that call the run by a name."""
    keys = {setting.span.line: normal(setting.key) for setting in paste.settings if setting.shape == "yaml"}
    lines = [line for line in speech if not _OF_ANOTHER.search(keys.get(line.number, ""))]
    own = [line for line in lines if _OF_THE_RUN.search(keys.get(line.number, ""))]
    named = {line.number for line in own}
    return [line for line in lines if line.number not in named], own


def _unless_of_run(paste: Paste, names: Sequence[Name]) -> Iterator[Name]:
    """The names; one within what a setting calls the run, or writes to, stands for a model of the catalogue at most."""
    own = [one.span for one in paste.settings if one.shape != "yaml" and _OF_THE_RUN.search(normal(one.key))]
    for name in names:
        if not any(_within(name.span, place) for place in own):
            yield name
        elif name.slug:
            yield _folder(name)


def _within(span: Span | None, other: Span) -> bool:
    return span is not None and span.line == other.line and other.start <= span.start and span.end <= other.end


def _folder(name: Name) -> Name:
    return replace(name, certain=False)


def _best(names: list[Name]) -> Name | None:
    """The configured model; a person's own name for the same model is kept where the key holds only a folder's name."""
    certain = [name for name in names if name.certain]
    certain = [name for name in certain if not name.aside] or certain
    if certain and certain[0].key:
        return certain[0]
    if not certain:
        return None
    folders = [name for name in names if not name.certain and name.slug]
    return next((name for name in certain if folders and name.slug == folders[0].slug), certain[0])


def _of_folder(names: list[Name], knowledge: Knowledge) -> Name | None:
    """A folder's name that begins like a model of the catalogue stands for that model, under the catalogue's name."""
    slugs = {name.slug for name in names if name.slug and not name.certain}
    if len(slugs) != 1:
        return None
    name = next(name for name in names if name.slug)
    return Name(knowledge.models[name.slug].title, name.span, name.key, slug=name.slug)


def _in_its_type(best: Name, names: list[Name]) -> Name:
    """The name with the type of numbers that the checkpoint's folder tells and the model's own name leaves out."""
    folders = (name for name in names if name.key and not name.certain and name.slug == best.slug != "")
    found = next((type for name in folders if (type := _TYPE.search(name.written))), None)
    return replace(best, written=best.written + found[0]) if found and not _TYPE.search(best.written) else best


def _of_type(paste: Paste, names: list[Name], knowledge: Knowledge) -> Name | None:
    """A key that names the kind of model, alone or with the size that the folder's name holds."""
    models = knowledge.catalogue
    sizes = [found for name in names if (found := SIZE_IN_NAME.search(re.sub(r"[_-]", " ", name.written)))]
    for setting in paste.settings:
        if normal(setting.key).rsplit(".", 1)[-1] == "model_type":
            kind = written.bare(setting.value)
            sized = [f"{kind}-{found[1]}{found[2]}" for found in sizes[:1]]
            slug = next((slug for form in (kind, *sized) if (slug := aliases(models).get(packed(form), ""))), "")
            if slug:
                record = knowledge.models[slug]
                title = next((name for name in record.aliases if packed(name) == packed(kind)), record.title)
                return Name(title, setting.span, setting.key, slug=slug)
    return None


def _trainers(knowledge: Knowledge) -> tuple[str, ...]:
    """Names of trainers, which a size may follow as it follows a model's name."""
    return tuple(
        name for framework in knowledge.frameworks.values() for name in (framework.title, *framework.detect.names)
    )


def _of_answer(given: Fact, stated: Mapping[str, Fact], models: Models, knowledge: Knowledge) -> Read:
    name = str(given.value).rsplit("/", 1)[-1]
    slug = find_model(name, models)
    record = knowledge.models.get(slug)
    params = params_of(Name(name, None, slug=slug), record)
    facts: dict[str, Fact] = {}
    if params is not None and "params_b" not in stated:
        facts["params_b"] = Fact("params_b", params, "derived", why=f"the name {given.value}")
    return Read(facts, record, "" if record else str(given.value))


# --- keys


def _of_keys(paste: Paste, models: Models, given: Fact | None) -> Iterator[Name]:
    """The value of the framework's model key first, then of keys that are named like one."""
    settings = [setting for setting in paste.settings if given is not None and setting.span == given.span]
    for setting in (*settings, *reversed(paste.settings)):
        key = normal(setting.key)
        if setting in settings or (_MODEL_KEYS.search(key) and not _NOT_THE_ACTOR.search(key)):
            yield from _of_path(setting, models)


def _of_places(paste: Paste, models: Models) -> Iterator[Name]:
    """A model of the catalogue that the only command takes by its place, or inside one argument (``pretrained=…,dtype=…``)."""
    if len(paste.commands) > 1:
        return
    for setting in paste.settings:
        recipe = _RECIPE.match(setting.value) if setting.key == "config" else None
        inside = _PRETRAINED.search(setting.value)
        part = f"{_dotted(recipe[1])}-{recipe[2]}" if recipe else inside[1].rpartition("/")[2] if inside else ""
        part = part or _of_recipes(setting, models)
        if part and (slug := find_model(part, models)):
            yield Name(part, setting.span, slug=slug)
    for command in paste.commands:
        line = paste.line(command.first_line)
        for word in command.words[1:]:
            part, start = word.rstrip("/").rpartition("/")[2], line.text.find(word) if line else -1
            if not _FILE_WORD.search(word) and NAMED.fullmatch(part) and (slug := find_model(part, models)):
                yield Name(part, Span(command.first_line, start, start + len(word)) if start >= 0 else None, slug=slug)


def _of_recipes(setting: Setting, models: Models) -> str:
    """A model's whole name that a configuration file bears: its folder, ``recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml``, or its own
    name before nodes and cards, ``grpo-qwen2.5-7b-instruct-4n8g-megatron.yaml``."""
    if setting.key != "config" or not setting.value.endswith((".yaml", ".yml")):
        return ""
    *folders, file = setting.value.split("/")
    before = _BEFORE_CARDS.match(file)
    names = (*folders, before[1]) if before else folders
    return next((one for one in names if NAMED.fullmatch(one) and packed(one) in aliases(models)), "")


def _dotted(family: str) -> str:
    """``llama3_1`` as ``llama3.1``."""
    return re.sub(r"(?<=\d)_(?=\d)", ".", family)


def _of_server(paste: Paste, models: Models, engines: tuple[str, ...]) -> Iterator[Name]:
    """What an engine is told to serve by a bare word, where no other command tells of a training."""
    words = [f"{' '.join(command.words)} " for command in paste.commands]
    if not words or not all(any(engine in one for engine in engines) for one in words):
        return
    lines = {line.number: line.text for line in paste.lines}
    for command, one in zip(paste.commands, words, strict=True):
        engine = next(engine for engine in engines if engine in one)
        for word in one.partition(engine)[2].split()[:_BARE_WORDS]:
            number = next(
                (at for at in range(command.first_line, command.last_line + 1) if word in lines.get(at, "")), 0
            )
            if number and ("/" in word or find_model(word, models)):
                start = lines[number].index(word)
                yield from _of_path(Setting("", word, "flag", Span(number, start, start + len(word))), models)


def _of_path(setting: Setting, models: Models) -> Iterator[Name]:
    """The last part of a path that names a model; a part with other words around the name is a folder."""
    value = written.bare(setting.value)
    if "$" in value:  # the folder is a variable that nothing sets; what stands behind it may still name the model
        value = value.rpartition("$")[2].partition("/")[2]
    if written.not_set(value) or "://" in value or written.truth(value) is not None:
        return
    hub = _HUB.match(value) if value == written.bare(setting.value) else None
    parts = [part for part in value.replace("--", "/").split("/") if part]
    for part in reversed(parts):
        slug = find_model(part, models)
        if packed(part) in aliases(models) or (slug and NAMED.fullmatch(part)):
            yield Name(part, setting.span, setting.key, slug=slug)
            return
        if NAMED.fullmatch(part) and not re.match(
            r"(?:checkpoint|global_step|base|model|ckpt|exp|run)\b", part, re.I | re.A
        ):
            yield Name(part, setting.span, setting.key)
            return
        if slug:
            yield Name(part, setting.span, setting.key, certain=False, slug=slug)
            return
    if hub:
        yield Name(hub["name"], setting.span, setting.key, slug=find_model(hub["name"], models))
    elif parts and not value.endswith((".py", ".json", ".yaml")):
        yield Name(parts[-1], setting.span, setting.key, certain=False)


def of_model(model: Model, stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """What the record of the model tells of every run with it; how large an image's token is may be ``stated`` otherwise."""
    known = {"multimodal": model.vision is not None}
    known |= {"fp16_overflows": True} if model.fp16_overflows else {}
    known |= {"unpatched": True} if model.unpatched else {}
    known |= {"images_one_size": True} if model.vision and model.vision.one_size else {}
    known |= {"images_tiled": True} if model.vision and model.vision.tile else {}
    found = {id: Fact(id, value, "derived", why=model.title) for id, value in known.items()}
    if model.vision is not None and "pixels_per_token" not in stated:
        each = model.vision.pixels_per_token
        found["pixels_per_token"] = Fact("pixels_per_token", each, "derived", why=model.title)
    return found
