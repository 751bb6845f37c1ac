"""Home and mount paths: the components that name a person or a company go, module paths and model names stay."""

from __future__ import annotations

import re

# Roots whose next component is a person.
_HOMES = frozenset({"home", "Users"})
# Roots of containers: what follows is often the checkout itself, which tells what is run; a plain small word may be a person.
_CONTAINERS = frozenset({"root", "workspace", "workspaces", "app", "opt"})
_MOUNTS = frozenset({
    "mnt", "data", "nas", "share", "shared", "nfs", "lustre", "gpfs", "cpfs", "vepfs", "dfs", "afs", "efs", "fsx",
    "ceph", "cephfs", "juicefs", "oss", "scratch", "storage", "project", "projects", "work", "proj", "group",
    "groups", "public", "gluster", "netdisk", "volume", "volumes", "media", "cluster", "apdcephfs", "export",
})  # fmt: skip
_NUMBERED = re.compile(r"(?:data|disk|nvme|ssd|hdd|nas|mnt|home|share|nfs)_?\d{1,3}", re.A)
_KEPT_SECOND = frozenset({"conda", "miniconda3", "anaconda3", "venv", "nvidia", "python"})  # under /opt
_OF_PEOPLE = frozenset({"home", "homes", "user", "users", "people", "members", "staff", "Users"})

_PART = r"(?:[A-Za-z0-9_.@+~%\u00c0-\u024f-]{1,120}|[\u4e00-\u9fff]{1,40})"
_PATH = re.compile(
    # the slash first, since a pattern that begins with a letter of its own is found faster
    rf"/(?:(?<![A-Za-z0-9_./~$}}›-]/)|(?<=file:///)|(?<= -[ILv]/))([A-Za-z][A-Za-z0-9_]{{1,20}})((?:/{_PART}){{1,40}}+)(/?)",
    re.ASCII,
)
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:(?:[\\/]{1,2})Users[\\/]{1,2}[^\\/\s\"':‹›]{1,60}", re.A)
# what names a model by its size, or a data set by its rows: gsm8k, DAPO-Math-17k
_SIZED = re.compile(r"\d(?:\.\d+)?[bB](?![a-z0-9])|[A-Za-z-]\d{1,3}[kK]$", re.A)
_PLAIN = re.compile(r"[a-z]+", re.A)


def hide_paths(text: str) -> str:
    """The text with ``‹path›`` for the private start of absolute paths."""
    if "/" in text:
        text = _PATH.sub(_hide, text)
    return _WINDOWS.sub("‹path›", text) if "Users" in text else text


def _hide(found: re.Match[str]) -> str:
    root, parts = found[1], found[2].split("/")[1:]
    taken = _private_parts(root, parts)
    if taken is None:
        return found[0]
    return "/".join(["‹path›", *parts[taken:]]) + found[3]


def _private_parts(root: str, parts: list[str]) -> int | None:
    """How many components after the root go; None when the path is nobody's."""
    if root in _HOMES:
        return 1
    if root in _CONTAINERS:
        if root == "opt" and parts[0] in _KEPT_SECOND:
            return None
        return 1 if len(parts) > 1 and _PLAIN.fullmatch(parts[0]) else 0
    if root not in _MOUNTS and not _NUMBERED.fullmatch(root):
        return None
    for place, part in enumerate(parts[:4]):
        if part in _OF_PEOPLE and place + 1 < len(parts):
            return place + 2
    return 0 if len(parts) == 1 or _SIZED.search(parts[0]) else 1
