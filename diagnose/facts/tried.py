"""Which levers the person says were tried, in English or Chinese, and whether they helped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.sentences.on_off import left_out, never_on, switched
from diagnose.facts.settings import written
from diagnose.facts.settings.spelling import normal
from diagnose.facts.whose_run.not_done import LIST_ITEM, heads_plans
from diagnose.knowledge import Knowledge
from diagnose.knowledge.records import Framework, Lever
from diagnose.types import Line, Span, Tried

# a list of runs: “v2 (works, 2x slower): …”
WORKS_HEAD = (
    r"^\s*(?:[-*•]\s*)?[\w .#]{0,16}[(（]\s*(?:this |that )?(?:works?|worked|runs?|ran|trains?|能跑|可以跑?|跑通)\b"
    r"(?!\s*(?:out|until|into|for|on|in)\b)"
    # “What fixed it for me finally: …”, “解决办法：…”
    r"|^\s*(?:[-*•#]+\s*)?(?:(?:edit|update|更新)\s*[:：]?\s*)?"
    r"(?:what (?:finally |eventually )?(?:fixed|solved|worked|helped)\b[^:：.\n]{0,40}"
    r"|(?:最后|最终|后来)?的?解决(?:办法|方法|方案)(?:是|如下)?)\s*[:：]"
)
_FAILED = re.compile(
    r"\bno (?:effects?|use|luck|avail|changes?|help|differences?|improvement)\b"
    r"|(?:does|did|do)(?:n['’]t| not) (?:help|work|change|solve|fix|matter)"
    r"|still (?:(?:goes|go|gets?|gives?|hits?)\s+(?:an?\s+)?)?(?:(?:cuda|gpu)\s+)?"
    r"(?:oom\w*|out of memory|fail\w*|runs? out|crash\w*|dies|died|the same|happen\w*)"
    r"|makes? no difference|made no difference|same (?:error|result|problem|oom|behaviou?r)|without success|in vain"
    r"|\b(?:oom(?:s|ed)?|fails|crashes|dies|runs out)(?: of memory)?,? (?:too|as well|also)\b"
    r"|\balso (?:ooms?|fails|crashes|dies|runs out)\b"
    r"|useless|nothing (?:helps?|changed)"
    r"|没效果|没有效果|没用|无效|不管用|没有?变化|没有?改善|没有?解决|没(?:什么|啥)用|没有?区别|还是\s*(?:一样)?(?:会)?\s*(?:oom|爆|报|不行|崩|挂)|还是一样(?![的爆报])|还是老样子|照样|依然|仍然|也(?:会|直接)?\s*(?:不行|oom|爆|炸)|不起作用|一样(?:爆|oom|报错)",
    re.I | re.A,
)
_HELPED = re.compile(
    r"\b(?:solved|fixed|works? now|helped|did the trick|went away|no more oom"
    r"|(?:makes?|made|gets?|got|lets?) it (?:run|work|through))\b|解决了|可以了|就好了"
    r"|之?后就?好了|后就?(?:行|可以|能跑)|不再?爆|跑通了",
    re.I | re.A,
)
# that the failure went, which “helped” does not say
_CURED = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!not been )(?<!n['’]t been )\b(?:solved|fixed|works? now|did the trick|went away|no more oom"
    r"|(?:makes?|made|gets?|got|lets?) it (?:run|work|through))\b"
    rf"|{WORKS_HEAD}"
    r"|\bno longer (?:goes |runs? )?(?:oom|out of memory|fail|crash)"
    r"|\b(?:after|once|since|by)\b[^.;]{3,80}?\b(?:was|is|runs?|ran|went|works?|worked|been) (?:all )?"
    r"(?:fine|well|ok|okay|through|stable)\b"
    r"|(?<![没未])解决了|就可以了|就好了|之?后就?好了|后就?(?:行|可以|能跑|正常)|就不(?:再|会)?\s*(?:oom|爆|报)|不再\s*(?:oom|爆|报)|跑通了",
    re.I | re.A,
)
# whose failure it cured was another's: “somebody said … fixed it for him”, “@name: fixed for me by …”
_ANOTHER = re.compile(
    r"\b(?:some(?:body|one)|(?:other |some )?(?:people|users?)|others|an? (?:friend|colleague|user))\b"
    r"|\bfor (?:him|her|them|others)\b|(?:^|\s)@[\w-]{1,40}|\bin (?:an)?other (?:issue|thread)\b"
    r"|有人|别人|网友|楼[上下]|群里|他(?:们)?(?:说|那|就|是)",
    re.I | re.A,
)
# nobody did it yet, or somebody asks
_OPEN = re.compile(
    r"[?？]|\b(?:if|would|could|should|might|may|can|anyone|how|hope|expect|think|guess)\b|如果|假如|能否|能不能|是否|有没有|怎么|请问|吗|应该|也许|可能|建议|才",
    re.I | re.A,
)
_DOWN = re.compile(
    r"往?小|降低?|减小?|调低|缩小|lower\w*|reduc\w*|decreas\w*|smaller|shrink\w*|down to|halv\w*|\bcut\b(?![ _-]?off)|\bless\b|turn\w* down"
    r"|from \d[\d.]* to",
    re.I | re.A,
)
_UP = re.compile(r"往?大|提高|增大|调高|加大|increas\w*|rais\w*|larger|bigger|higher|turn\w* up", re.I | re.A)
_MOVED = re.compile(
    r"(?:(?:从|\bfrom)\s*(?:\w{1,40}\s*=\s*)?(?P<from>\d+(?:\.\d+)?)(?P<k>k)?\s*(?:[\u4e00-\u9fff]{0,3}[到至成为]|(?:down |up )?to)"
    r"|(?<![\w.])(?:\w{1,40}\s*=\s*)?(?P<was>\d+(?:\.\d+)?)(?P<was_k>k)?\s*(?:[改换调降升减加提][到至成为]|->|→|=>))"
    r"\s*(?:\w{1,40}\s*=\s*)?(?P<to>\d+(?:\.\d+)?)(?P<to_k>k)?",
    re.I | re.A,
)
_ON = re.compile(
    r"打开|开启|开了|启用|turn\w* on|switch\w* on|enabl\w*|set\w*|add\w*|加了?|用了?|tried|try\w*|试过?|改过?|with\b",
    re.I | re.A,
)
# a sentence ends at these; a dot inside a number, a key or an abbreviation does not
_SENTENCE = re.compile(
    r"(?<=[。！？!?；;])|(?<=[\w)\]`'\"%]\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)\s+(?=\S)", re.A
)
_CLAUSE = re.compile(r"[,，、]\s*", re.A)
_LISTED = 4  # clauses from which on a sentence lists what the run has
_CHANGED = re.compile(
    r"改|调|设|试|\btried\b|\bset\b|\bchang|\balready\b|已经?|->|→|=>|\bonly\b|\beven\b|只|甚至", re.I | re.A
)
_SET = re.compile(r"[`'\"]?\s*[=:：]\s*[`'\"]?\d", re.A)
# to what number something was moved
_END_OF_MOVE = re.compile(
    r"(?:[降调改减提加设换][到至成为]|\bto)\s*(?P<to>\d{1,6}(?:\.\d{1,3})?)(?![\w%]|\.\d)", re.I | re.A
)
# what was done before the sentence that tells the outcome alone
# a list of what was tried, and what is said of all of it
_LIST_OF_TRIES = re.compile(
    r"(?:\b(?:tried|attempted|attempts)\b[^.?？\n]{0,30}|(?:试过|尝试|试了)[^。？\n]{0,12})[:：]?\s*$", re.I | re.A
)
_NONE_HELPED = re.compile(
    r"\b(?:none of (?:it|them|these|this|those)|nothing) (?:really )?(?:help\w*|work\w*)|\bstill\b[^.\n]{0,20}\b(?:oom\w*|memory)"
    r"|都(?:没用|不行|没有?效果|一样|爆)",
    re.I | re.A,
)
_DID = re.compile(r"\b(?:tried|already|set|lowered|reduced|enabled|turned on|switched)\b|试|调|改|开了|降", re.I | re.A)


def read_tried(speech: Sequence[Line], knowledge: Knowledge, framework: Framework | None) -> tuple[Tried, ...]:
    """Levers that stand, by a word or by a key that maps to their fact, in a sentence that says how it went."""
    found: dict[str, Tried] = {}
    listed = _listed_in_vain(speech)
    for line in speech:
        if line.number not in listed and not _outcome(line.words):
            continue
        did: list[tuple[str, Span]] = []
        for start, sentence in _sentences(line):
            levers = [
                (lever, Span(line.number, line.offset + start + at, line.offset + start + end))
                for lever, at, end in _levers(sentence, knowledge.levers, framework)
                if not _is_listed(knowledge.levers[lever], sentence, at, end)
                and not (never_on(sentence, at, end) or left_out(sentence, at, end))
                and not (switched(sentence, at, end) is False and _direction_of(knowledge.levers[lever]) == "on")
                and _can_be(knowledge.levers[lever], sentence)
            ]
            if outcome := _outcome(sentence) or ("failed" if line.number in listed else ""):
                for lever, span in levers or did:
                    helped = outcome == "helped"
                    found.setdefault(lever, Tried(lever, span, helped, helped and _cures(sentence)))
            did = levers if not outcome and _DID.search(sentence) else []
    return tuple(found.values())


def _listed_in_vain(speech: Sequence[Line]) -> frozenset[int]:
    """The lines of a list of what was tried, behind which somebody says that none of it helped."""
    found: set[int] = set()
    at = 0
    while at < len(speech):
        head, at = at, at + 1
        if not _LIST_OF_TRIES.search(speech[head].words) or heads_plans(speech[head].words):
            continue
        while at < len(speech) and LIST_ITEM.match(speech[at].words):
            at += 1
        if any(_FAILED.search(line.words) or _NONE_HELPED.search(line.words) for line in speech[at : at + 2]):
            found |= {line.number for line in speech[head + 1 : at]}
    return frozenset(found)


def _can_be(lever: Lever, sentence: str) -> bool:
    """Whether the number to which something was moved can be one of the lever’s: “降到 0.7” is a share of something."""
    ends = [float(found["to"]) for found in _END_OF_MOVE.finditer(sentence)]
    if not ends or not lever.changes or _direction_of(lever) not in ("down", "up"):
        return True
    share = lever.changes[0].fact in written.SHARES
    return any((0 < end < 1) is share or end == 1 for end in ends)


def _is_listed(lever: Lever, sentence: str, at: int, end: int) -> bool:
    """Whether what stands there is a setting of the run, and nothing says that it was made smaller or larger.

    It is where many are listed, or where it is given a value beside another clause that tells of a change.
    """
    listed = len(_CLAUSE.findall(sentence)) >= _LISTED
    if _direction_of(lever) not in ("down", "up") or not (listed or _SET.match(sentence, end)):
        return False
    before = sentence[:at]
    start = max((found.end() for found in _CLAUSE.finditer(before)), default=0)
    after = _CLAUSE.search(sentence, at)
    clause = sentence[start : after.start() if after else len(sentence)]
    forms = (_DOWN, _UP, _MOVED, _CHANGED)
    others = sentence[:start] + sentence[after.start() if after else len(sentence) :]
    changed = any(form.search(clause) for form in forms)
    return not changed and (listed or any(form.search(others) for form in forms))


def _outcome(sentence: str) -> str:
    if _FAILED.search(sentence):
        return "failed"
    return "helped" if _HELPED.search(sentence) or _cures(sentence) else ""


def failed_after(words: str, found: re.Match[str]) -> bool:
    """Whether the sentence that a match stands in says behind it that it did not help."""
    end = _SENTENCE.search(words, found.end())
    return bool(_FAILED.search(words, found.end(), end.start() if end else len(words)))


def _cures(sentence: str) -> bool:
    """Whether it says that the failure went; what is asked behind the clause that says so (“…, is there a better way?”) is of its own."""
    cured = _CURED.search(sentence)
    if cured is None or _ANOTHER.search(sentence):
        return False
    end = _CLAUSE.search(sentence, cured.end())
    return not _OPEN.search(sentence, 0, end.start() if end else len(sentence))


def _sentences(line: Line) -> Iterator[tuple[int, str]]:
    start = 0
    for part in _SENTENCE.split(line.words):
        if part:
            start = line.words.find(part, start)
            yield start, part
            start += len(part)


def _levers(sentence: str, levers: Mapping[str, Lever], framework: Framework | None) -> Iterator[tuple[str, int, int]]:
    yield from _by_words(sentence, levers)
    if framework is None:
        return
    for fact, at, end in _facts_named(sentence, framework):
        told = "off" if switched(sentence, at, end) is False else _told(sentence)
        for slug, lever in levers.items():
            if any(change.fact == fact for change in lever.changes[:1]) and _direction_of(lever) == told:
                yield slug, at, end


def _by_words(sentence: str, levers: Mapping[str, Lever]) -> list[tuple[str, int, int]]:
    """Levers by their words; a word that another's longer or earlier one runs into is a part of that."""
    words = _evened(sentence)
    found: list[tuple[str, int, int]] = []
    for slug, lever in levers.items():
        for word in lever.words:
            at = words.find(_evened(word))
            if at >= 0 and _direction_fits(lever, sentence):
                found.append((slug, at, at + len(word)))
                break
    return [one for one in found if not any(_runs_into(other, one) for other in found)]


def _runs_into(other: tuple[str, int, int], one: tuple[str, int, int]) -> bool:
    overlap = other[1] < one[2] and one[1] < other[2]
    return overlap and (other[1], -other[2]) < (one[1], -one[2])


def _facts_named(sentence: str, framework: Framework) -> Iterator[tuple[str, int, int]]:
    """Facts whose key stands in the sentence, whole or by its last part if that is a long enough word."""
    words = normal_sentence(sentence)
    for key in framework.keys:
        for name in (key.key, *key.aliases):
            last = name.rsplit(".", 1)[-1]
            for form in (name, last) if len(last) >= 6 else (name,):
                if normal(form) not in words:
                    continue
                found = re.search(rf"(?<![\w.]){re.escape(normal(form))}(?!\w)", words, re.A)
                whole = re.search(rf"(?<!\w){re.escape(normal(form))}(?!\w)", words, re.A)
                if (found and form is name) or (whole and form is last and _only(framework, last, key.fact)):
                    place = found or whole
                    if place and key.fact:
                        yield key.fact, place.start(), place.end()
                        break


def _evened(words: str) -> str:
    """In small letters, with dashes and underscores as blanks; columns kept."""
    return words.lower().replace("-", " ").replace("_", " ")


def _only(framework: Framework, last: str, fact: str) -> bool:
    """Whether every key with this last part means the same fact."""
    return {key.fact for key in framework.keys if key.key.rsplit(".", 1)[-1] == last and not key.note} <= {fact}


def normal_sentence(sentence: str) -> str:
    """Keys in a sentence as ``keys.normal`` writes them, columns kept."""
    return sentence.replace("-", "_").lower()


def _direction_of(lever: Lever) -> str:
    """down, up or on: what the lever's first change does."""
    if not lever.changes:
        return "on"
    change = lever.changes[0]
    if change.op == "scale" and change.by is not None:
        return "down" if change.by < 1 else "up"
    if change.op == "step" and change.by is not None:
        return "down" if change.by < 0 else "up"
    return "off" if change.to is False else "on"


def _told(sentence: str) -> str:
    if moved := _MOVED.search(sentence):
        before, kilo = (moved["from"], moved["k"]) if moved["from"] else (moved["was"], moved["was_k"])
        down = float(moved["to"]) * (1000 if moved["to_k"] else 1) < float(before) * (1000 if kilo else 1)
        return "down" if down else "up"
    for direction, form in (("down", _DOWN), ("up", _UP), ("on", _ON)):
        if form.search(sentence):
            return direction
    return ""


def _direction_fits(lever: Lever, sentence: str) -> bool:
    """A lever that goes one way is not the one of a sentence that tells only the other."""
    told = _told(sentence)
    direction = _direction_of(lever)
    return (direction, told) not in (("down", "up"), ("up", "down"))
