"""What a script makes by itself: the optimizer, by its class, what moves that one's state to the host, what wraps the model, and adapters.

A class is an optimizer's where it is handed parameters, or named for one, and what it is assigned to is no critic's. One that stands in a
branch may not be made at all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from diagnose.ingest.python import Place, expression, in_branch

Found = tuple[str, str, str, int, int]  # key, value, shape, and the value's columns

_MADE = re.compile(
    r"(?:(?P<target>[A-Za-z_][\w.]{0,80})(?:[ ]?:[ ]?[\w.\[\]]{1,60})?[ \t]{0,4}=[ \t]{0,4})?"
    r"(?<![\w.])(?P<path>(?:[a-z_]\w{0,60}\.){0,6})(?P<class>[A-Z]\w{1,60})(?=\()",
    re.A,
)
_TARGET = re.compile(r"(?:^|[._])opt(?:im(?:i[sz]er)?)?(?:$|_|\d)", re.I | re.A)
_OF_ANOTHER = re.compile(r"critic|value|(?:^|_)vf|reward|disc|(?:^|_)ref", re.I | re.A)
_CLASS = re.compile(r"Adam|SGD|Optimi[sz]er(?!_?(?:Config|Arg|Param|Spec|Kwarg|Type|Name|Wrapper))", re.A)
_NO_OPTIMIZER = re.compile(r"(?:Config|Args|Arguments|Kwargs|Scheduler|LR|Params|Spec|Names)$", re.A)
_PARAMETERS = re.compile(r"param|group", re.I | re.A)
_FUSED = re.compile(r"\bfused\s{0,4}=\s{0,4}True\b", re.A)
# the values of the state one after another, and one of them put on the host in its place
_STATE = re.compile(r"[ \t]*for\s[\w, ()]{1,80}\sin\s[\w.]{0,80}\.?state(?:\.(?:values|items)\(\))?\s*:", re.A)
_TO_HOST = re.compile(
    r"^[ \t]*[A-Za-z_][\w.]{0,80}(?:\[[^\]\n]{1,80}\]|\.data)[ \t]*=[^=\n][^\n]{0,200}"
    r"\.(?P<host>cpu(?=\()|to(?=\([ \t]*(?:device[ \t]*=[ \t]*)?(?:torch\.device\([ \t]*)?[\"']cpu[\"']))",
    re.A,
)
_ROWS_OF_A_LOOP = 8
# what is called with a model, or a part of one, to spread it over processes
_WRAPPED = re.compile(
    r"(?<![\w.])(?:[a-z_]\w{0,60}\.){0,6}(?P<by>\w{0,40}(?:FSDP|[Ff]ully_?[Ss]hard|DDP|DataParallel)\w{0,40})(?=\([ \t]*"
    r"(?:\w{1,40}\.){0,3}\w{0,40}(?:model|module|policy|actor|layer|block)\w{0,40}[ \t]*(?:[,)]|$)|\($)",
    re.A,
)
_POLICY = re.compile(r"\boffload_policy[ \t]*=[ \t]*(?:\w{1,40}\.){0,4}(?P<policy>[A-Z]\w{1,60})(?=\()", re.A)
# huggingface/peft@5d602fd src/peft/tuners/lora/config.py
_ADAPTERS = re.compile(r"(?<![\w.])(?:peft\.)?(?P<class>LoraConfig)(?=\()", re.A)
_ELSE, _IF = re.compile(r"\belse\s+$", re.A), re.compile(r"\)\s*if\s", re.A)


def made(place: Place) -> Iterable[Found]:
    """The optimizer that a row makes, and that its state is put on the host there."""
    words = place.row.words
    if "(" in words and words.lstrip()[:1] != "#":
        yield from _optimizer(place)
        yield from _wrapped(place)
        yield from _adapters(place)
    if "cpu" in words and (found := _TO_HOST.match(words)) and _of_state(place):
        yield "optimizer_state_moved_to", "cpu", "python", *found.span("host")


def _optimizer(place: Place) -> Iterator[Found]:
    for found in _MADE.finditer(place.row.words):
        # a name that the text sets stands for one class or another
        if not _is_optimizer(found) or in_branch(place) or found["path"] + found["class"] in place.names.sets:
            continue
        whole = expression(place.rows, place.at, found.start("class"))
        given = whole.text.partition("(")[2] if whole else ""
        if not _PARAMETERS.search(given):
            continue
        start, end = found.span("class")
        yield "optimizer_made_as", found["class"], "python", start, end
        if _FUSED.search(given):
            yield "optimizer_made_fused", "true", "python", end, end


def _wrapped(place: Place) -> Iterator[Found]:
    """By what a model is spread over processes, and what that puts on the host."""
    for found in _WRAPPED.finditer(place.row.words):
        if not in_branch(place) and not _OF_ANOTHER.search(place.row.words[: found.start()]):
            yield "model_wrapped_by", found["by"], "python", *found.span("by")
    for found in _POLICY.finditer(place.row.words):
        if not in_branch(place):
            yield "model_offload_policy", found["policy"], "python", *found.span("policy")


def _adapters(place: Place) -> Iterator[Found]:
    """That adapters are made, and whether their rank is left to the class; not those that a condition may leave out."""
    words = place.row.words
    for found in _ADAPTERS.finditer(words):
        whole = expression(place.rows, place.at, found.start())
        text = whole.text if whole else ""
        left_out = _ELSE.search(words[: found.start()]) or _IF.search(text)
        if left_out or in_branch(place) or words.lstrip().startswith("class "):
            continue
        start, end = found.span("class")
        yield "adapters_made_as", found["class"], "python", start, end
        if _leaves_rank(text):
            yield "adapters_of_rank_left_to", found["class"], "python", end, end


def _leaves_rank(call: str) -> bool:
    """Whether a call that is there to its end names no rank, and hands nothing on in which one may stand."""
    try:
        tree = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(tree, ast.Call) and not tree.args and all(one.arg not in (None, "r") for one in tree.keywords)


def _is_optimizer(found: re.Match[str]) -> bool:
    target = found["target"] or ""
    if _NO_OPTIMIZER.search(found["class"]) or _OF_ANOTHER.search(target):
        return False
    return bool(_TARGET.search(target) or _CLASS.search(found["class"]))


def _of_state(place: Place) -> bool:
    """Whether a row stands in a loop over an optimizer's state."""
    indent = _indent(place.row.words)
    for row in reversed(place.rows[max(0, place.at - _ROWS_OF_A_LOOP) : place.at]):
        own = _indent(row.words)
        if row.words.strip() and own < indent:
            if _STATE.match(row.words):
                return True
            indent = own
    return False


def _indent(words: str) -> int:
    return len(words) - len(words.lstrip())
