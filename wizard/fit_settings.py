"""The settings of a run that has not begun: what the calculator's address holds, and what of a diagnosis goes there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from diagnose.knowledge import Knowledge
from diagnose.pipeline import facts_of
from diagnose.types import Diagnosis
from diagnose.vocabulary import FACTS, Value
from wizard import state
from wizard.state import Answers

_REAL = ("real_prompt_length", "real_response_length")
START = Path(__file__).with_name("fit_start.txt").read_text(encoding="utf-8").strip()


def start() -> dict[str, Value]:
    """What the calculator stands on before anybody set anything."""
    return state.read_answers(parse_qsl(START)).values


def read(pairs: list[tuple[str, str]]) -> Answers:
    """The settings of a request. What a failure or a log says is no setting; nodes become cards per node."""
    answers = state.read_answers(pairs)
    values = _on_nodes({id: value for id, value in answers.values.items() if _is_setting(id)})
    errors = {id: cure for id, cure in answers.errors.items() if _is_setting(id)}
    return Answers(values, (), errors, answers.written)


def of_diagnosis(diagnosis: Diagnosis, knowledge: Knowledge) -> dict[str, Value]:
    """The run of a diagnosis as settings: what is certain, and what its text alone made known, a bounded version included.

    A printed capacity stays behind: it was measured, and the card has it in the catalogue. So do lengths that are assumed anew from the
    limits, unless a failure told them.
    """
    facts = diagnosis.facts
    anew = () if facts.failed_row else _REAL
    told = {id: value for id, value in state.certain(diagnosis).items() if _is_setting(id)}
    again = facts_of(told, knowledge).values
    for id in FACTS:
        moved = facts.values.get(id) != again.get(id) and _is_setting(id)
        again_assumed = id in anew and id in facts.stated and facts.stated[id].origin == "assumed"
        if moved and not again_assumed and (value := state.public(id, facts)) is not None:
            told[id] = value
    return _on_nodes(told)


def _is_setting(id: str) -> bool:
    return FACTS[id].group not in ("failure", "measured")


def _on_nodes(values: Mapping[str, Value]) -> dict[str, Value]:
    """The same with cards and cards per node in place of nodes: the form has one number that can be changed alone."""
    nodes, node, cards = (values.get(id) for id in ("n_nodes", "gpus_per_node", "n_gpus"))
    kept = {id: value for id, value in values.items() if id != "n_nodes"}
    if isinstance(nodes, int) and nodes > 0:
        if isinstance(node, int) and "n_gpus" not in values:
            kept["n_gpus"] = nodes * node
        elif isinstance(cards, int) and "gpus_per_node" not in values and cards >= nodes:
            kept["gpus_per_node"] = cards // nodes
    return kept
