"""What else must be written with a key: its other spellings, what the framework asks for beside it, the same setting of other roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from diagnose.facts.hardware.launcher import by_torch
from diagnose.facts.settings.spelling import normal
from diagnose.facts.settings.written import not_set, number, truth
from diagnose.knowledge.records import Key
from diagnose.prescribe.situation import Situation
from diagnose.types import Change, Setting


def company(situation: Situation, change: Change, key: Key) -> Iterator[Change]:
    """Every further change that goes with the change of this key."""
    yield from _same_setting_elsewhere(situation, change, key)
    yield from _along(situation, change, key)
    yield from _alike(situation, change, key)
    yield from _times(situation, change, key)


def as_call(situation: Situation, change: Change, key: Key) -> Change:
    """The change as the person's own script makes it, where that calls Python and takes no such flag: ``peft_config=LoraConfig()``.

    Of a key in a launcher's file it is what the trainer itself takes, where another launcher starts the run and reads no such file.
    """
    name, _, value = key.call.get(change.after, "").partition("=")
    if not name or change.span is not None:
        return change
    meant = by_torch(situation.paste) if key.new_in == "nowhere" else _calls_python(situation)
    return replace(change, key=name, after=value) if meant else change


def _calls_python(situation: Situation) -> bool:
    """Whether the run is configured by calls in a script of the person's own, and none of the trainer's flags is given."""
    framework = situation.facts.framework
    keys = framework.keys if framework else ()
    known, of_launcher = set[str](), set[str]()
    for key in keys:
        names = of_launcher if key.new_in in ("file", "nowhere") else known
        names.update(normal(name) for name in (key.key, *key.aliases))
    shapes = {one.shape for one in situation.paste.settings if normal(one.key) in known - of_launcher}
    return "python" in shapes and not shapes - {"python", "env"}


def broken(situation: Situation, change: Change, key: Key) -> str:
    """Why a change leaves no whole number of what it is multiplied by, such as engines; empty where it does."""
    there, left = _multiplied(situation, change, key)
    if there is None or left is None or (left >= 1 and left == int(left)):
        return ""
    return f"{there.key} = {there.value} would have to be {left:g} for the cards to stay as many."


def _times(situation: Situation, change: Change, key: Key) -> Iterator[Change]:
    """The number of engines, so that all of them together keep their cards."""
    there, left = _multiplied(situation, change, key)
    if there is not None and left is not None and left >= 1 and left == int(left):
        yield Change(change.fact, there.key, there.value, f"{left:g}", there.span)


def _multiplied(situation: Situation, change: Change, key: Key) -> tuple[Setting | None, float | None]:
    """The setting that is multiplied with this one, and its number once this one has changed; None where either is unknown."""
    there = next((one for name in key.times if (one := _pasted(situation, name))), None)
    many = number(there.value) if there else None
    before, after = number(change.before or "1"), number(change.after)
    return there, many * before / after if many and before and after else None


def _same_setting_elsewhere(situation: Situation, change: Change, key: Key) -> list[Change]:
    """Aliases that the paste sets to the same value, such as one log-prob size for the actor and one for the reference."""
    if change.span is None:
        return []
    names = {key.key, *key.aliases} - {change.key}
    home = next((setting for setting in situation.paste.settings if setting.span == change.span), None)
    return [
        Change(change.fact, setting.key, setting.value, change.after, setting.span)
        for setting in situation.paste.settings
        if setting.key in names and setting.value == change.before and _together(setting, home)
    ]


def _along(situation: Situation, change: Change, key: Key) -> list[Change]:
    """The keys without which the framework refuses the new word, where the paste leaves them unset, off, or not at the zero they need."""
    words = {written.lower(): beside for written, beside in key.along.items()}
    changes, beside = [], words.get(change.after.lower(), words.get("*", {}))
    for name, value in beside.items():
        there = _pasted(situation, name)
        if there is None:
            changes.append(Change(change.fact, name, None, value))
        elif _to_be_on(there.value, value):
            on = "True" if there.value == "False" else value
            changes.append(Change(change.fact, there.key, there.value, on, there.span))
        elif not_set(there.value) or _to_be_zero(there.value, value):
            changes.append(Change(change.fact, there.key, there.value, value, there.span))
    return changes


def _alike(situation: Situation, change: Change, key: Key) -> Iterator[Change]:
    """The same word for other roles that share what it sets, whatever they say; of one that is there also where nothing is said."""
    led = any(same_key(change.key, name) for name in key.leads)  # what is in force stands at another role's key
    for name, present in {**({key.key: ""} if led else {}), **key.alike}.items():
        there = _pasted(situation, name)
        if there is not None and there.value != change.after and there.span != change.span:
            yield Change(change.fact, there.key, there.value, change.after, there.span)
        elif there is None and present and situation.values.get(present) is True:
            yield Change(change.fact, name, None, change.after)


def _pasted(situation: Situation, name: str) -> Setting | None:
    """The setting of a key, also without the head of its path; in a file that has heads a name at its top is one of its own."""
    settings = situation.paste.settings
    headed = any(one.shape == "yaml" and "." in one.key for one in settings)
    found = (one for one in reversed(settings) if same_key(one.key, name))
    return next(
        (one for one in found if "." in one.key or "." not in name or not (headed and one.shape == "yaml")), None
    )


def _to_be_zero(pasted: str, needed: str) -> bool:
    """Whether another number stands where none but zero is taken."""
    return number(needed) == 0 and number(pasted) not in (None, 0)


def _to_be_on(pasted: str, needed: str) -> bool:
    """Whether a switch is off, as the print of all arguments shows it, that has to be on."""
    return truth(needed) is True and truth(pasted) is False


def same_key(pasted: str, name: str) -> bool:
    """Whether a key of the paste is this one: in dashes or underscores, also without the head of its path."""
    return f".{normal(name)}".endswith(f".{normal(pasted)}")


def _together(setting: Setting, home: Setting | None) -> bool:
    return home is None or (setting.command == home.command and setting.shape == home.shape)
