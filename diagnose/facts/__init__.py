"""Paste and answers → facts: what the shapes mean in the framework and version at hand. Knows no formula."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from diagnose.batch import resolve
from diagnose.facts.bare import is_bare
from diagnose.facts.failing.among import with_traceback
from diagnose.facts.failing.growth import as_kind, longer_rows, of_longer_rows
from diagnose.facts.failing.judges import of_failed_judge, without_role
from diagnose.facts.failing.judges import words_of as of_judge
from diagnose.facts.failing.measured import Readings, read_measured
from diagnose.facts.failing.memory_table import of_table
from diagnose.facts.failing.tenants import own_process
from diagnose.facts.failing.told_growth import told_growth
from diagnose.facts.hardware.machine import MACHINE, gpu_of, read_machine
from diagnose.facts.hardware.told_tenants import nobody_beside, told_tenants, words_of
from diagnose.facts.heard import Heard, hear
from diagnose.facts.models.model import Read, of_model, read_model
from diagnose.facts.models.model_names import alike
from diagnose.facts.models.quantized import with_low_bits, with_quantized
from diagnose.facts.models.role_sizes import with_role_sizes
from diagnose.facts.models.teacher import with_sizes
from diagnose.facts.notes import remarks
from diagnose.facts.roles.engine_first import engine_first
from diagnose.facts.roles.mapped import engine_place, role_places
from diagnose.facts.roles.moved_engine import moved_engine
from diagnose.facts.roles.told_splits import with_splits
from diagnose.facts.sentences.numerals import in_digits
from diagnose.facts.sentences.offload_words import offload_words
from diagnose.facts.sentences.run_words import run_words
from diagnose.facts.sentences.spoken_keys import in_words, spoken_keys
from diagnose.facts.sentences.switched_keys import with_switches
from diagnose.facts.settings.agreed import agreed
from diagnose.facts.settings.answers import parse_answer, read_answers
from diagnose.facts.settings.at_odds import of_another_trainer
from diagnose.facts.settings.banner import trained
from diagnose.facts.settings.by_default import by_default
from diagnose.facts.settings.encoded import encoded
from diagnose.facts.settings.engine_config import of_engine_alone
from diagnose.facts.settings.keys import KeyFacts, read_keys
from diagnose.facts.settings.memory_keys import run_config
from diagnose.facts.settings.proven import known, left_open
from diagnose.facts.settings.shared import with_shared
from diagnose.facts.settings.spelling import normal
from diagnose.facts.trainer.algo import read_algo, supervised
from diagnose.facts.trainer.datasets import with_lengths
from diagnose.facts.trainer.framework import Detected, detect
from diagnose.facts.trainer.only_loads import only_loads
from diagnose.facts.trainer.shipped import file_of, of_machine, with_shipped
from diagnose.facts.trainer.training import read_training
from diagnose.facts.trainer.trains import read_trains, without_training
from diagnose.facts.trainer.versions import version_of
from diagnose.facts.tried import read_tried
from diagnose.facts.whose_run.almost import words_alone
from diagnose.facts.whose_run.former import without_former
from diagnose.facts.whose_run.quoted import without_quoted
from diagnose.ingest.bars import without_figures
from diagnose.knowledge import Knowledge
from diagnose.knowledge.hardware import Model
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Facts, Paste
from diagnose.vocabulary import Value

__all__ = ["parse_answer", "read_facts"]

# What a key means may hang on these, which words or commands tell.
_CHOOSE = ("algo", "trains")
# Without a framework these say that something was trained, so that the plain plan applies.
_TRAINING = (
    "algo",
    "micro_batch",
    "train_batch_size",
    "zero_stage",
    "full_or_lora",
    "gradient_checkpointing",
    "optimizer",
)
_BY_LINK = "nobody had told it when the link was made"


def read_facts(
    paste: Paste,
    answers: Mapping[str, Value],
    knowledge: Knowledge,
    *,
    command_alone: bool = False,
    assumed: Collection[str] = (),
) -> Facts:
    """Everything that the paste and the answers make known. An answer outranks the paste, a key the words, a traceback both.

    ``command_alone`` says of answers without a paste that they are what a launch command alone told, ``assumed`` names those of them
    that nobody gave.
    """
    own = without_quoted(of_failed_judge(paste, knowledge.engines))
    facts = with_traceback(_read(own, answers, knowledge), own)
    facts = replace(facts, stated={**facts.stated, **_taken(facts, assumed)})
    like = alike(facts.unknown_model, knowledge.catalogue)
    return replace(facts, alike=like, command_alone=is_bare(paste, facts, command_alone))


def _taken(facts: Facts, assumed: Collection[str]) -> dict[str, Fact]:
    """The answers that nobody gave, as assumptions."""
    given = {id: fact for id in assumed if (fact := facts.stated.get(id)) is not None and fact.origin == "answered"}
    return {id: replace(fact, origin="assumed", why=_BY_LINK) for id, fact in given.items()}


def _read(paste: Paste, answers: Mapping[str, Value], knowledge: Knowledge) -> Facts:
    answered, refused = _answers(paste, answers, knowledge)
    heard = hear(paste, detected := detect(paste, answered.get("framework"), knowledge), answered, knowledge)
    version = version_of(detected.framework, detected.fork, heard.paste, answered.get("framework_version"))
    keyed = _keys(heard, detected, version, answered, knowledge)
    stated = {**heard.failed, **heard.captured, **keyed.stated, **answered, **_identity(detected, version)}
    model = _run(stated, heard, answered, detected, knowledge)
    if chosen := _told_by_words(stated, {**keyed.stated, **answered}):
        before, keyed = keyed, _keys(heard, detected, version, {**answered, **chosen}, knowledge)
        stated = _exchanged(stated, before, keyed, {**model.facts, **answered})
    stated = with_low_bits(with_role_sizes(_on_machine(stated, heard, detected, knowledge), heard.speech))
    readings, framework = _measure(stated, heard, answered, knowledge), _plan(detected, model, stated, knowledge)
    stated, versions, keyed = by_default(stated, framework, version, keyed, heard.paste, detected.fork)
    sets, stated = with_lengths(_begun(stated, model.model, knowledge), knowledge.datasets)
    told = remarks(detected, version, keyed, stated, heard.proven, heard.speech, knowledge.gpus, model.model)
    return Facts(
        stated=stated,
        values=resolve(stated),
        framework=framework,
        fork=detected.fork,
        model=model.model,
        gpu=gpu_of(stated, knowledge.gpus),
        keys=keyed.keys,
        units=keyed.units,
        untold=keyed.untold,
        dead_keys=frozenset((*keyed.dead, *detected.ignored)),
        config=run_config(heard.paste, heard.speech, detected.framework, knowledge),
        hits=heard.hits,
        measured=readings.of(),
        growth=readings.growth(),
        tried=(*heard.tried, *read_tried(heard.speech, knowledge, framework)),
        versions=versions,
        candidates=detected.candidates,
        unknown_model=model.unknown,
        datasets=sets,
        notes=(*encoded(paste.lines), *refused, *readings.notes, *of_judge(paste), *told),
        shipped=file_of(framework, heard.paste),
    )


def _answers(
    paste: Paste, answers: Mapping[str, Value], knowledge: Knowledge
) -> tuple[dict[str, Fact], tuple[str, ...]]:
    """The answers as facts, and what a person should know of those that were refused or that the command denies."""
    answered, refused = read_answers(answers, knowledge)
    return answered, (*refused, *of_another_trainer(answered.get("framework"), paste, knowledge))


def _begun(stated: dict[str, Fact], model: Model | None, knowledge: Knowledge) -> dict[str, Fact]:
    """With the sizes of all models; where a failure is told, without the question whether it fits: that is asked of the next run."""
    sized = without_training(with_quantized(with_sizes(stated, knowledge), model))
    return {id: fact for id, fact in sized.items() if id != "planned" or "oom_kind" not in sized}


def _keys(
    heard: Heard, detected: Detected, version: Fact | None, told: Mapping[str, Fact], knowledge: Knowledge
) -> KeyFacts:
    """By the framework's keys; while several are possible, what all of them read alike."""
    paste, proven = heard.paste, heard.proven
    named = {"framework": detected.fact} if detected.fact else {}
    number_told = _identity(Detected(), version) if version and version.origin == "answered" else {}
    sure = {**named, **known(proven), **told, **number_told}
    plan = detected.framework or (knowledge.fallback if not detected.candidates else None)
    if detected.ignored:
        left = (one for one in paste.settings if normal(one.key) not in detected.ignored)
        paste = replace(paste, settings=tuple(left))
    if plan is not None:
        number = str(version.value) if version else None
        paste = of_engine_alone(paste, heard.hits, plan)
        paste = with_splits(with_switches(paste, heard.speech, plan), heard.speech, plan)
        keyed = read_keys(paste, plan, number, sure, version is None or version.certain, proven)
        return with_shared(keyed, paste, plan, number, sure)
    readings = [read_keys(paste, knowledge.frameworks[slug], None, sure, proven=proven) for slug in detected.candidates]
    return KeyFacts(stated=agreed(readings))


def _told_by_words(stated: Mapping[str, Fact], otherwise: Mapping[str, Fact]) -> dict[str, Fact]:
    return {id: stated[id] for id in _CHOOSE if id in stated and id not in otherwise}


def _exchanged(
    stated: Mapping[str, Fact], before: KeyFacts, now: KeyFacts, named: Mapping[str, Fact]
) -> dict[str, Fact]:
    """What a key means may hang on the algorithm, or on that nothing is trained: the keys are read again, what they no longer say goes."""
    kept = {id: fact for id, fact in stated.items() if before.stated.get(id) is not fact or id in now.stated}
    exchanged = {**now.stated, **kept}
    return exchanged if "model" in named else {id: fact for id, fact in exchanged.items() if id != "model"}


def _measure(stated: dict[str, Fact], heard: Heard, answered: Mapping[str, Fact], knowledge: Knowledge) -> Readings:
    """What the log measured: lengths become facts where no key and no answer says them, a leak the kind of failure."""
    values = {id: fact.value for id, fact in stated.items()}
    readings = read_measured(heard.paste, heard.lowered, knowledge.logs, values)
    for id, fact in readings.facts.items():
        stated.setdefault(id, fact)
    if (own := own_process(heard.paste, stated)) is not None:
        stated.setdefault(own.id, own)
    stated |= of_table(heard.paste.lines, stated)
    if "others_gib" not in stated and (others := told_tenants(heard.speech, stated)) is not None:
        stated[others.id] = others
        readings.notes[words_of(others)] = None
    elif (alone := nobody_beside(heard.speech, stated)) is not None:
        stated.setdefault(alone.id, alone)
    readings.told = told_growth(heard.speech, stated)
    said, grown, lengths = stated.get("oom_kind"), readings.growth(), readings.lengths()
    if (rows := of_longer_rows(said, grown, lengths, heard.hits)) is not None:
        readings.notes[longer_rows(lengths)] = None
    kind = rows or as_kind(said, grown, heard.speech, told=readings.told is not None)
    if kind and "oom_kind" not in answered:
        stated["oom_kind"] = kind
    return readings


def _identity(detected: Detected, version: Fact | None) -> dict[str, Fact]:
    return {fact.id: fact for fact in (detected.fact, version) if fact is not None}


def _run(
    stated: dict[str, Fact],
    heard: Heard,
    answered: Mapping[str, Fact],
    detected: Detected,
    knowledge: Knowledge,
) -> Read:
    """Model, algorithm and training mode; what is answered stays."""
    paste, speech, framework = heard.paste, heard.speech, detected.framework
    named = read_model(paste, spoken := without_role(paste, speech), stated, knowledge)
    model = with_shipped(named, paste, spoken, framework or _of_forks(detected, knowledge), stated, knowledge)
    if model.model is not None:
        stated |= of_model(model.model, stated)
    if "model" not in answered and "model" not in model.facts:
        stated.pop("model", None)
    idle = read_trains(paste, speech, framework, knowledge, stated)
    found = [
        *model.facts.values(),
        read_algo(paste, speech, stated, framework),
        None if idle else read_training(paste, speech, stated, framework),
        *idle.values(),
        *(engine_place(paste), engine_first(paste), *role_places(paste)),
        moved_engine(speech, stated),
        only_loads(paste, speech, stated),
    ]
    for fact in found:
        if fact is not None and fact.id not in answered:
            stated[fact.id] = fact
    if not idle and (tuned := supervised(paste, stated, framework)):
        stated["algo"] = tuned
    if "full_or_lora" not in stated and (share := trained(paste.lines, stated)):
        stated["full_or_lora"] = share
    now = tuple(in_digits(replace(line, words=without_figures(line.words))) for line in without_former(speech))
    alone = words_alone(paste)
    told = spoken_keys(now, stated, framework, alone=alone) | run_words(now, stated, framework, alone=alone)
    told = in_words(told, heard.paste, framework)
    for id, fact in (told | offload_words(speech, framework, stated, paste)).items():
        stated.setdefault(id, fact)
    stated |= left_open(heard.proven, stated)
    return model


def _of_forks(detected: Detected, knowledge: Knowledge) -> Framework | None:
    """The framework by whose keys a trainer is read that has none of its own."""
    return knowledge.fallback if detected.fork else None


def _on_machine(stated: Mapping[str, Fact], heard: Heard, detected: Detected, knowledge: Knowledge) -> dict[str, Fact]:
    """What is told of the machine; where nobody else names a card, by a file's name or the comments of a configuration file too."""
    others = {id: fact for id, fact in stated.items() if id not in MACHINE}
    told = dict[str, Fact]()
    for one in of_machine(heard, detected.framework or _of_forks(detected, knowledge)):
        told = read_machine(one.paste, one.lowered, one.speech, stated, one.captured, knowledge)
        if "gpu_model" in told:
            break
    return with_sizes(others | told, knowledge)


def _plan(detected: Detected, model: Read, stated: Mapping[str, Fact], knowledge: Knowledge) -> Framework | None:
    """The framework whose memory plan applies: the plain one where a run is described and nothing names a framework."""
    idle = stated.get("trains")
    if idle is not None and any(literal in idle.written for literal in knowledge.engines):
        return knowledge.fallback  # an engine for anybody takes its own keys, whatever it is started for
    if detected.framework is not None or detected.candidates:
        return detected.framework
    if idle is not None:
        return knowledge.fallback
    trains = detected.fork is not None or any(id in stated for id in _TRAINING)
    described = (model.model is not None or "params_b" in stated) and trains
    of_its_own = detected.fork is not None and bool(
        detected.fork.facts
    )  # what such a trainer always does hangs on no model
    return knowledge.fallback if described or of_its_own else None
