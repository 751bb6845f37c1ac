"""Settings of which a clause says that they were tried, are advised or asked about."""

from __future__ import annotations

import re

from diagnose.facts.sentences.prose import asked, clause_of, one_of_several
from diagnose.facts.tried import failed_after
from diagnose.types import Paste

ALMOST = re.compile(
    r"\b(?:tried(?! to allocate)|try|should|could|would|if|whether|instead of|previous\w*"
    r"|before(?!\s+(?:the\s+|any\s+|first\s+){0,2}(?:steps?|training|epoch|iteration|rollout)\b)|need|recommend\w*|suggest\w*"
    r"|or|does|do|maybe)\b|要不要|该不该|试过?|换成|建议|应该|如果|需要|吗|或者?",
    re.I | re.A,
)
# a question of memory, beside which what the run is to have is told
_WHETHER_IT_FITS = re.compile(
    r"够不够用?|够用?[吗么嘛]|(?:能|可以)(?:[用拿在][^。；;，,]{0,30})?\s*(?:跑|训|放)[^。；;，,]{0,20}[吗么嘛]|会不会\s*(?:爆|炸|OOM)\S*|[放装]得下[吗么嘛]?"
    r"|\b(?:will|would|does|do|is|are|can|could)\b(?:[^.?!]|\.(?=\d)){0,60}\b(?:fit|enough|sufficient|oom)\b"
    r"|\b(?:can|could) (?:i|we|one) (?:\w+ )?(?:run|train|fine-?tune|do|grpo|ppo|dpo|sft|q?lora)\b"
    r"|\bhow (?:much|many)\s+(?:[\w-]+\s+){1,3}(?:do|does|would|will|should|is|are)\s+(?:[\w-]+\s+){0,3}"
    r"(?:need(?:ed)?|take|require[ds]?|necessary)\b"
    r"|(?:需要|要)\s*(?:多少|多大|几)\s*[张块]?\s*(?:[gG][bB]?\s*)?(?:的)?\s*(?:显存|显卡|卡|GPU)",
    re.I | re.A,
)
_SENTENCE_END = re.compile(r"[。；;！!？?\n]|\.(?=\s)", re.A)
_BEFORE = 240  # characters that such a sentence may reach back
_CONFIGURED = 3  # settings; more of them are those of a run
_TRIED = re.compile(r"\b(?:tried|trying)\b(?! to allocate)|试[过了]*|换成了?", re.I | re.A)


def almost(words: str, found: re.Match[str]) -> bool:
    """Whether the clause says that it was tried, is advised or asked about."""
    if one_of_several(words, found.end()):
        return True
    start, clause = clause_of(words, found)
    fits = _WHETHER_IT_FITS.search(clause)
    if fits is None or found[0] in fits[0]:
        told = not asked(words, start, clause) or (fits is None and _of_such_a_question(words, start))
        return bool(ALMOST.search(clause)) or not told
    return bool(ALMOST.search(clause.replace(fits[0], "")))


def _of_such_a_question(words: str, start: int) -> bool:
    """Whether a clause before this one, in the same sentence, asks of memory: this one goes on telling what the run is to have."""
    before = words[max(0, start - _BEFORE) : start]
    ends = [end.end() for end in _SENTENCE_END.finditer(before)]
    return bool(_WHETHER_IT_FITS.search(before, ends[-1] if ends else 0))


def in_vain(words: str, found: re.Match[str]) -> bool:
    """Whether it was tried and the run failed all the same: “zero3 也试了还是不行”, “tried ZeRO-3, still OOM”."""
    start, clause = clause_of(words, found)
    rest = _TRIED.sub(" ", clause)
    if rest == clause or ALMOST.search(rest) or asked(words, start, clause):
        return False
    return failed_after(words, found)


def words_alone(paste: Paste) -> bool:
    """Whether words alone tell of the run: what was tried beside a command or a configuration is another run."""
    return not paste.commands and len(paste.settings) <= _CONFIGURED
