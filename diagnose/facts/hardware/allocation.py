"""What a scheduler or a container gives: cards, nodes and the limit of host memory, by Slurm, Kubernetes, Docker and others.

Forms: slurm.schedmd.com/sbatch.html, kubernetes.io "Schedule GPUs", verl@1dda039b9 docs/start/multinode.rst (SkyPilot), dstack.ai
"Tasks" (nodes, resources.gpu), modal.com "GPU acceleration", docs.docker.com "Enable GPU support" (device_ids, count) and
"docker run --gpus"; those of memory stand in ``memory_limits``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from diagnose.facts.hardware.job_totals import job_totals
from diagnose.facts.hardware.launcher import devices_of
from diagnose.facts.hardware.memory_limits import LIMIT, SCHEDULED, read_limits
from diagnose.facts.sentences.prose import span_of
from diagnose.facts.settings import written
from diagnose.types import Fact, Paste, Setting

_NODES = re.compile(r"\s(?:--nodes[= ]|-N ?)(?P<count>\d{1,4})(?=\s|$)", re.A)
_PER_NODE = re.compile(
    r"\s--(?:gres[= ]gpu|gpus-per-node)[:= ](?:[A-Za-z][\w.-]{0,40}:)?(?P<count>\d{1,2})(?=[\s,(]|$)", re.A
)
# what ``seff`` prints of a job of several nodes (SchedMD/slurm contribs/seff/seff)
_OF_JOB = re.compile(r"\s*Nodes: (?P<count>[1-9]\d{0,3})\s*$", re.A)
_JOB = re.compile(r"\s*Job ID: \d", re.A)
_GPUS = re.compile(r"\s(?:--gpus[= ]|-G ?)(?:[A-Za-z][\w.-]{0,40}:)?(?P<count>\d{1,4})(?=\s|$)", re.A)
# in a sentence: “I submit with sbatch --nodes=1 …”
_SUBMITTED = re.compile(
    r"\b(?:submit\w*|start\w*|launch\w*|run|with|by|via|using)\s+[`'\"]?(?:sbatch|srun|salloc)\s+--?\w|(?:用|通过)\s?(?:sbatch|srun)\s+--?\w",
    re.I | re.A,
)
_TASKS = re.compile(r"\s(?:--ntasks[=-]|-n ?)", re.A)
# “H100:8”, or the kind as a key of its own with the number behind it
_ACCELERATORS = re.compile(r"resources\.(?:accelerators(?:\.[A-Za-z][\w-]{0,40})?|gpu(?:\.count)?)$", re.A)
# the same as an argument of a function that a cloud runs: gpu="H100:2"
_OF_FUNCTION = re.compile(r"[A-Z][\w-]{1,30}:\d{1,2}", re.A)
_MOST_CARDS = 16
_LIMIT_KEY = re.compile(
    r"(?:^|\.)limits\.(?P<what>[a-z]{2,12}\.com/[\w-]{0,20}gpu|huawei\.com/Ascend\w{0,8})$", re.I | re.A
)
# of a container: how many devices are reserved for it, or which
_RESERVED = re.compile(r"(?:^|\.)devices\.(?:count|device_ids)$", re.A)
_ASKED = re.compile(
    r"(?<![\w.])(?P<what>(?:nvidia|amd)\.com/gpu)[\"']?\s*[:=]\s*[\"']?(?P<count>\d{1,2})(?![\w.])", re.A
)
# how many pods of one kind there are, and the same in a sentence beside what one of them may take
_REPLICAS = re.compile(r"(?P<of>(?:[\w-]+\.)*)replicas$", re.A)
_PODS = re.compile(
    r"(?<![\w.])replicas\s?[:=]?\s?(?P<told>[1-9]\d{0,2})(?![\w/])|\bof (?:the |my |our )?(?P<all>[1-9]\d{0,2}) (?:worker )?pods\b"
    r"|(?<![\w./])(?P<count>[1-9]\d{0,2}) (?:worker )?pods\b"
    r"(?!\s+(?:(?:were|was|got|get|are|is|keep|have) )?(?:OOM|kill|die|restart|evict|crash|pend|fail|left))",
    re.I | re.A,
)
_STARTS_CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create)\s", re.A)


def read_allocation(paste: Paste) -> dict[str, Fact]:
    """Cards and nodes that were asked for, and the lowest limit of host memory; with no limit, what the machine has."""
    found: dict[str, Fact] = {}
    for fact in (
        *_slurm(paste),
        *_seff(paste),
        *job_totals(paste, LIMIT),
        *_one_node(paste),
        *_kubernetes(paste),
        *_skypilot(paste),
        *_containers(paste),
    ):
        found.setdefault(fact.id, fact)
    return {**found, **read_limits(paste, found)}


def _slurm(paste: Paste) -> Iterator[Fact]:
    for line in paste.lines:
        if not (SCHEDULED.match(line.words) or _SUBMITTED.search(line.words)):
            continue
        for id, pattern in (("n_nodes", _NODES), ("gpus_per_node", _PER_NODE), ("n_gpus", _GPUS)):
            if (found := pattern.search(line.words)) and int(found["count"]) > 0:
                yield Fact(id, int(found["count"]), "read", written=found[0].strip(), span=span_of(line, found))


def _seff(paste: Paste) -> Iterator[Fact]:
    if any(_JOB.match(line.words) for line in paste.lines):
        for line in paste.lines:
            if found := _OF_JOB.match(line.words):
                yield Fact("n_nodes", int(found["count"]), "read", written=found[0].strip(), span=span_of(line, found))


def _one_node(paste: Paste) -> Iterator[Fact]:
    """A job's header that asks for neither nodes nor tasks gets one task, and for it one node: sbatch(1), --nodes, --ntasks."""
    asked = [line for line in paste.lines if line.words.lstrip().startswith("#SBATCH ")]
    if any(_NODES.search(line.words) or _TASKS.search(line.words) for line in asked):
        return
    for line in asked:
        if cards := _PER_NODE.search(line.words):
            yield Fact("n_nodes", 1, "assumed", span=span_of(line, cards), why="a job that asks for no more")


def _kubernetes(paste: Paste) -> Iterator[Fact]:
    limits = [
        (setting, found["what"])
        for setting in paste.settings
        if setting.shape in ("yaml", "json")
        and (found := _LIMIT_KEY.search(setting.key))
        and setting.value.isdigit()
        and 0 < int(setting.value) <= _MOST_CARDS
    ]
    asked = [Fact("gpus_per_node", int(one.value), "read", "", what, one.value, one.span) for one, what in limits]
    for line in paste.lines:  # in a sentence
        if "com/gpu" in line.words and (found := _ASKED.search(line.words)) and 0 < int(found["count"]) <= _MOST_CARDS:
            asked.append(
                Fact("gpus_per_node", int(found["count"]), "read", written=found[0], span=span_of(line, found))
            )
    yield from asked
    if len({fact.value for fact in asked}) == 1 and (pods := _replicas(paste, limits) or _pods(paste)):
        yield pods


def _replicas(paste: Paste, limits: Sequence[tuple[Setting, str]]) -> Fact | None:
    """The pods of all kinds that have cards; those of a kind without a number of its own, such as a head, are one."""
    told = [(setting, found["of"]) for setting in paste.settings if (found := _REPLICAS.match(setting.key))]
    paths = [setting.key for setting, _ in limits]
    with_cards = [(setting, of) for setting, of in told if any(path.startswith(of) for path in paths)]
    if not with_cards or len({of for _, of in with_cards}) < len(with_cards) or len(set(paths)) < len(paths):
        return None  # none, or several of one name
    if not all(setting.value.isdigit() for setting, _ in with_cards):
        return None
    alone = sum(not any(path.startswith(of) for _, of in with_cards) for path in paths)
    total = sum(int(setting.value) for setting, _ in with_cards) + alone
    first = with_cards[0][0]
    return Fact("n_nodes", total, "read", "", first.key, first.value, first.span) if total else None


def _pods(paste: Paste) -> Fact | None:
    for line in paste.lines:
        if found := _PODS.search(line.words):
            count = int(found["told"] or found["all"] or found["count"])
            return Fact("n_nodes", count, "read", written=found[0], span=span_of(line, found))
    return None


def _skypilot(paste: Paste) -> Iterator[Fact]:
    """The cards of each node of a task, and its nodes: one unless it says more."""
    settings = {setting.key: setting for setting in paste.settings if setting.shape == "yaml"}
    kinds = [setting for key, setting in settings.items() if _ACCELERATORS.match(key)]
    kinds += [one for one in paste.settings if one.key == "gpu" and _OF_FUNCTION.fullmatch(written.bare(one.value))]
    if len(kinds) != 1:
        return  # several are a choice
    asked, nodes = kinds[0], settings.get("num_nodes", settings.get("nodes"))
    count = written.bare(asked.value).rpartition(":")[2].strip(" {}")  # also of a map in braces
    if not count.isdigit() or not 0 < int(count) <= _MOST_CARDS:
        return
    yield Fact("gpus_per_node", int(count), "read", "", asked.key, asked.value, asked.span)
    if nodes is None:
        yield Fact("n_nodes", 1, "assumed", span=asked.span, why="a task that asks for no more")
    elif nodes.value.isdigit() and int(nodes.value):
        yield Fact("n_nodes", int(nodes.value), "read", "", nodes.key, nodes.value, nodes.span)


def _containers(paste: Paste) -> Iterator[Fact]:
    """The cards of a container, where all that the text starts have as many; it is one of several only where something says so."""
    given = [(setting, count) for setting in paste.settings if (count := _given(paste, setting))]
    if len({count for _, count in given}) == 1:
        setting, count = given[0]
        yield Fact("gpus_per_node", count, "read", "", setting.key, setting.value, setting.span)
        yield Fact("n_nodes", 1, "assumed", span=setting.span, why="a container, and nothing tells of more than one")


def _given(paste: Paste, setting: Setting) -> int:
    """How many cards a setting gives a container: a number of them, or a list."""
    key, value = setting.key, written.bare(setting.value)
    line = paste.line(setting.span.line)
    if key == "gpus" and line and _STARTS_CONTAINER.search(line.words):
        value = value.strip("'\"").removeprefix("device=")
        listed = value != setting.value
    elif key == "NVIDIA_VISIBLE_DEVICES":
        listed = True
    elif setting.shape == "yaml" and _RESERVED.search(key):
        listed = key.endswith("device_ids")
    else:
        return 0
    count = len(devices_of(value)) if listed else int(value) if value.isdigit() else 0
    return count if count <= _MOST_CARDS else 0
