"""What a sentence says that a setting was before: “response 4k 没问题，改成 16k 就爆”, “from 8 to 4, still OOM”.

The run that failed has the later one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.tried import WORKS_HEAD, failed_after
from diagnose.types import Line, Paste, Setting, Span

_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)[kK]?(?![\w.]*[A-Za-z\d])"
WELL = (
    r"(?:\s*(?:都|还|是|就|时|的时候|is|was|it|runs?|ran|trains?|goes)){0,3}\s*(?:没问题|没有问题|可以|正常|能[跑训过]|跑得[动通]|没事"
    r"|\b(?:ok|okay|fine|well)\b"
    r"|\bno (?:problem|issue|oom)s?\b"
    r"|\b(?:works?|worked|fits?)\b(?:\s+(?:fine|ok|well|great|perfectly|without (?:problem|issue|oom)s?)\b)?)"
)
# how it went: well, or as badly as with the later value
_WENT_WELL = (
    rf"(?:{WELL}|\s*[,，;；]?\s*(?:(?:but|and|it|还是|仍然?|就|也|都|会|直接|still|gave|gives|cuda)\s*)*"
    r"(?:OOM(?:s|ed|了)?|爆(?:显存|了)?|炸了?|不行|不够|out of memory|failed|fails)"
    r"|\s*(?:的?时候?)?\s*(?:会|就)?(?:爆|炸|OOM|挂)(?:过|了)?\s*(?:[一两几]次)?\s*(?:OOM|显存)?)?"
)
_CHANGED = (
    r"(?:(?:就|再|又|我|后来|然后|一路|一直|逐步)?\s*(?:改|换|调|降|升|加|提|提高|增大|增加|减小|减少|缩小)\s*(?:小|大|低|高)?[到成为至]了?|改(?=\s*[\d.])|换(?=[A-Za-z])|(?:现在|目前)(?:是|用|改[到成为])?|-{1,2}>|=>|→|\b(?:then|now|currently)(?:\s+(?:to|at|is|it['’]?s))?\b"
    r"|(?:(?:chang|increas|reduc|lower|rais|cut|set|mov|switch)\w*\s+(?:it\s+)?)?(?:down\s+|up\s+)?to\b)"
)
_FORMER = re.compile(
    rf"(?P<key>[A-Za-z][\w.]*\s*=\s*)?(?P<old>(?:从|\bfrom|(?:原来|之前|以前|原先)是?)?\s*(?<![\w.-]){_NUMBER}){_WENT_WELL}\s*[,，;；]?\s*(?:但是?|but|then|然后)?"
    rf"\s*{_CHANGED}\s*(?P<again>[A-Za-z][\w.]*\s*=\s*)?(?={_NUMBER})",
    re.I | re.A,
)
# the same of a word with its number: “zero2 换成 zero3”, “from ZeRO-2 to ZeRO-3”
_FORMER_WORD = re.compile(
    rf"(?P<old>(?:从|\bfrom)?\s*(?<![\w.-])(?P<word>[A-Za-z]{{1,12}}(?:[ _-]stage)?)[ _-]?\d{{1,2}}(?![\w.]*[A-Za-z\d])){_WENT_WELL}"
    rf"\s*[,，;；]?\s*(?:但是?|but|then|然后)?\s*{_CHANGED}\s*(?:(?:deepspeed|ds)[ _-]?)?(?=(?P=word)[ _-]?\d)",
    re.I | re.A,
)
_PLANNED = re.compile(
    r"[?？]|想|打算|准备|需要|要不要|能不能|是否|会不会|吗|可以|应该|\b(?:want|plan|should|would|could|can|if|how|before)\b",
    re.I | re.A,
)
# … with what it was behind what it is: “moved to ZeRO-3 from ZeRO-2”
_FORMER_LAST = re.compile(
    rf"\bto\s+(?:(?P<word>[A-Za-z]{{1,12}}(?:[ _-]stage)?)[ _-]?)?{_NUMBER}\s*,?\s*(?:(?:down|up)\s+)?"
    rf"(?P<old>from\s+(?:(?P=word)[ _-]?)?{_NUMBER})",
    re.I | re.A,
)
# “2048 works, 8192 OOMs”, “8 works but with 16 I get CUDA OOM”
_FAILS = (
    r"(?:OOM|爆|炸|挂|崩|(?:goes? |gives? |gets? |hits? |runs? into )?(?:an? )?(?:cuda )?(?:oom|out of memory)"
    r"|runs? out|crash|fails?\b|dies\b)"
)
_BUT = r"\s*[,，;；.]?\s*(?:但是?|不过|but|and|while|whereas)?\s*"
_THEN_FAILS = rf"(?={_NUMBER}\s*(?:条|个)?\s*(?:(?:就|也|则|会|直接)+|(?:it|i|we|that)\b)?\s*{_FAILS})"
_WITH = r"(?:(?:with|at|using|for|to)\s+|(?:用|到|开到?|设成?|改成)\s*)?"
_WORKED = re.compile(
    rf"(?P<old>(?:(?P<each>每(?:张|块|个)?(?:卡|GPU))\s*)?(?<![\w.-]){_NUMBER}\s*(?:条|个)?\s*(?P<per>per (?:gpu|card|device)\s*)?{WELL}"
    rf"{_BUT}{_WITH}){_THEN_FAILS}"
    # … with the same word before both: “bs=8 ok, bs=16 OOM”
    rf"|(?<![\w.])(?P<word>[A-Za-z][A-Za-z_ ]{{1,24}}?)\s*[=: ]\s*(?P<same>{_NUMBER}\s*{WELL}{_BUT}{_WITH})"
    rf"(?=(?P=word)\s*[=: ]\s*{_NUMBER}[^.;,，。\d\n]{{0,16}}?{_FAILS})",
    re.I | re.A,
)
# “works with 4k but OOM with 8k”, “planned 16k, currently 8k”
_SET_AGAINST = re.compile(
    rf"\b(?:works?|worked|(?:runs?|trains?|goes|is) (?:fine|ok)|fits?)\s+(?:fine\s+)?(?:with|at|using|for)\s+"
    rf"(?:[A-Za-z][\w ]{{0,32}}?[ =:])?"
    rf"(?P<old>(?<![\w.-]){_NUMBER}{_BUT}(?:it\s+|we\s+|i\s+)?(?:{_FAILS}|not|n['’]t)\s+(?:error\s+)?(?:with|at|using|for|on)\s+)(?={_NUMBER})"
    r"|(?:\b(?:planned|want(?:ed)?|goal|target|aim\w*)\b|想要?|目标是?|计划|打算)[^,;.，。；\d\n]{0,30}"
    rf"(?P<goal>(?<![\w.-]){_NUMBER}{_BUT}(?:currently|now|so far|right now|at the moment|目前|现在)\s*"
    rf"(?:at\s+|only\s+|只|是|用)*)(?={_NUMBER})",
    re.I | re.A,
)
# “OOMs at 0.9, works at 0.5”
_WORKS_AT = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!never )\b(?:works?|worked|(?:is|runs?|trains?) (?:fine|ok)|fits?)\s+(?:fine\s+|ok\s+)?"
    rf"(?:at|with|using)\s+(?:[\w.]{{1,60}}(?:\s*=\s*|\s+))?{_NUMBER}(?!\s*(?:gpus?|cards?|nodes?|[x×*]))",
    re.I | re.A,
)
_GIVES = r"[`'\"]?\s*(?:-{1,2}>|=>|→|[:：(（])?\s*"
_KEY_WORKS = re.compile(rf"(?<![\w.])[A-Za-z][\w.]{{0,80}}\s*=\s*{_NUMBER}{_GIVES}{WELL}", re.I | re.A)
_KEY_BEHIND = re.compile(rf"{_GIVES}{WELL}", re.I | re.A)
_WORKS_LINE = re.compile(WORKS_HEAD, re.I | re.A)
# the change behind a setting that is written out
_CHANGED_TO = re.compile(
    rf"^[`'\"]?{_WENT_WELL}\s*[,，;；]?\s*(?:但是?|but)?\s*{_CHANGED}\s*(?P<new>{_NUMBER})", re.I | re.A
)
# … or in a sentence of its own: “died with utilization=0.9. Set it to 0.5 and …”
_SET_IT = re.compile(
    r"^[^=\n]{0,80}?(?:\b(?:set|lowered|reduced|cut|dropped|changed|raised|increased|put) (?:it|this|that) (?:down |up |back )?to"
    r"|\bnow (?:it|that)(?:['’]s| is) (?:at |set to )?|把它(?:改|调|降|升|设)[到成为至]|现在它?(?:是|改成))"
    rf"\s*(?P<new>{_NUMBER})",
    re.I | re.A,
)
# … where it worked and another value failed: “=1 works fine, with 2 I get CUDA OOM”
_FAILED_AT = re.compile(
    rf"^[`'\"]?\s*{WELL}{_BUT}{_WITH}(?:(?:it|that|value)\s+)?(?P<new>{_NUMBER})\s*(?:(?:就|也|则|会|直接)+|(?:it|i|we|that)\b)?\s*{_FAILS}",
    re.I | re.A,
)
# the same of a switch: “param_offload=True is slower so I set it back to False”
_SWITCHED_TO = re.compile(
    r"^[^.;。；\n]{0,40}?(?:\b(?:set|changed|switched|turned|put) (?:it |this |that )?(?:back )?to"
    r"|[改换设调][回成为到]了?)\s*(?P<new>true|false)\b"
    # “… was on, turned it off since”
    r"|^[^.;。；=\n]{0,40}?(?:\b(?:turned|switched) (?:it |this |that )?(?:back )?(?:(?P<off>off)|(?P<on>on))\b"
    r"|(?<!\w)(?:又|后来|再|所以|就|然后|给|把它)(?:(?P<off1>关[掉了上])|(?P<on1>[打]?开[启了])))",
    re.I | re.A,
)
# … or taken out again: “=True was too slow so I removed it”
_TAKEN_OUT = re.compile(
    r"^[`'\"]?[^.;。；=\n]{0,60}?(?:\b(?:removed|dropped|reverted|undid|deleted|took out"
    r"|(?:had|have) to (?:remove|drop|revert|undo|take out))"
    r" (?:it|this|that|them)\b|\b(?:took|taken|take) (?:it|this|that|them) (?:out|off|back)\b"
    r"|(?:又|只好|后来|就|再|所以|不得不|已经?)(?:给|把它)?(?:去掉|去了|删掉|删了|撤[掉回了]|拿掉|还原))",
    re.I | re.A,
)
_NEAR = 120  # characters behind a setting
_HUNK = 12  # lines of a patch that stand together
# then the run that failed is the one before
_HELPED = re.compile(
    rf"^{_NUMBER}\s*[,，]?\s*(?:(?:就|也|才|都|后|之后)*\s*(?:好了|(?<=才)行|可以|行了|不(?:再|会)?\s*(?:爆|炸|OOM|报错)|没问题|正常|能跑|过了)|(?:and\s+)?(?:it\s+)?(?:works?|worked|fixed|solved|helped))",
    re.I | re.A,
)


def without_former(speech: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with blanks in the place of values that a later one stands in for."""
    return tuple(_blanked(line) if any(mark.isdigit() for mark in line.words) else line for line in speech)


def with_later(paste: Paste, speech: Sequence[Line]) -> Paste:
    """The paste with the later value of settings that a sentence writes out and then changes."""
    lines = {line.number: line for line in speech}
    settings = _without_worked(paste.settings, lines)
    settings = tuple(
        _later(setting, line) for setting in settings if not _taken_out(setting, line := lines.get(setting.span.line))
    )
    return replace(paste, settings=settings) if settings != paste.settings else paste


def _taken_out(setting: Setting, line: Line | None) -> bool:
    if setting.command >= 0 or line is None:
        return False
    end = setting.span.end - line.offset
    return 0 < end <= len(line.words) and bool(_TAKEN_OUT.match(line.words[end : end + _NEAR]))


def without_removed(paste: Paste) -> Paste:
    """The paste without what a patch takes away: a setting of a line with a minus of which a line with a plus gives the new value."""
    signs = {line.number: line.words[:1] for line in paste.lines}
    added = [one for one in paste.settings if signs.get(one.span.line) == "+"]
    kept = [
        one
        for one in paste.settings
        if signs.get(one.span.line) != "-"
        or not any(new.key == one.key and 0 < new.span.line - one.span.line <= _HUNK for new in added)
    ]
    return replace(paste, settings=tuple(kept)) if len(kept) < len(paste.settings) else paste


def known_to_work(speech: Sequence[Line]) -> Iterator[str]:
    """A sentence for each value with which the run is told to work, where another failed."""
    for line in speech:
        words = line.words
        if not FAILURE.search(words) or not any(mark.isdigit() for mark in words):
            continue
        told: dict[str, None] = {}
        for form in (_WORKED, _KEY_WORKS, _WORKS_AT):
            for found in form.finditer(words):
                if not _PLANNED.search(words[max(0, found.start() - 24) : found.end()]):
                    told |= dict.fromkeys(re.findall(_NUMBER, found[0], re.A)[:1])
        for number in told:
            yield f"Line {line.number} tells that it works with {number}: what is advised starts from what failed."


def _without_worked(settings: Sequence[Setting], lines: Mapping[int, Line]) -> tuple[Setting, ...]:
    """The settings without those that a sentence says to work, where it gives the same key another value."""
    worked = {
        id(one) for one in settings if one.command < 0 and one.span.line in lines and _worked(one, lines[one.span.line])
    }
    failed = {one.key for one in settings if id(one) not in worked}
    listed = {number for number, line in lines.items() if _WORKS_LINE.match(line.words)}
    return tuple(
        one
        for one in settings
        if (id(one) not in worked or one.key not in failed) and (one.command >= 0 or one.span.line not in listed)
    )


def _worked(setting: Setting, line: Line) -> bool:
    start, end = setting.span.start - line.offset, setting.span.end - line.offset
    if not 0 <= start < end <= len(line.words):
        return False
    around = line.words[max(0, start - len(setting.key) - 40) : end]
    return bool(_KEY_BEHIND.match(line.words, end)) or any(
        found.end() == len(around) for found in _WORKS_AT.finditer(around)
    )


def _later(setting: Setting, line: Line | None) -> Setting:
    if setting.command >= 0 or line is None:
        return setting
    end = setting.span.end - line.offset
    forms = (_SWITCHED_TO,) if setting.value.lower() in ("true", "false") else (_CHANGED_TO, _FAILED_AT, _SET_IT)
    rest = line.words[end:] if 0 < end <= len(line.words) else ""
    found = next((match for form in forms if (match := form.match(rest))), None)
    if found is None or (found["new"] and _HELPED.match(rest[found.start("new") :])):
        return setting
    if not found["new"]:
        switched = "false" if found["off"] or found["off1"] else "true"
        return replace(
            setting, value=switched, span=Span(line.number, line.offset + end, line.offset + end + found.end())
        )
    span = Span(line.number, line.offset + end + found.start("new"), line.offset + end + found.end("new"))
    return _later(replace(setting, value=found["new"], span=span), line)  # “0.9, then 0.6, then 0.4”


def _blanked(line: Line) -> Line:
    words = line.words
    for found in _WORKED.finditer(words):
        unit = (found["each"] or found["per"] or "").strip()  # what the number counts, of the next one as well
        start, end = found.span("old" if found["old"] else "same")
        start = start if found["old"] else found.start()
        words = words[:start] + f"{unit} ".rjust(end - start) + words[end:]
    line = replace(line, words=words) if words != line.words else line
    places = [found.span("old") for found in _FORMER_LAST.finditer(line.words)]
    places += [found.span(found.lastgroup or 0) for found in _SET_AGAINST.finditer(line.words)]
    for found in _FORMER_WORD.finditer(line.words):
        new = line.words[found.end() + len(found["word"]) :].lstrip(" -_")
        if not _HELPED.match(new) and (failed_after(line.words, found) or not _PLANNED.search(line.words)):
            places.append(found.span("old"))
    for found in _FORMER.finditer(line.words):
        if not _HELPED.match(line.words[found.end() :]):
            start, end = found.span("old")
            places.append((found.start(), found.start("again")) if found["again"] else (start, found.end()))
    words = line.words
    for start, end in places:
        words = words[:start] + " " * (end - start) + words[end:]
    return replace(line, words=words) if places else line
