"""Where a person's sentence puts the failure: a phase's words bound to a word of failure in one sentence.

The words of a phase stand in its record; how English and Chinese bind them to a failure is the same for all phases and stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

FAILURE = re.compile(
    r"\bOOM\w*|OutOfMemory\w*|\bout[ -]of[ -](?:(?:gpu|cuda|host|device|system) )?memory|\b(?:runs?|ran|running) out\b|\bblow(?:s|n)? up"
    r"|\bfail(?:s|ed|ure)?\b|\bcrash\w*|\brunning low on memory\b|\bexceeds the memory usage threshold\b"
    r"|(?<!gradient )(?<!gradients )(?<!loss )(?<!norm )\bexplod(?:es?|ed|ing)\b"
    r"|\b(?:goes|go|went) over (?:the|its) limit|\boverflow(?:s|ed)\b|\bexhaust(?:s|ed)\b|\bfills? up\b|超了|超限"
    r"|\bdies\b|\bdied\b|\bdying\b|\bdead\b|\bkill(?:s|ed)\b|\bstops?\b|\bcannot allocate|\bshoots? up|\bspik(?:es?|ing)\b"
    r"|\btried to allocate\b|发生在|出现在"
    r"|\berrors?\b(?=(?: (?:is|was|comes?|came|appears?|shows? up|thrown|raised))* (?:in|at|during|when|while|inside)\b)"
    r"|\b(?:happen(?:s|ed|ing)?|occur(?:s|red|ring)?)\b(?= (?:only |always )?(?:in|at|during|when|while|on|inside)\b)"
    r"|\bright before (?:that|this|it)\b|\bat that (?:moment|point)\b"
    r"|\b(?:trace ?back|call stack|stack ?trace)\b(?= (?:is|was|comes|came|points?|ends?|ended) (?:from|in|at|to|inside)\b)"
    r"|堆栈(?=[是在指显])"
    r"|OOM|爆|挂(?!载)|崩|(?<!不)失败(?!率|了?会)|死了|死掉|报错|报(?:上面|下面|如下|以下|这个|这样|同样)的?错|溢出|炸|被(?:操作系统|系统|内核)(?:给|直接)?(?:杀|干掉)|被杀|被\s?\w{0,12}\s?杀|杀掉|干掉|把\s?\w{2,12}\s?(?:给)?(?:杀|kill)|把(?:进程|训练|任务)(?:给)?杀|(?:进程|程序|任务)(?:就|都|直接|突然|一下)*(?:没了|消失)|被\s*kill|卡死|起不来|显存不|内存不|(?<!显)内存(?:都|就|也)?(?:被|给)?(?:打满|吃满|撑满)|显存(?:就|直接|会|突然)?(?:猛|暴|飙|窜)|占用直接窜",
    re.I | re.A,
)
_NO_FAILURE = re.compile(
    r"(?:\bno|\bnot|\bwithout|\bnever|\bavoid\w*|\bprevent\w*|\bdoes(?:n['’]t| not)|\bdid(?:n['’]t| not)|\bany)\s+(?:an?\s+|get\s+|go\s+)?$"
    r"|(?:不会|没有|没|不再|避免|防止|也不|都不|不)\s*(?:再|报|会|有)?\s*$",
    re.I | re.A,
)
# what stands before the words of a phase and says that the failure was not in it
_NOT_IN = re.compile(
    r"(?:\bafter|\bbefore|\buntil|\btill|\bnot|\bnor|\bno|\bwithout|\bnever reach\w*|\bbeyond|\bpast|\bfor"
    r"|\b(?:gets?|got|went|goes|made it) through)"
    r"\s+(?:the\s+|a\s+|any\s+|in\s+|during\s+|each\s+|every\s+|first\s+|second\s+|last\s+|initial\s+)*[`*“”\"']?$"
    r"|\b(?:enabl\w+|add(?:s|ing)?|us(?:e|es|ing)|turn\w* on|includ\w+|hav(?:e|ing)|configur\w+)\s+(?:the\s+|a\s+|an\s+|my\s+)?[`*“”\"']?$"
    r"|(?:还没|没有?|未|不是|而不是|除了)\s*(?:开始|走到|到|进入?|跑到?|在)?\s*$",
    re.I | re.A,
)
# “train a critic” names what is trained; “训练保存 checkpoint” a training that saves
_TRAINED = re.compile(r"(?:训|训练|train(?:ing)?)\s*(?:a|the|an)?\s*$", re.I | re.A)
_DONE = re.compile(r"optimi[sz]er|优化器|保存|存|落盘|加载|载入|读|恢复|同步|唤醒|生成|采样|评估|验证", re.A)
# what follows them and says that the failure came earlier
_EARLIER = re.compile(r"^[`*”\"')）\s]*(?:的|[这那]一步)?\s*(?:之前|以前|前(?![向面后期]))", re.A)
# … or that something else was done by then: “rollout 之后算 log_prob …”
_THEN = re.compile(
    r"^[`*”\"')）\s]*(?:之后|以后|后|完了?(?:之?后)?)\s*(?=[^，,。；;\n]{0,16}(?:算|更新|训练|同步|保存|加载|update|compute|log_?prob|sync|反向|优化器))",
    re.I | re.A,
)
# what follows them and says that it went well or was over
_WENT_WELL = re.compile(
    r"^[`*”\"')）\s]*(?:phase|stage|step|part|(?:的)?(?:阶段|过程中?|时候?|期间)|这一步|那一步)?"
    r"\s*(?:with \w+ |itself |again |also |still )*"
    r"(?:(?:is|are|was|were|went|goes|runs?|works?|ran)\s+(?:again |also |still |completely |all )*"
    r"(?:fine|ok|okay|good|well|smooth\w*|normal\w*|through|complete\w*|done|over|without)"
    r"|works?\b|passes|passed|succeed\w*|finish\w*|completes?|completed"
    r"|ends?\b|ended|is not the problem|(?:fine|ok(?:ay)?)\b(?=\s*(?:[,;.，；]|but\b|and\b|$))"
    r"|(?:都|也|还|是|能|可以|就|完全|一直)*(?:没问题|没有问题|正常|能过|过了|通过|成功|没事|不报|不会)|(?:刚刚?)?(?:结束|做完|跑完|完成)|完(?!就|了?就))",
    re.I | re.A,
)
# “during loading or the forward pass” settles neither
_OR_AFTER = re.compile(r"^[`*”\"')）\s]*(?:or\b(?! so\b)|或者?)\s*\w", re.I | re.A)
_OR_BEFORE = re.compile(r"(?:\bor|或者?)\s*(?:(?:in|during|at|while|the|在)\s*){0,3}[`*“\"']?$", re.I | re.A)
_LINK = re.compile(
    r"\b(?:in|during|at|while|whilst|when|inside|on|within|once|upon|into|as soon as|(?:every|each|any) time|from|by|of|whenever"
    r"|(?:half|mid|part)-?way through)\b"
    r"(?:(?!\b(?:with|using)\b)[^.。;；,，:：\n]){0,50}$",
    re.I | re.A,
)
_LINK_CLOSE = re.compile(
    r"\b(?:in|during|at|while|whilst|when|inside|on|within|once|upon|as soon as|from|by|whenever|(?:every|each|any) time"
    r"|(?:half|mid|part)-?way through)\b(?:(?!\b(?:with|using)\b)[^.。;；,，:：\n]){0,36}$"
    r"|(?:在|于|位置是?|处是?|走到|跑到|到了?|卡在|出现在)[^。；;，,\n]{0,10}$|\s@\s*$",
    re.I | re.A,
)
# what may stand between the words of a phase and the failure that they belong to without any link
GLUE = re.compile(
    r"^[`*”\"'()）\s]*(?:phase|stage|step|part)?\s*[:,，—→><#-]*\s*(?:(?:now|always|still|then|just|it|goes|go|gets?|get|got|is|was|gives?|throws?|raises?|an?|the|with|because|of|due|to|hits?|ends?"
    r"|runs|ran|into|i|we|process|worker|job|run|cuda|gpu|host|npu|device|memory|ray|error|torch\.(?:cuda\.)?|直接|就|会|又|也|还是|还|仍然?|依然|照样|照旧|一样|报错?了?"
    r"|显存|内存|主机|到一半|中途|half-?way|mid-?way|part-?way)\s*){0,6}$",
    re.I | re.A,
)
# “OOM after eval starts”: it was in it
_BEGUN = re.compile(
    r"^[`*”\"')）\s]*(?:phase |stage |step )?(?:starts?|started|begins?|began|kick(?:s|ed) in|has (?:started|begun))\b",
    re.I | re.A,
)
_AFTER = re.compile(r"\bafter\s+(?:the\s+|each\s+|every\s+|first\s+)*[`*“”\"']?$", re.I | re.A)
# “it OOMs: rollout”, “it fails — actor update.”: the phase alone, behind the failure
_APPOSED = re.compile(r"\s*(?:[:：,，—–(（-]|->|→)+\s*(?:the\s+)?", re.I | re.A)
_ALONE = re.compile(r"\s*(?:phase|stage|step|part|pass|阶段|这?一步)?\s*[)）.。!！]*\s*", re.I | re.A)
# what one says for the phase where one fails alone: “… used for rollout, OOM”
_USED_FOR = re.compile(r"(?:做|用作|作为|负责|当作?)\s*$|\b(?:with|using)\s+(?:\w+\s+){0,2}$", re.I | re.A)
# “Failing phase: …”, “**Stage**: …”, “报错阶段：…”: a form that is filled in
_LABEL = re.compile(
    r"(?:^|\b(?:fail\w*|crash\w*|OOM\w*|error|broken)\s+|[*>#|-]\s*)(?:phase|stage|step|moment)"
    r"(?:\s+(?:of (?:the )?failure|(?:where|in which|at which|when) [^:：\n]{1,30}))?[*_`\s]*[:：=][*_`\s]*(?:the\s+|in\s+|during\s+)*"
    r"|(?:报错|出错|失败|爆显存|崩溃|OOM|^)\s*的?\s*(?:阶段|环节|步骤|时机)[*_`\s]*(?:[:：]|是在?|为|在)[*_`\s]*",
    re.I | re.A | re.M,
)
# nothing but a bracket, a colon or a word between the failure and the name of a function: “OOM update_critic”, “OOM (wake_up)”
_NAMED_NEXT = re.compile(r"^\s*[:：(（@]?\s*(?:\w+\s+)?$", re.A)
_CHINESE = re.compile(
    r"^[`*”\"')）\s\w]{0,12}(?:[（(][^）)]{0,24}[）)])?\s*(?:的)?\s*(?:阶段|时候?|期间|过程|这一?步|那一?步|那一?下|[这那](?:里|边|儿|块)|这一?下|里[面头]?(?=\s*(?:偶尔|经常|总是?|会|就|直接|又|还是)?\s*(?:爆|OOM|报|挂|崩|炸|溢出))|中|就|直接|还没完|以后|之后|一下|[，,]?\s*[跑做走存写算传]?到(?:一半|中途))",
    re.A,
)
# a remark beside a log that names the moment and leaves the failure to the log
_MOMENT = re.compile(r"^[`*”\"')）\s]*(?:的)?(?:时候|阶段|过程中|时|[那这]一?步)(?:[\s。.!！]*$|[，,])", re.A)
# … as one does who tells what he was at: “I was loading …”
_I_WAS = re.compile(r"(?:^|[\s,(])(?:I was|we were)\s+(?:just |only |still |simply )?$", re.A)
_HABIT = re.compile(r"\b(?:every|each|before|earlier|previously|yesterday|last week|able|ago)\b", re.A)
# … or the function: “at backward in update_policy, …”, “failing run: update_actor”
_IN_FUNCTION = re.compile(
    r"(?:\b(?:at|in|inside|during|(?:it|this|that)(?: is|['’]s| was))\s+(?:the\s+)?"
    r"(?:(?:actor|policy|worker)(?:['’]s)?\s+)?|"
    r"(?:\b(?:run|fail\w*|error|crash\w*|phase|stage|where)|报错|位置|阶段)\s*[:：]\s*"
    r"|(?:^|(?<=[\s)）(（]))\s*(?:[卡挂死停]?在|[走跑]?到了?)\s*)`?"
    r"(?=(?:(?:[a-z]+\.)?[a-z]+_[a-z_]+|(?-i:[A-Z])\w{2,60}(?:Actor|Worker)\.\w{2,40})"
    r"(?:\(\))?`?\s*(?:in \S+\s*)?(?:[里中]|[这那]里|[这那]一?步|的时候|附近)?\s*(?:[,.;)，。；）]|$))",
    re.I | re.A,
)
# “Backward pass of the first step:”, with the error itself in the next line
_HEADING = re.compile(r"[^=\"{}<>#]{4,120}[:：]\s*+$", re.A)
_ERROR = re.compile(
    r"\s*(?:\([^)]{1,80}\)\s*)?(?:[\w.]{0,80}(?:Error|Exception)\b|CUDA\b|NCCL\b|NPU\b|Memory on the node \()", re.A
)
_DOING = re.compile(
    r"\s+(?:comput|calculat|load|sav|generat|sampl|updat|initiali[sz]|captur|tak|build)ing\s+(?:\S{1,40}\s+){0,4}\S{0,40}$",
    re.I | re.A,
)
_WHOLE = re.compile(r"(?!\w)", re.A)
_SENTENCE = re.compile(r"(?<=[。！？!?；;])|(?<=\.)\s+(?=[A-Z`*(\"])|\n", re.A)
_FAR, _NEAR = 100, 80


def bound(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, int] | None:
    """Where the phase's words stand in a sentence that puts the failure there; None where no sentence does."""
    for start, sentence, failures in failing_sentences(text):
        for pattern in patterns:
            for found in pattern.finditer(sentence):
                if _excluded(sentence, found):
                    continue
                if any(_belongs(sentence, found, failure) for failure in failures):
                    return start + found.start(), start + found.end()
    if ("_" in text or "." in text) and (named := _function(patterns, text)):
        return named
    if labelled := _labelled(patterns, text):
        return labelled
    if any(word in text for word in ("时", "阶段", "过程中", "I was ", "we were ")):
        return _moment(patterns, text)
    return None


def heading(patterns: Sequence[re.Pattern[str]], text: str, under: str) -> tuple[int, int] | None:
    """The phase's words in a line that ends in a colon, where ``under`` it stands the error that it speaks of."""
    if not (_HEADING.fullmatch(text) and _ERROR.match(under) and FAILURE.search(under[:400])):
        return None
    if failing_sentences(text):
        return None  # a sentence that tells of the failure itself says where it was, or does not
    found = (place for pattern in patterns for place in pattern.finditer(text))
    return next((place.span() for place in found if not _excluded(text, place)), None)


def _labelled(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, int] | None:
    """The phase's words as what a form asks for: the phase that failed."""
    for label in _LABEL.finditer(text):
        for pattern in patterns:
            found = pattern.match(text, label.end())
            if found and not _excluded(text, found):
                return found.span()
    return None


def _function(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, int] | None:
    """The phase's words as the name of a function in which a remark beside a log puts the failure."""
    for place in _IN_FUNCTION.finditer(text):
        for pattern in patterns:
            found = pattern.match(text, place.end())
            if (
                found
                and ("_" in found[0] or "." in found[0])
                and _WHOLE.match(text, found.end())
                and not _excluded(text, found)
            ):
                return found.span()
    return None


def _moment(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, int] | None:
    """The phase's words as the end of a sentence that names the moment and nothing else of a failure."""
    for start, sentence in _sentences(text):
        for pattern in patterns:
            for found in pattern.finditer(sentence):
                told = _MOMENT.match(sentence[found.end() :]) or (
                    _I_WAS.search(sentence, 0, found.start()) and not _HABIT.search(sentence)
                )
                if told and not _excluded(sentence, found):
                    return start + found.start(), start + found.end()
    return None


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end in _SENTENCE.finditer(text):
        yield start, text[start : end.start()]
        start = end.end()
    yield start, text[start:]


@lru_cache(maxsize=512)
def failing_sentences(text: str) -> tuple[tuple[int, str, tuple[re.Match[str], ...]], ...]:
    """The sentences that tell of a failure, each with its place and its words of failure; a text is asked once for each phase."""
    told = ((start, sentence, tuple(_failures(sentence))) for start, sentence in _sentences(text))
    return tuple((start, sentence, failures) for start, sentence, failures in told if failures)


def _failures(sentence: str) -> Iterator[re.Match[str]]:
    for found in FAILURE.finditer(sentence):
        if not _NO_FAILURE.search(sentence[max(0, found.start() - 24) : found.start()]):
            yield found


def _excluded(sentence: str, found: re.Match[str]) -> bool:
    before, after = sentence[max(0, found.start() - 32) : found.start()], sentence[found.end() : found.end() + 60]
    if _begun(before, after):
        return False
    either = _OR_BEFORE.search(before) or _OR_AFTER.match(after)
    trained = _TRAINED.search(before) and not _DONE.match(found[0])
    return bool(either or trained or _NOT_IN.search(before) or _over(after))


def _over(after: str) -> bool:
    """Whether what follows the words of a phase says that it went well, that it was still to come, or that something else came then."""
    return bool(_WENT_WELL.match(after) or _EARLIER.match(after) or _THEN.match(after))


def _begun(before: str, after: str) -> bool:
    return bool(_AFTER.search(before) and _BEGUN.match(after))


def _belongs(sentence: str, found: re.Match[str], failure: re.Match[str]) -> bool:
    """Whether a link or mere nearness ties the phase's words to this word of failure."""
    if found.start() < failure.end() and failure.start() < found.end():
        return True  # “sglang 起不来” is both
    if found.end() <= failure.start():
        between = sentence[found.end() : failure.start()]
        if len(between) > _FAR:
            return False
        before = sentence[max(0, found.start() - 60) : found.start()]
        glued = GLUE.match(between) and not _USED_FOR.search(before)
        return bool(_LINK.search(before) or glued or _CHINESE.match(sentence[found.end() :]))
    between = sentence[failure.end() : found.start()]
    named = "_" in found[0] and _NAMED_NEXT.match(between)
    begun = _begun(between, sentence[found.end() : found.end() + 30])
    doing = _DOING.match(between + found[0])  # “OOM computing log probs”
    apposed = _APPOSED.fullmatch(between) and _ALONE.fullmatch(sentence, found.end())
    return len(between) <= _NEAR and bool(named or begun or doing or apposed or _LINK_CLOSE.search(between))
