"""Sizes of the models beside the one that is trained, in words: “a 7B reward model”, “teacher 14B”, “奖励模型用 3B”."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line

_ROLES = {
    "params_b": r"(?:\bactor|\bpolicy(?:[ _-]?model)?|\bstudent(?:[ _-]?model)?|策略(?:模型)?|学生模型)",
    "reward_b": r"(?:reward(?:[ _-]?model|(?=\s{0,2}(?:[:：=]|[也都]?是|也)?\s{0,2}\d{1,3}(?:\.\d{1,2})?\s*B\b(?!\s*tokens?)))"
    r"|\bRM\b|奖励模型)",
    "teacher_b": r"(?:teacher(?:[ _-]?model)?|教师(?:模型)?|老师模型)",
    "critic_b": r"(?:critic(?![ -]?(?:free|less))(?:[ _-]?model)?|value model|价值模型)",
}
_SIZE = r"(?P<b>\d{1,3}(?:\.\d{1,2})?)\s*B(?![A-Za-z\d]|\s*tokens?\b)"
_SMALL = r"(?:(?P<b>\d{1,3}(?:\.\d{1,2})?)\s*B|(?P<m>\d{2,3})\s*M)(?![A-Za-z\d])"
_B = rf"(?<![\w.]){_SIZE}"
_NAMED = r"(?:[A-Z][A-Za-z]{2,12}\d?(?:\.\d)?-)?"
_FORMS = {
    id: (
        re.compile(rf"{_B}\s*(?:的\s*)?{role}(?![A-Za-z_])", re.I | re.A),
        re.compile(
            rf"{role}(?![A-Za-z_])(?:\s{{0,2}}(?:\b(?:is|also|of|uses?|has|with|an?|the)\b|也|都|是|为|用|的|有|[:：=(（])){{0,4}}\s{{0,2}}"
            rf"{_NAMED}{_SIZE}",
            re.I | re.A,
        ),
        # the name of a family between them: “reward model Skywork 8B”, “critic opt-350m”
        re.compile(rf"{role}(?![A-Za-z_])[\s:：=]{{1,3}}(?-i:[A-Za-z]{{2,12}}\d?(?:\.\d)?)[- ]{_SMALL}", re.I | re.A),
    )
    for id, role in _ROLES.items()
}
_MOST = 800


def role_sizes(speech: Sequence[Line]) -> dict[str, Fact]:
    """By fact the size that the words tell of a role's model, in billions; nothing of a role with two sizes."""
    found: dict[str, dict[float, Fact]] = {}
    for line in speech:
        for id, match in _places(line.words) if len(line.words) < _MOST else ():
            size = float(match["b"]) if match["b"] else float(match["m"]) / 1000
            fact = Fact(id, size, "read", written=match[0].strip(), span=span_of(line, match))
            found.setdefault(id, {}).setdefault(size, fact)
    return {id: next(iter(sizes.values())) for id, sizes in found.items() if len(sizes) == 1}


def _places(words: str) -> list[tuple[str, re.Match[str]]]:
    """Each size with the role beside it; of “actor 14B critic 7B” the first pair tells which way round they stand."""
    pairs = [(id, match) for id, forms in _FORMS.items() for form in forms for match in form.finditer(words)]
    pairs.sort(key=lambda pair: pair[1].start())
    taken: list[tuple[str, re.Match[str]]] = []
    for id, match in pairs:
        if not taken or match.start() >= taken[-1][1].end():
            taken.append((id, match))
    return taken


def with_role_sizes(stated: Mapping[str, Fact], speech: Sequence[Line]) -> dict[str, Fact]:
    """The facts with these sizes, where nothing else tells them."""
    return {**role_sizes(speech), **stated}
