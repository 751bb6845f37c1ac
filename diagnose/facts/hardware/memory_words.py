"""Host RAM in words and in the tables of ``free`` and of environment reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnose.facts.hardware.cards import Mention
from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line
from diagnose.units import GIB, KIB, MIB, TIB

_RAM = (
    r"(?:(?:system|host|physical|cpu|main|server|node|machine)[-\s]*(?:ram|memory|mem)|(?<![a-z])ram(?:\s+memory)?"
    r"|(?:系统|主机|物理|机器|cpu)\s*内存"
    r"|(?<![显片])(?<!共享)(?<!片上)(?<!npu)(?<!npu )(?<!gpu)(?<!gpu )(?<!设备)内存)"
)
# what a pod asks for is no limit of it
_LIMIT = (
    r"(?:\blimits?|\bk8s|\bpods?|\bcontainers?|\bcgroups?|容器)(?:(?!request)[^\n]){0,24}?\bmem(?:ory)?\s*(?:limit)?"
)
_SIZE = r"(?P<size>\d{1,3}(?:,\d{3})+|\d{2,4}(?:\.\d+)?|\d(?:\.\d+)?(?=\s*t))\s*(?P<unit>[gt])(?:i?b|i)?(?![a-z])"
# a limit comes first: what the machine has may stand beside it
_FORMS = (
    re.compile(rf"(?<![\d.]){_SIZE}\s*(?:of\s+)?(?:host\s)?(?:mem(?:ory)?|ram)\s+(?:limit|cap|quota)\b", re.I | re.A),
    re.compile(rf"(?:\bdocker|\bpod|容器)\s*[里内]?\s*(?:只|就)\s*(?:给|分|有|能用)[^\d\n]{{0,4}}{_SIZE}", re.I | re.A),
    re.compile(
        r"(?:\bk8s|\bkubernetes|\bkuberay|\braycluster|\bpods?|\bcontainers?|\bcgroups?|\bdocker|容器)"
        rf"(?:(?!shm|共享|显存|gpu.?mem)[^\n]){{0,60}}?(?:\blimit(?:s|ed)?|限制|上限|限额)"
        rf"\s*(?:is|are|to|of|at|是|为|到|了|[:：=])?\s*(?:--memory[ =])?{_SIZE}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?:\bonly|\bjust|\bbut|只有|只给)\s*{_SIZE}\s*(?:of (?:it )?)?(?:for|in|to|给)\s*"
        r"(?:my |the |our |this |a )?(?:cgroup|container|pod|job|docker|容器)",
        re.I | re.A,
    ),
    # learn.microsoft.com "Advanced settings in WSL": memory= of .wslconfig is the limit of the virtual machine
    re.compile(
        rf"(?<![\d.]){_SIZE}\s*(?:of (?:it |ram )?|ram )?(?:is |goes )?(?:for|to|in|inside|给)\s*(?:the )?WSL\s?2?\b",
        re.I | re.A,
    ),
    re.compile(rf"\bWSL\s?2?\b[^\n\d]{{0,24}}\bmemory\s?=\s?{_SIZE}", re.I | re.A),
    # what is used of it stands before it
    re.compile(
        rf"{_RAM}[^\n\d]{{0,16}}\d{{1,4}}(?:\.\d{{1,2}})?\s*[GT]?i?B?\s*(?:/|(?:used\s+)?(?:out\s+)?of)\s*(?:total\s+)?{_SIZE}",
        re.I | re.A,
    ),
    re.compile(
        rf"(?<![\d.]){_SIZE}\s*(?:的|of)?\s*(?:total\s+|free\s+)?{_RAM}(?!\s*[:：]?\s*\d+(?:\.\d+)?\s*[gt])",
        re.I | re.A,
    ),
    re.compile(
        rf"{_RAM}\s*(?:total|size|大小|每台(?:机器)?|每个?节点|每机|单台|单机|总共|一共|共|只有|仅有?|就|才|有|是|(?:也|都)?(?:足|管)?够用?的?[，,]?"
        rf"|为|：|:|=|\||of|is|limit(?:ed)? (?:to|of)|limit|上限|限制|限额|[(（])?\s*[:：]?\s*{_SIZE}",
        re.I | re.A,
    ),
    re.compile(
        rf"{_RAM}[^\n\d.;]{{0,24}}\b(?:nodes|machines|servers|hosts|boxes)\s*[(（]\s*{_SIZE}\s*(?:each\b|[)）])",
        re.I | re.A,
    ),
    re.compile(rf"(?<![\d.]){_SIZE}\s*DDR\d", re.I | re.A),
    re.compile(
        rf"\bhost\s+(?:has|have|with)\s*{_SIZE}"
        r"(?!\s*(?:of\s+|total\s+){0,2}(?:gpu|vram|hbm|显存|disk|ssd|nvme|swap|shm|/dev|cards?|free|left|[a-z]+ cards?))",
        re.I | re.A,
    ),
    # what a machine has, and nothing behind it says of what
    re.compile(
        r"\b(?:nodes?|machines?|servers?|box(?:es)?)\s+(?:each\s+)?(?:has|have|had|with)\s+"
        r"(?P<size>\d(?:\.\d+)?(?=\s?t)|9[6-9]|[1-9]\d{2,3})\s?(?P<unit>[gt])(?:i?b|(?<=t)|(?<=T))\b"
        r"(?=\s*(?:[.,;)]|$|and\b|of (?:it|memory|mem)\b|(?:main )?memory\b))",
        re.I | re.A,
    ),
    re.compile(
        r"(?:机器|服务器|节点|主机)\s?(?:一共|总共|共)(?:就?有)?\s?(?P<size>\d(?:\.\d+)?(?=\s?t)|9[6-9]|[1-9]\d{2,3})\s?(?P<unit>[gt])(?:i?b)?"
        r"(?![\w/])(?!\s?(?:的\s?)?(?:硬盘|磁盘|盘|固态|存储|显存|空间|ssd|nvme|disk))",
        re.I | re.A,
    ),
    # no card has a terabyte
    re.compile(
        r"(?:机器|每台|单台|单机|服务器|节点|主机)\s?(?:都?有|是|为|[:：])?\s?(?P<size>\d(?:\.\d)?)\s?(?P<unit>t)(?:i?b)?(?![\w/.])"
        r"(?!\s?(?:的\s?)?(?:硬盘|磁盘|盘|固态|存储|显存|空间|ssd|nvme|disk))",
        re.I | re.A,
    ),
    re.compile(
        r"(?:\b(?:nodes?|machines?|servers?|hosts?|box(?:es)?)|机器|服务器|节点|主机)\s?[(（]\s?(?P<size>\d(?:\.\d)?)\s?(?P<unit>t)(?:i?b)?"
        r"(?:\s(?:each|ram|memory|mem))?\s?[)）]",
        re.I | re.A,
    ),
    re.compile(
        r"(?<![\d./])(?P<size>\d(?:\.\d+)?)\s*(?P<unit>t)i?b?\s*(?:of\s+)?mem(?:ory)?\b(?!\s*band)", re.I | re.A
    ),
    re.compile(
        r"\b(?:nodes?|machines?|servers?|hosts?)\b[^\n]{0,30}?\beach\s*(?:with\s+|has\s+|having\s+)?"
        r"(?P<size>\d(?:\.\d+)?)\s*(?P<unit>t)i?b\b(?!\s*(?:of\s+)?(?:disk|ssd|nvme|storage|scratch))",
        re.I | re.A,
    ),
    re.compile(rf"{_LIMIT}\s*[:=]?\s*\"?{_SIZE}", re.I | re.A),
)
_LITTLE = re.compile(
    r"(?:\b(?:node|machine|server|box|host|pod)\s+(?:has|had|with)\s+(?:only\s+)?(?P<size>[1-9]\d)"
    r"|\b(?:we|i)\s+(?:only\s+|just\s+)?have\s+(?:only\s+|just\s+)?(?P<have>[1-9]\d{1,3}))"
    r"\s?Gi?B\b(?=\s*(?:[.,;)]|$|and\b|of it\b))",
    re.I | re.A,
)
# a scheduler's or a container's option that somebody tells
_OPTIONS = (
    re.compile(
        rf"(?<![\w#])(?:slurm|sbatch|salloc|srun|#SBATCH)\b[^\n]{{0,60}}?(?<![\w-])--mem[= ]{_SIZE}", re.I | re.A
    ),
    re.compile(
        rf"\b(?:docker|podman)\b[^\n]{{0,60}}?(?<![\w-])(?:--memory|--mem[-_]limit|-m)"
        rf"(?:[= ]|\s?(?:is|was|of|set to|是|为|设为|设成|限制)\s?){_SIZE}",
        re.I | re.A,
    ),
)
# a use, a need or a growth is no capacity
_NOT_CAPACITY = re.compile(
    r"(?:\bus(?:e[sd]?|ing)|\btak(?:es?|ing)|\bneed\w*|\brequir\w*|\breach\w*|\bgr[eo]w\w*|\bclimb\w*|\bincreas\w*"
    r"|\bfrom|\bto|\bover|\bmore than|\bexceed\w*"
    r"|\balloc(?:ates?|ating)|\brequest(?:s|ing)|\bpin(?:s|ned|ning)"
    r"|\boccup\w*|\bleak\w*|\bextra|\bconsum\w*|\babout|\b(?:under|below|at least)|占用?了?|用了?|需要|涨到?|到|超过|升到?|增长?到?"
    r"|吃掉?了?|预留|至少|一开始|刚开始|起初|开始时?|步(?:时|后|之后)?|\bsteps?\s*\d{1,6},?|\bat (?:the )?(?:start|beginning),?)"
    r"\s*(?:up to |about |around |roughly |约|大概)?$",
    re.I | re.A,
)
_NOT_CAPACITY_AFTER = re.compile(
    r"^\s*(?:more\b|usage\b|is used\b|used\b|requested\b|in use\b|占用|被占|泄)", re.I | re.A
)
# a size right behind the name of a card is that card's, whatever ran out: “8xA100 80G 内存爆了”
_OF_A_CARD = re.compile(
    r"(?<![A-WYZa-wyz])(?:[AHVBLPT]\d{1,4}s?|RTX ?\w{4,6}|[2-5]0[5-9]0(?: ?Ti)?|910[ABC]\d?|MI\d{3}X?)"
    r"(?:[- ](?:SXM\d?|PCIe|NVL))?\s*[(（]?\s*$",
    re.I | re.A,
)
_SURELY_HOST = re.compile(
    r"(?:i?B)?\s*(?:of\s+)?(?:(?:system|host|cpu|main)|系统|主机)[-\s]*(?:ram|mem\w*|内存)\s*[)）]", re.I | re.A
)
_LARGEST_CARD = 288  # GB
_FREE = re.compile(r"^\s*(?:Mem:|内存[:：])\s+(?P<size>[\d.]+)(?P<unit>[KMGT]i?)?(?=\s+\d)", re.I | re.A)
# … as somebody tells it: “free -g: 503 total”, “free -h says Mem: total 125Gi”
_FREE_TOLD = re.compile(
    r"\bfree\s+-[a-z]{1,3}\b[^\n\d]{0,24}(?:(?<=total )|(?<=total: )|(?<=[总一]共)|(?<=[总一]共 )|(?<=总计)|(?<=总量)"
    r"|(?=\d[\d.]*\s?[MGT]?i?B?\s+total\b))"
    r"(?P<size>\d[\d.]*)\s?(?P<unit>[KMGT]i?(?=B?\b))?",
    re.I | re.A,
)
# … of which so much is free: “free -g shows 3 of 251 free”
_FREE_OF = re.compile(
    r"\bfree\s+-[a-z]{1,3}\b[^\n\d]{0,24}\d[\d.]*\s?[MGT]?i?B?\s+(?:(?:free|left|used|available)\s+)?(?:out\s+)?of\s+"
    r"(?P<size>\d[\d.]*)\s?(?P<unit>[KMGT]i?(?=B?\b))?",
    re.I | re.A,
)
_MARKS = (
    "ram",
    "mem",
    "内存",
    "ddr",
    "docker",
    "container",
    "容器",
    "cgroup",
    "pod",
    "k8s",
    "kube",
    "raycluster",
    "job",
    "wsl",
    "机器一共",
    "机器总共",
    "机器共",
    "服务器一共",
    "服务器总共",
    "节点一共",
    "节点总共",
    "主机一共",
    "主机总共",
    "host has",
    "host have",
    "host with",
    "tb",
    "node has",
    "node (",
    "nodes (",
    "machine (",
    "machines (",
    "server (",
    "host (",
    "机器(",
    "机器（",
    "节点(",
    "节点（",
    "nodes have",
    "machine has",
    "machines have",
    "server has",
    "box has",
)  # in lower case; whatever a form matches holds one
_FREE_UNITS = {"": KIB / GIB, "k": KIB / GIB, "m": MIB / GIB, "g": 1.0, "t": TIB / GIB}


# where a run needs several machines, only a size that is called one machine's is that
_OF_ONE = re.compile(r"\b(?:each|every|per|node|machine|server|box)\b|每|节点|(?<!主)机", re.I | re.A)
# the same size again in the other unit, as people write a round terabyte
_AGAIN = re.compile(r"\s*[(（]\s*(?P<size>\d{3,5})\s*g(?:i?b)?\s*[)）]", re.I | re.A)


def host_ram(speech: Sequence[Line], many: bool = False, kind: Fact | None = None) -> Fact | None:
    """GiB of one node as the text states it: of words, the table of ``free`` and the option of a container or a scheduler the lowest,
    since a limit may be below what the machine has.

    Words that differ from each other tell nothing. ``many``: the run has more cards than one machine holds.
    Where by the ``kind`` it is the host that failed, what a machine has may be as little as a card has.
    """
    table = next((fact for line in speech if (fact := _of_free(line))), None)
    said: dict[float, Fact] = {}
    limit = min((fact for line in speech if (fact := _of_words(line, _OPTIONS))), key=_gib, default=None)
    of_host = kind is not None and kind.value == "host_ram"
    for line in speech:
        if many and not _OF_ONE.search(line.words):
            continue
        if fact := _of_words(line, _FORMS) or (_little(line) if of_host else None):
            said.setdefault(_gib(fact), fact)
    known = [*(said.values() if len(said) == 1 else ()), *(fact for fact in (table, limit) if fact)]
    return min(known, key=_gib) if known else None


def _gib(fact: Fact) -> float:
    return float(fact.value)


def _little(line: Line) -> Fact | None:
    """What somebody says that a machine has, of no more than the cards of one might have."""
    found = _LITTLE.search(line.words)
    if found is None or _is_use(line.words, found):
        return None
    return Fact(
        "host_ram_gb", int(found["size"] or found["have"]), "read", written=found[0].strip(), span=span_of(line, found)
    )


def ram_by_cards(said: Sequence[Mention]) -> Fact | None:
    """RAM that the words put right behind a machine's cards: “2x RTX 5090, 128 GB”."""
    sizes = {one.ram: one for one in said if one.ram}
    if len(sizes) != 1:
        return None
    ((size, mention),) = sizes.items()
    return Fact("host_ram_gb", int(size or 0), "read", written=f"{size:g} GB", span=mention.span)


def of_node(total: Fact, said: Fact | None) -> Fact:
    """What a message counts a node against; the lower of it and the text: people round what a machine has, and a limit may be below it."""
    printed = Fact("host_ram_gb", total.value, "read", written=total.written, span=total.span)
    return min(printed, said or printed, key=lambda fact: float(fact.value))


def _of_words(line: Line, forms: Sequence[re.Pattern[str]]) -> Fact | None:
    words = line.words.lower()
    if not any(mark in words for mark in _MARKS):
        return None
    for form in forms:
        for match in form.finditer(line.words):
            if forms is _FORMS and _is_use(line.words, match):
                continue
            again = _AGAIN.match(line.words, match.end("unit"))
            size = float(match["size"].replace(",", "")) * (KIB if match["unit"].lower() == "t" else 1)
            size = float(again["size"]) if again else size
            if size <= _LARGEST_CARD and _is_of_card(line.words, match):
                continue
            if size >= 8:
                value = int(size) if size.is_integer() else size
                return Fact("host_ram_gb", value, "read", written=match[0].strip(), span=span_of(line, match))
    return None


def _is_of_card(words: str, match: re.Match[str]) -> bool:
    """Whether a size stands right behind the name of a card, and not in brackets with the system's name: “T4 (12.7 GB system RAM)”."""
    own = words[: match.start("size")].rstrip().endswith(("(", "（")) and _SURELY_HOST.match(words[match.end("unit") :])
    return not own and bool(_OF_A_CARD.search(words[: match.start("size")][-40:]))


def _is_use(words: str, match: re.Match[str]) -> bool:
    return bool(_NOT_CAPACITY.search(words[: match.start()][-40:]) or _NOT_CAPACITY_AFTER.search(words[match.end() :]))


def _of_free(line: Line) -> Fact | None:
    """``free`` prints KiB; with -m, -g or -h its figures carry or imply another unit, told apart by their size."""
    found = _FREE.match(line.words) or _FREE_TOLD.search(line.words) or _FREE_OF.search(line.words)
    if not found:
        return None
    size, unit = float(found["size"]), (found["unit"] or "").lower().rstrip("i")
    if not unit and size < 100_000_000:
        unit = "g" if size < 16_384 else "m"
    gib = size * _FREE_UNITS[unit]
    return Fact("host_ram_gb", round(gib, 1), "read", written=found[0].strip(), span=span_of(line, found))
