"""Machines and people: addresses, host names, users. What only looks like them stays: versions, times, bus and hardware ids."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address

from diagnose.ingest.credentials import Rule

_USER, _HOST, _EMAIL = "‹user›", "‹host›", "‹email›"
# A person's name: letters of Latin scripts with their accents, or a few Chinese signs. Where a key or a site leads to it both may mix.
_LATIN, _SIGNS = r"\u00c0-\u024f", r"\u4e00-\u9fff"
_PERSON = rf"(?:[A-Za-z_{_LATIN}][\w{_LATIN}.-]{{0,40}}|[{_SIGNS}]{{2,4}})"
_CALLED = rf"[\w{_LATIN}{_SIGNS}.-]"

_IPV4 = re.compile(r"(\d(?<![\w.]\d)\d{0,2})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\.?\d|[A-Za-z_])", re.A)
# What stands before four numbers that are a version: ==, v, "version", or the name column of a package list.
_BEFORE_VERSION = re.compile(
    r"(?:[=~<>!]=[ \t]*|(?i:version|driver)[ \t:=]{0,4}|(?:^|[\s|│])[A-Za-z][\w.-]{0,80}(?:cu\d\d\w{0,20})[ \t]{1,40})$",
    re.A,
)
_BEFORE_COLUMN = re.compile(r"^[ \t│|]*[A-Za-z][\w.-]*[ \t]{2,}$", re.A)
_PRIVATE = ("10.", "172.", "192.168.")
_NO_SECRET = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})
# what an address holds, with its literal first, since that is found faster
_FOUR = re.compile(r"\.\d{1,3}\.\d{1,3}\.\d", re.A)
_GROUPS = re.compile(r"::|:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:", re.A)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,36}[0-9A-Fa-f](?:%\w{1,15})?(?![\w:])", re.A)

# A name that a person gave a machine: letters, then digits, dots or dashes; no card, no number alone.
_NO_CARD = r"(?!(?:[ABHLPTV]|GB|GH|MI|RTX[ -]?)\d{1,4}[a-z]?(?![a-z]\d))"
_NAME = rf"(?!(?:localhost|auto|none|null|env|node|all)\b){_NO_CARD}[A-Za-z][\w-]{{0,60}}(?:\.[\w-]{{1,60}}){{0,6}}"
_TELLING_NAME = rf"{_NO_CARD}(?=[A-Za-z][\w-]*(?:[.-][\w.-]*\d|\d\d))[A-Za-z][\w-]{{0,60}}(?:\.[\w-]{{1,60}}){{0,6}}"
_MACHINE = r"(?:gpu|node|host|worker|master|server|login|dgx|hgx|compute|head|slurm|cluster|bastion|jump|cn|hpc)"


def _host(words: tuple[str, ...], pattern: str) -> Rule:
    return words, re.compile(pattern, re.A), r"\g<keep>" + _HOST


HOSTS: tuple[Rule, ...] = (
    (
        ("@",),
        re.compile(
            rf"(?<![\w{_LATIN}/.@+-]){_PERSON}@[A-Za-z0-9][\w.-]{{0,80}}(?=:[~/]|[ \t][^\s\]]{{1,60}}\][$#]|:?[$#] )",
            re.A,
        ),
        f"{_USER}@{_HOST}",
    ),
    (
        ("ssh", "scp", "rsync"),
        re.compile(
            rf"(\b(?:ssh|scp|rsync|ssh-copy-id)\b[^\n@]{{0,60}}[ \t])(?!git@){_PERSON}@[A-Za-z0-9][\w.-]{{0,80}}",
            re.A,
        ),
        rf"\1{_USER}@{_HOST}",
    ),
    (
        ("@",),
        re.compile(
            rf"(?<![A-Za-z0-9._%+{_LATIN}‹›-])(?!git@)[A-Za-z0-9._%+{_LATIN}-]{{1,64}}@(?:[A-Za-z0-9-]{{1,63}}\.){{1,6}}[A-Za-z]{{2,24}}(?![\w-])",
            re.A,
        ),
        _EMAIL,
    ),
    (
        ("@",),
        re.compile(
            rf"(?<![\w/.@+‹›-])[a-z_][\w.-]{{0,40}}@(?={_MACHINE})[a-z]{{2,20}}[\w-]{{0,40}}\d[\w.-]{{0,40}}", re.A
        ),
        f"{_USER}@{_HOST}",
    ),
    (
        ("logged in as", "wandb.ai/", "swanlab.cn/@"),
        re.compile(
            r"(?i)(\blogged in as:?[ \t]{1,4}|\bwandb\.ai/(?!authorize\b|site\b|settings\b|home\b)"
            rf"|swanlab\.cn/@){_CALLED}{{1,60}}( \({_CALLED}{{1,60}}\))?",
            re.A,
        ),
        rf"\1{_USER}",
    ),
    (
        ("user=", "logname=", "username", "userid=", "user_name"),
        re.compile(
            r"(?P<keep>(?<![\w-])(?:USER|LOGNAME|[Uu]ser_?[Nn]ame|USERNAME|UserId)[\"']?[ \t]{0,2}[=:][ \t]{0,2}[\"']?)"
            rf"(?![$<‹{{]|user\b|root\b|[Nn]one|null|\d){_CALLED}{{2,41}}",
            re.A,
        ),
        r"\g<keep>" + _USER,
    ),
    (
        ("entity",),
        re.compile(
            r"(?P<keep>(?<![\w])(?:--)?(?:wandb[_.-]|WANDB_)?(?i:entity)[\"']?(?:[ \t]{0,2}[=:][ \t]{0,2}|[ \t](?=[\w.-]{1,40}$))[\"']?)"
            rf"(?![$<‹{{]|[Nn]one|null|[Nn]ame|\d){_CALLED}{{2,41}}",
            re.A,
        ),
        r"\g<keep>" + _USER,
    ),
    _host(("ip-",), r"(?P<keep>(?<![\w.-]))ip(?:-\d{1,3}){4}(?:\.[\w-]+){0,4}"),
    _host(("nccl",), rf"(?P<keep>^){_NAME}(?=:\d{{1,9}}:\d{{1,9}} \[\d{{1,3}}\] )"),
    _host(("srun: error: ",), rf"(?P<keep>srun: error: ){_NAME}(?=: task)"),
    _host((" on ",), rf"(?P<keep>\*\*\* (?:JOB|STEP) [\d.]{{1,20}} ON ){_NAME}"),
    _host(
        ("kernel", "systemd", "dockerd", "containerd", "slurmstepd", "kubelet"),
        rf"(?P<keep>\d\d:\d\d:\d\d(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)? )(?!kernel\b){_NAME}"
        rf"(?= (?:kernel|systemd|dockerd|containerd|slurmstepd|kubelet)\b)",
    ),
    _host(
        (": ",),
        # EasyR1, Search-R1: a program's name before its error
        r"(?P<keep>^)(?![A-Za-z]+-?R1\b)[A-Za-z][A-Za-z_.-]{0,60}\d[\w.-]{0,60}"
        r"(?=: (?:\[rank|\[\d{4}-|Traceback \(|  File \"|torch\.|[A-Za-z]{1,40}Error\b))",
    ),
    _host(
        ("host",),
        r"(?i)(?P<keep>(?<![\w-])host(?:_?name)?[\"']?[ \t]{0,12}[:=][ \t]{0,4}[\"']?)(?!localhost\b)"
        r"(?:[A-Za-z][\w-]{0,60}[\d.][\w.-]{0,80}|[A-Za-z]\w{0,40}-[\w-]{1,60}(?=[ \t]*$))",
    ),
    _host(
        ("nodename", "node_name", "nodelist", "ray_node"),
        rf"(?i)(?P<keep>(?<![\w])(?:slurmd?_)?(?:job_)?(?:node_?name|nodelist|ray_node)"
        rf"[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"']?){_NAME}(?:\[[\d,-]{{1,60}}\])?",
    ),
    _host(
        ("master_addr", "master-addr", "head_node", "dist_init", "dist-init", "rdzv", "--address", "--hostfile"),
        rf"(?i)(?P<keep>(?:master[_-]addr(?:ess)?|head_node(?:_ip)?|dist[_-]init[_-]addr|rdzv[_-]endpoint|--address)"
        rf"[=: \t\"']{{1,3}}(?:tcp://)?){_NAME}(?!://)(?=[:\s\"',;)]|$)",
    ),
    _host(
        ("://",),
        rf"(?P<keep>\b(?:tcp|http|grpc|ray|redis|nfs|ws)s?://)(?!‹){_MACHINE}[\w-]{{0,40}}\d[\w.-]{{0,60}}(?=[:/\s]|$)",
    ),
    _host((" slots=",), rf"(?P<keep>^[ \t]{{0,8}}){_NAME}(?= slots=\d)"),
    _host(
        ("host", "node", "machine", "server", "机器", "节点"),
        rf"(?P<keep>(?i:\b(?:on|from|to|of|at|the|my|our|host|login)[ \t](?:the[ \t])?"
        rf"(?:compute[ \t]|head[ \t]|login[ \t]|gpu[ \t])?(?:host|node|machine|server)[ \t]|(?:机器|节点)[ \t]?)[`\"']?)"
        rf"{_TELLING_NAME}(?![\w/=(])",
    ),
    # behind python -m stands a module, whose name has no dash: areal.launcher.local
    _host(
        (".local", ".internal", ".lan", ".corp", ".intra", ".hpc", ".cluster", ".svc", ".ts.net", ".edu"),
        r"(?P<keep>(?<![\w./@-])(?:(?<!python[ \t]-m[ \t])(?<!python3[ \t]-m[ \t])|(?=[\w.]*-)))"
        r"(?:(?=[A-Za-z])(?:[\w-]{1,60}\.){1,6}(?:local|internal|lan|corp|intra|intranet|hpc|localdomain|cluster|ts\.net)(?![\w/(=.-])"
        rf"|{_MACHINE}[\w-]{{0,40}}\d[\w-]{{0,20}}(?:\.[a-z][\w-]{{0,40}}){{1,5}}\.(?:edu|com|org|net|cn|de|uk|ch|fr|jp|kr|ac\.\w\w|edu\.\w\w)(?![\w.-]))",
    ),
)


def hide_addresses(line: str) -> str:
    """The line with ``‹address›`` for addresses of machines; those that mean any or this machine stay."""
    if _FOUR.search(line):
        line = _IPV4.sub(_v4, line)
    return _IPV6.sub(_v6, line) if _GROUPS.search(line) else line


def _v4(found: re.Match[str]) -> str:
    if found[0] in _NO_SECRET or any(int(part) > 255 for part in found.groups()):
        return found[0]
    before = found.string[max(0, found.start() - 120) : found.start()]
    if _BEFORE_VERSION.search(before):
        return found[0]
    if _BEFORE_COLUMN.match(before) and not found[0].startswith(_PRIVATE):
        return found[0]
    return "‹address›"


def _v6(found: re.Match[str]) -> str:
    """Eight groups, or fewer with ``::``; a scope of C++ has hardly a digit, a time and a hardware id have no ``::``."""
    words = found[0].partition("%")[0]
    try:
        address = IPv6Address(words)
    except AddressValueError:
        return found[0]
    groups = [group for group in words.split(":") if group]
    plain = len(groups) < 2 or not any(character.isdigit() for character in words)
    return found[0] if address.is_loopback or address.is_unspecified or plain else "‹address›"
