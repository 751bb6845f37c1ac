"""A judge or a reward model that an engine serves beside the training, and that failed itself: the training's settings are not its own.

Judge, grader, verifier and reward server are the names by which people call such a service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.sentences.prose import span_of
from diagnose.ingest import read
from diagnose.types import Fact, Line, Paste

_WHO = (
    r"(?:\b(?:judges?|graders?|verifiers?)\b(?: (?:model|LLM))?|\b(?:reward(?: model)?|RM) (?:server|service|API)\b"
    r"|(?:裁判|评判|评审|打分)(?:模型)?|(?:奖励|reward)\s?(?:模型)?\s?(?:服务器?|服务端))"
)
_JUDGE = re.compile(_WHO, re.I | re.A)
# what makes it a service of its own
_SERVED = re.compile(
    r"\bserv(?:es?|ed|ing|ers?|ices?)\b|\b(?:vllm|sglang|lmdeploy|API|endpoint)\b|服务|部署", re.I | re.A
)
_FAILS = re.compile(
    rf"{_WHO}(?:['’]s)?(?:\s*[(（][^()（）\n]{{1,80}}[)）])?[^.,;:。，；：\n]{{0,24}}?(?:{FAILURE.pattern})",
    re.I | re.A,
)
_ON_IT = re.compile(
    rf"\b(?:OOMs?|out of memory)\b(?: errors?)?,? (?:is |comes |was )?(?:on|in|of|from|at|by) (?:the |our |my )?(?:\w+ )?{_WHO}",
    re.I | re.A,
)
_TRAINS = r"(?:\b(?:trainer|training|train|policy|actor|learner|GRPO|PPO|DAPO|GSPO|RLHF|RL)\b|训练|策略)"
_TRAINING = re.compile(_TRAINS, re.I | re.A)
_TRAINING_FAILS = re.compile(rf"{_TRAINS}[^.,;:。，；：\n]{{0,24}}?(?:{FAILURE.pattern})", re.I | re.A)
_ENGINES = ("vllm/", "sglang/", "lmdeploy/")
_MACHINE = re.compile(r"\b(?:machine|node|server|host|box|pod) [A-Z\d]\b|[机节][器点] ?[A-Z\d]", re.A | re.I)
# what a program prints of its failure, and who prints it where it is a trainer's process
_MESSAGE = re.compile(
    r"\b\w*(?:Error|Exception)\b|CUDA out of memory|Tried to allocate|\bFile \"|Traceback|oom-kill", re.A
)
_RAISED = re.compile(
    r"[\w.]*(?:Error|Exception)\b|Tried to allocate|\bFile \"|Traceback|oom-kill|Out of memory: Killed", re.A
)
_OF_TRAINER = re.compile(r"\[rank\d|\(\w*(?:Dict|Actor|Trainer|Critic|_train)[\w-]* pid=", re.A)
_SENTENCE = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+", re.A)
_CLAUSE = re.compile(r"[,，、;；:：]\s*", re.A)
_END = re.compile(r"[.,;:。，；：\n]", re.A)
_LONGEST, _MOST_LINES = 2000, 20_000  # characters of a line, lines of a text


_NOTE = (
    "“{}”: what failed is a server beside the training, with cards of its own. What the text says of the training is left aside, and its "
    "settings would change nothing there."
)
_ENGINE = re.compile(r"\b(?:vllm|sglang)\b|(?<=/)(?:vllm|sglang)(?=/)", re.I | re.A)


def served(paste: Paste) -> dict[str, Fact]:
    """That an engine runs alone, where a judge's server failed; empty where none did."""
    judge = failed_judge(paste)
    if judge is None:
        return {}
    place = Fact("rollout_mode", "server", "derived", why="its server failed, not the training")
    found = {"trains": judge, "task": replace(judge, id="task", value="infer"), "rollout_mode": place}
    named = {one[0].lower() for line in paste.lines if (one := _ENGINE.search(line.words))}
    if len(named) == 1:
        found["rollout_engine"] = Fact("rollout_engine", named.pop(), "read", written=judge.written, span=judge.span)
    return found


def without_role(paste: Paste, speech: Sequence[Line]) -> tuple[Line, ...]:
    """The speech; where a judge's server failed, with blanks in the place of its role, by which its model is none of the run's."""
    if failed_judge(paste) is None:
        return tuple(speech)
    blank = [(line, _JUDGE.sub(lambda found: " " * len(found[0]), line.words)) for line in speech]
    return tuple(replace(line, words=words) for line, words in blank)


def words_of(paste: Paste) -> Iterator[str]:
    """The remark that the answer makes of it."""
    if (judge := failed_judge(paste)) is not None:
        yield _NOTE.format(judge.written)


def failed_judge(paste: Paste) -> Fact | None:
    """That nothing trains in what failed: the words that say that the judge's server did; None where the training may have failed."""
    long = paste.total_lines > _MOST_LINES
    if long or not any(_JUDGE.search(line.words) for line in paste.lines if len(line.words) <= _LONGEST):
        return None
    told = [_before_message(line) for line in paste.lines if len(line.words) <= _LONGEST]
    printed = [line for line in paste.lines if _MESSAGE.search(line.words)]
    if any(_OF_TRAINER.search(line.text) for line in printed) or any(
        _TRAINING_FAILS.search(line.words) for line in told
    ):
        return None
    if paste.frames and not any(part in frame.path for frame in paste.frames for part in _ENGINES):
        return None
    if not any(_JUDGE.search(one) and _SERVED.search(one) for line in told for one in _SENTENCE.split(line.words)):
        return None
    return next((fact for line in told if (fact := _failure_of(line))), None)


def _before_message(line: Line) -> Line:
    """What somebody says before a program's own words, which may follow on the same line: “the judge's server OOMs: torch.OutOf…”."""
    found = _RAISED.search(line.words)
    return line if found is None else replace(line, words=line.words[: found.start()])


def _failure_of(line: Line) -> Fact | None:
    """The words by which the judge failed, where the training is named neither between them nor behind them in the clause."""
    for form in (_FAILS, _ON_IT):
        found = form.search(line.words)
        if found and not _TRAINING.search(found[0]) and not _TRAINING.search(_END.split(line.words[found.end() :])[0]):
            return Fact("trains", False, "read", written=found[0], span=span_of(line, found))
    return None


def of_failed_judge(paste: Paste, engines: Sequence[str]) -> Paste:
    """The paste with what tells of the judge's server alone, where that failed; every line keeps its number."""
    if failed_judge(paste) is None:
        return paste
    kept = dict(_kept(paste, engines))
    last = max((line.number for line in paste.lines), default=0)
    return read("\n".join(kept.get(number, "") for number in range(1, last + 1)))


def _kept(paste: Paste, engines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines by their numbers: messages and frames whole, an engine's command, and sentences on the judge or its machine in place."""
    serving, others = set[int](), set[int]()
    for command in paste.commands:
        its_lines = range(command.first_line, command.last_line + 1)
        (serving if any(one in " ".join(command.words) + " " for one in engines) else others).update(its_lines)
    frames = {number for frame in paste.frames if frame.path for number in (frame.line, frame.line + 1)}
    machines = _machines(paste)
    for line in paste.lines:
        if line.number in serving | frames or (line.number not in others and _printed(line.words)):
            yield line.number, line.text
        elif line.number not in others:
            yield line.number, _only_of_judge(line, machines)


def _printed(words: str) -> bool:
    """Whether a program prints its failure here, and nobody only tells of the judge's in its words."""
    return bool(_RAISED.search(words) or (_MESSAGE.search(words) and not _JUDGE.search(words)))


def _only_of_judge(line: Line, machines: set[str]) -> str:
    """The line's text with blanks in the place of all that is not said of the judge or its machine."""
    blanks, end = [" "] * len(line.text), line.offset
    for sentence in _SENTENCE.split(line.words):
        start = line.text.find(sentence, end)
        if start >= 0:
            end = start + len(sentence)
            part = _of_judge(sentence, machines)
            blanks[end - len(part) : end] = part
    return "".join(blanks).rstrip()


def _machines(paste: Paste) -> set[str]:
    """What the machines are called on which the judge is said to run: “machine B”."""
    sentences = [one for line in paste.lines for one in _SENTENCE.split(line.words)]
    return {found[0].lower() for one in sentences for found in _MACHINE.finditer(_of_judge(one, ()))}


def _of_judge(sentence: str, machines: Sequence[str] | set[str]) -> str:
    """What a sentence says of the judge or its machine: from the clause on that names it, where the training is not named there."""
    lowered = sentence.lower()
    places = [found.start() for found in _JUDGE.finditer(sentence)][:1]
    places += [place for one in machines if (place := lowered.find(one)) >= 0]
    if not places:
        return ""
    clauses = [found.end() for found in _CLAUSE.finditer(sentence, 0, min(places))]
    for start in (0, *clauses[-1:]):
        if not _TRAINING.search(sentence, start):
            return sentence[start:]
    return ""
