"""The forms in which sentences share cards or machines out: a share, what it is for, and what may stand between the two."""

from __future__ import annotations

import re

from diagnose.facts.hardware.card_look import OF_CARDS
from diagnose.facts.sentences.prose import NUMERAL

_CARD = r"(?:gpus?|cards?|cuda|[张块]?\s?卡)"
_NODE = r"(?:nodes?|machines?|servers?|hosts?|台(?:机器|服务器)?|个?节点|机器)"
_NO_SIZE = (
    r"(?![\w%]|\.\d|\s*[-:]?\s*(?:steps?|epochs?|batch|samples?|rows?|tokens?|prompts?|hours?|gib|gb|mib|g|b|k)\b)"
)
_IDS = r"\d{1,2}\s?(?:[-–~到至]\s?\d{1,2}|(?:(?:[,，、&]|and|和)\s?\d{1,2}\s?){1,7})"
SHARE = re.compile(
    rf"(?:gpus?|cards?|cuda|卡)\s?[#:]?\s?(?P<ids>{_IDS}|\d{{1,2}})(?![\w.]|\s?{_CARD})"
    rf"|(?<![\w.])(?P<ids_zh>(?:{_IDS}|\d)(?=\s?号)|\d{{1,2}}\s?[-–~到至]\s?\d{{1,2}})\s?号?\s?卡"
    r"|(?<![\w.:/-])(?P<ids_bare>\d{1,2}\s?[-–~]\s?\d{1,2})(?![\w.%-])"
    rf"|(?:the\s+)?(?:other|another|(?:the\s+)?second)\s+(?P<half2>half)|(?P<half2_zh>另外?一半)(?:的?{_CARD})?"
    rf"|\b(?P<half>half)(?:\s+of)?(?:\s+(?:the|my|our|these|those|all|them))*(?:\s+\d{{1,3}})?(?:\s+(?P<half_nodes>{_NODE})\b|{OF_CARDS})?"
    rf"|(?P<half_zh>一半)的?(?:(?P<half_nodes_zh>{_NODE})|{_CARD})?"
    rf"|(?:the\s+)?\b(?:rest|others|remaining|other|remainder)\b(?:\s+(?P<rest>{NUMERAL}))?(?:\s+(?P<rest_nodes>{_NODE})\b|(?:\s+(?:of\s+the\s+)?{_CARD}))?(?P<is_rest>)"
    rf"|(?:其余|其[他它]|剩下|剩余|余下|另外?)的?\s?(?P<rest_zh>{NUMERAL})?\s?(?:个|张|块)?(?:(?P<rest_nodes_zh>{_NODE})|卡)?(?P<is_rest_zh>)"
    rf"|(?:the\s+)?\b(?:first|last)\s+(?:(?P<nth>{NUMERAL})(?:\s+{_CARD})?|{_CARD})(?P<is_nth>)"
    rf"|(?:前面?|最?后面?)的?\s?(?P<nth_zh>{NUMERAL})\s?(?:张|块|个)?卡(?P<is_nth_zh>)"
    rf"|(?<![\w.=/-])(?P<n>{NUMERAL})\s*(?:of\s+them|(?P<nodes>{_NODE})\b|{OF_CARDS}){_NO_SIZE}"
    rf"|(?<![\w.=/-])(?P<bare>\d{{1,3}}|one|two|three|four|six|seven|eight){_NO_SIZE}",
    re.I | re.A,
)
USES = {
    "train": r"train(?:s|ing|ers?)?|learners?|actor|policy|训练|训(?!推)",
    "infer": r"(?:vllm|sglang)(?:[ -]?(?:servers?|engines?|serv(?:e|es|ing)|inference|rollouts?|推理|服务|引擎))*|rollouts?|infer(?:ence)?"
    r"|gen|generat(?:es?|ion|ing|ors?)|sampl(?:es|ing)|推理(?:引擎|服务)?|采样|生成|推",
    "other": r"critic|value model|ref(?:erence)?(?: model)?|reward(?: model)?|rm|judge|teacher|奖励模型|参考模型",
}
_NO_USE = r"(?![A-Za-z_\d]|[./=]\w|-\w|[ _](?:steps?|epochs?|batch|size|samples|tp\b)|\s?(?:卡数|步))"
_ANY = rf"(?<![A-Za-z_./=-])(?:{'|'.join(USES.values())}){_NO_USE}"
PURPOSE = re.compile(
    rf"(?<![A-Za-z_./=-])(?:{'|'.join(f'(?P<{use}>{words})' for use, words in USES.items())}){_NO_USE}", re.I | re.A
)
# all that may stand between a share and what it is for
BETWEEN = re.compile(
    r"(?:[\s:：]|\b(?:are|is|was|were|for|to|the|an?|on|in|its|own|their|of|them|which|that|runs?|running|do|does|doing|goes|go|used?|uses|using"
    r"|dedicated|reserved|kept|set|aside|serv(?:es?|ing)|hosts?|hosting|giv(?:es?|en)|gets?|takes?|has|have|with|occup(?:y|ies)|holds?|only|handles?"
    r"|model|processe?s?|ranks?|workers?|gpus?|cards?|tp\s?=?\s?\d)\b|用来|用于|来|用|做|跑|起|给|放|占用?|负责|单独|专门|只|的|在|是|拿|去|当|作为?|部署|[张块]?卡){0,16}",
    re.I | re.A,
)
# that a share is nothing else's, where nothing is said of the others
ALONE = re.compile(r"\b(?:for|dedicated|reserved|aside|own|to)\b|单独|专门|给|留|拿|做|独占|独立", re.I | re.A)
DOUBT = re.compile(
    r"\b(?:tried|try|trying|should|could|would|can i|if|whether|instead|previous\w*|maybe|plan(?:ned|ning)?|suggest\w*|recommend\w*"
    r"|earlier)\b"
    r"|要不要|该不该|试过?|建议|应该|如果|想|打算|之前|吗",
    re.I | re.A,
)
# half of what a card has is no half of the cards
OF_MEMORY = re.compile(r"memor|显存|utili[sz]|\bof (?:each|every|an?|one|the) (?:gpu|card)\b|每[张块个]", re.I | re.A)
_PAIR = r"(?P<a>\d{1,2})\s?[+:：/]\s?(?P<b>\d{1,2})"
_TWO = rf"(?P<uses>{_ANY}\s*(?:[+:/&]|and|和|与)\s*{_ANY})"
SPLITS = (
    re.compile(rf"(?<![\w.:/-]){_PAIR}\s*(?:split|分)?\s*(?:of|between|for)?\s*(?:the\s+)?{_TWO}", re.I | re.A),
    re.compile(rf"{_TWO}\s*(?:split|gpus?|cards?|分)?\s*(?:=|is|of|按|:)?\s*{_PAIR}(?![\w.:/])", re.I | re.A),
    re.compile(r"(?<![\w.:/-])(?P<a>\d{1,2})\s?[+:]\s?(?P<b>(?P=a))\s?(?:gpu\s)?(?:split|分离|对半)(?P<uses>)", re.I | re.A),
)  # fmt: skip
_BOTH = rf"{_ANY}\s*(?:[,，、/&+]|and|和|与|跟)?\s*(?:the\s+)?{_ANY}"
EACH = re.compile(
    rf"(?:训推|{_BOTH})[^。；;,，\n\d]{{0,6}}?(?:各|each)[^。；;,，\n\d]{{0,8}}?(?:一半|half|(?P<count>{NUMERAL})\s?{_CARD})", re.I | re.A
)  # fmt: skip
EVENLY = re.compile(r"\bsplit evenly|\bevenly split|\bhalf and half|\b50/50\b|对半分?|平分|一半一半", re.I | re.A)
