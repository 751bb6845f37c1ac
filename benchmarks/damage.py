"""Damage that people's texts take on the way to the paste box, one small pure function each: the truth in the text stays the same.

``HARMLESS`` changes how a text looks and nothing that it says: the same answer is due. ``LOSSY`` takes something away: fewer facts
may be read, never others. ``BYTES`` are the encodings of a file that is uploaded.
"""

from __future__ import annotations

import codecs
import html
import json
import re
from collections.abc import Callable
from functools import partial

Damage = Callable[[str], str]

_FLAG = re.compile(r"(?<![\w-])--(?=[A-Za-z])")
_FLAG_VALUE = re.compile(r"(?<![\w\"'-])(--[A-Za-z][\w.-]*)[ ](?=[A-Za-z0-9./\"'$])(?!\S+\.py\b)")
_FLAG_EQUALS = re.compile(r"(?<![\w\"'-])(--[A-Za-z][\w.-]*)=(?=[^\s=])")
_OVERRIDE = re.compile(r"(?m)(?<![\S])((?:\+{1,2})?[a-z]\w*(?:\.\w+)+)=([\w./-]+)(?=\s|$)")
_ERROR = re.compile(r"(?m)^(?=Traceback \(most|[\w.]+(?:Error|Exception): )")
_LOG = re.compile(
    r"(?m)^(?:Traceback \(most|  File \"|[\w.]+Error: |\(\w+ pid=|\[rank\d|INFO |WARNING |ERROR |\[20\d\d|20\d\d-).*$"
)
_CONTINUED = re.compile(r"[ \t]*\\[ \t]*\n[ \t]*")
# Words of people who ask, which tell nothing of the run.
_ASKED = (
    "Hi all, I get this and do not know what to do. Can somebody help?",
    "Any idea what I should change? Thanks in advance!",
)
_ASKED_ZH = ("大家好，我这边遇到了下面的问题，完整内容贴在这里：", "请问应该怎么改？先谢谢各位了。")
_BAR = "Map:  33%|███▎      | 1000/3000 [00:12<00:24, 83.1 examples/s]"
_REPEATED = (
    " [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
    "https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more options.)"
)
NVIDIA_SMI = """Sun Mar  2 09:00:01 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:10:00.0 Off |                    0 |
| N/A   31C    P0              63W / 400W |       4MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+"""


def each_line(text: str, change: Damage) -> str:
    return "\n".join(change(line) for line in text.split("\n"))


def prefixed(prefix: str) -> Damage:
    """Every line that says something behind what a launcher, a collector or a log puts there."""
    return lambda text: each_line(text, lambda line: prefix + line if line.strip() else line)


def wrapped(width: int) -> Damage:
    """Lines broken after so many columns, wherever that is, as a terminal's copy has them."""
    return lambda text: each_line(
        text, lambda line: "\n".join(line[at : at + width] for at in range(0, len(line), width)) or line
    )


def folded(width: int) -> Damage:
    """Lines broken at a blank before so many columns, as mail and editors do."""
    fold = re.compile(rf"(?=.{{{width + 1}}})(.{{20,{width}}}) (?=\S)")

    def line_folded(line: str) -> str:
        parts = []
        while (found := fold.match(line)) and found[1].strip():
            parts.append(found[1])
            line = line[found.end() :]
        return "\n".join([*parts, line])

    return lambda text: each_line(text, line_folded)


def replaced(*pairs: tuple[str, str]) -> Damage:
    def change(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return change


def substituted(pattern: str | re.Pattern[str], by: str) -> Damage:
    return partial(re.compile(pattern).sub, by)


def curly(text: str) -> str:
    """Straight quotes as a word processor or an input method writes them."""
    text = re.sub(r'(^|[\s(=\[{,:])"', r"\1“", text).replace('"', "”")
    return re.sub(r"(^|[\s(=\[{,:])'", r"\1‘", text).replace("'", "’")


def coloured(start: str, end: str) -> Damage:
    """What a program prints in colour: prefix and words of every line."""

    def change(line: str) -> str:
        if not (blank := re.match(r"(\s*)(\S.*)$", line)):
            return line
        actor = re.match(r"(\([A-Za-z]\w* pid=[^)]*\))(.*)$", line)
        return f"{start}{actor[1]}{end}{actor[2]}" if actor else f"{blank[1]}{start}{blank[2]}{end}"

    return lambda text: each_line(text, change)


def full_width_marks(line: str) -> str:
    """Marks of a sentence as an input method writes them; a line of code or of a file is not typed by hand."""
    if re.search(r"[=/\\{}\"]|^\s|^[\w.-]+: \S+$|^[\w.-]+:$", line):
        return line
    return re.sub(r":(?=\s)", "：", line).replace(", ", "，").replace("(", "（").replace(")", "）")


def full_width_letters(text: str) -> str:
    """Cards and their number as an input method writes them in full width."""
    cards = re.compile(r"(?<![\w./=-])\d+ ?(?:[xX*×] ?)?[AHVL]\d{2,3}\b")
    return cards.sub(lambda found: found[0].translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}), text)


def bulleted(text: str) -> str:
    """A point of a list before every line that stands by itself at the margin."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        before, after = lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
        alone = not before.endswith("\\") and not line.endswith(("\\", ":", "{", "(")) and after[:1] not in (" ", "\t")
        if alone and line[:1].strip() and line[0] not in "-*#`|>[{}":
            lines[at] = f"- {line}"
    return "\n".join(lines)


def fenced(text: str) -> str:
    return f"```bash\n{text}\n```"


def folded_away(text: str) -> str:
    return f"<details>\n<summary>Full output</summary>\n\n```shell\n{text}\n```\n\n</details>"


def of_docker(text: str) -> str:
    """A container's log file: one JSON object a line."""

    def change(line: str) -> str:
        entry = {"log": line + "\n", "stream": "stderr", "time": "2025-03-02T09:00:01.123456789Z"}
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))

    return each_line(text, change)


def two_ranks(text: str) -> str:
    """Both ranks print every line, one after the other, each under its name."""
    return each_line(text, lambda line: f"[rank0]: {line}\n[rank1]: {line}" if line.strip() else line)


def twice(text: str) -> str:
    """Two processes without names print every line of the log, one after the other."""
    return _LOG.sub(r"\g<0>\n\g<0>", text)


def bars(text: str) -> str:
    """A progress bar drawn anew in its place, between what a log prints."""
    return _LOG.sub(lambda found: f"{_BAR}\r{_BAR}\n{found[0]}", text)


def bar_before_error(text: str) -> str:
    """An error printed in the line of a progress bar that had not ended it."""
    return _ERROR.sub(_BAR, text)


def repeated(text: str) -> str:
    return _LOG.sub(lambda found: found[0] + _REPEATED, text)


def in_one_line(text: str) -> str:
    """Continued lines put together, and the backslashes gone with the line ends."""
    return _CONTINUED.sub(" ", re.sub(r"(?m)^[ \t]*#.*\\\n", "", text))


def numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def between(before: str, after: str) -> Damage:
    return lambda text: f"{before}\n\n{text}\n\n{after}"


def without_head(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[len(lines) * 3 // 10 :])


def without_tail(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) - len(lines) * 3 // 10])


def without_middle(text: str) -> str:
    lines = text.split("\n")
    third = max(1, len(lines) // 3)
    return "\n".join([*lines[:third], "...", *lines[2 * third :]])


def last_lines(count: int) -> Damage:
    return lambda text: "\n".join(text.split("\n")[-count:])


def narrow(width: int) -> Damage:
    """What stands right of a pane's edge is not copied."""
    return lambda text: each_line(text, lambda line: line[:width])


def misread(encoding: str) -> Damage:
    """UTF-8 shown as if it were another encoding."""
    return lambda text: text.encode().decode(encoding, "replace")


HARMLESS: dict[str, Damage] = {
    "colour": coloured("\x1b[36m", "\x1b[0m"),
    "colour's rest": coloured("[36m", "[0m"),
    "colour's rest, ESC as text": coloured("^[[1;31m", "^[[0m"),
    "wrapped at 80": wrapped(80),
    "wrapped at 100": wrapped(100),
    "wrapped at 120": wrapped(120),
    "folded at 80": folded(80),
    "folded at 100": folded(100),
    "CR LF": replaced(("\n", "\r\n")),
    "blanks at the ends": replaced(("\n", "  \n")),
    "double spaced": replaced(("\n", "\n\n")),
    "tabs for indents": substituted(r"(?m)^(?:    )+", "\t"),
    "no-break blanks": replaced((" ", "\u00a0")),
    "no-break indents": substituted(r"(?m)(?<=^ ) | (?= )", "\u00a0"),
    "narrow no-break blanks": replaced((" ", "\u202f")),
    "ideographic blanks": replaced((" ", "\u3000")),
    "zero-width marks": substituted(r"(?<=[./_=])(?=\w)", "\u200b"),
    "soft hyphens": substituted(r"(?<=[./_])(?=\w)", "\u00ad"),
    "zero-width joiners, direction": lambda text: "\ufeff\u200e" + text.replace("_", "_\u200d"),
    "line separators": replaced(("\n", "\u2028")),
    "full-width marks": partial(each_line, change=full_width_marks),
    "full-width equals": substituted(r"(?<=\w)=(?=\w)", "＝"),
    "full-width letters": full_width_letters,
    "curly quotes": curly,
    "em dashes": substituted(_FLAG, "—"),
    "en dashes": substituted(_FLAG, "–"),
    "en dash, hyphen": substituted(_FLAG, "–-"),
    "two en dashes": substituted(_FLAG, "––"),
    "minus signs": substituted(_FLAG, "−−"),
    "no-break hyphens": substituted(r"(?<=\w)-(?=\w)", "\u2011"),
    "quoted": prefixed("> "),
    "quoted twice": prefixed("> > "),
    "quoted without blank": prefixed(">"),
    "fenced": fenced,
    "bulleted": bulleted,
    "indented": prefixed("    "),
    "escaped for Markdown": substituted(r"([_*])", r"\\\1"),
    "escaped for HTML": html.escape,
    "line ends as \\n": replaced(("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")),
    "<br>": replaced(("\n", "<br>\n")),
    "<br> alone": replaced(("\n", "<br/>")),
    "<p>": lambda text: each_line(text, lambda line: f"<p>{line}</p>" if line.strip() else line),
    "<pre><code>": lambda text: f"<pre><code>{html.escape(text, quote=False)}</code></pre>",
    "<details>": folded_away,
    "numbered": numbered,
    "numbered by grep": lambda text: "\n".join(f"{number}:{line}" for number, line in enumerate(text.split("\n"), 1)),
    "rank": prefixed("[rank3]: "),
    "worker": prefixed("(Worker pid=123, ip=10.0.0.1) "),
    "worker in colour's rest": prefixed("[36m(Worker pid=123, ip=10.0.0.1)[0m "),
    "task": prefixed("(TaskRunner pid=4711) "),
    "torchrun": prefixed("[default0]:"),
    "slurm": prefixed("0: "),
    "mpirun": prefixed("[1,0]<stderr>:"),
    "pdsh": prefixed("worker-0: "),
    "kubectl time": prefixed("2025-03-02T09:00:01.123456789Z "),
    "kubectl pod": prefixed("[pod/grpo-train-worker-0/trainer] "),
    "containerd": prefixed("2025-03-02T09:00:01.123456789+08:00 stderr F "),
    "compose": prefixed("trainer-1  | "),
    "docker's JSON": of_docker,
    "journald": prefixed("Mar 02 09:00:01 gpu-node-07 python3[4711]: "),
    "syslog": prefixed("Mar  2 09:00:01 gpu-node-07 train.sh[4711]: "),
    "ts": prefixed("Mar 02 09:00:01 "),
    "brackets of time": prefixed("[2025-03-02 09:00:01,123] "),
    "logging": prefixed("2025-03-02 09:00:01,123 - INFO - "),
    "logger's name": prefixed("2025-03-02 09:00:01,123 - __main__ - INFO - "),
    "loguru": prefixed("2025-03-02 09:00:01.123 | INFO     | trainer.main:run:42 - "),
    "airflow": prefixed("[2025-03-02, 09:00:01 UTC] {subprocess.py:93} INFO - "),
    "engine": prefixed("INFO 03-02 09:00:01 [core.py:12] "),
    "clock": prefixed("09:00:01 "),
    "bars": bars,
    "bar before error": bar_before_error,
    "two ranks": two_ranks,
    "twice": twice,
    "repeated": repeated,
    "asked": between(*_ASKED),
    "asked in Chinese": between(*_ASKED_ZH),
    "flags with =": substituted(_FLAG_VALUE, r"\1="),
    "flags with blank": substituted(_FLAG_EQUALS, r"\1 "),
    "two blanks behind flags": substituted(_FLAG_VALUE, r"\1  "),
    "quoted values": substituted(_OVERRIDE, r"\1='\2'"),
    "quoted overrides": substituted(_OVERRIDE, r"'\1=\2'"),
    "backslash, blank": replaced(("\\\n", "\\ \n")),
    "backslash, no blank before": substituted(r"[ \t]+\\\n", r"\\\n"),
    "backslash doubled": replaced(("\\\n", "\\\\\n")),
    "backslash lost": substituted(r"[ \t]*\\\n", "\n"),
    "backslash joined": substituted(r"\\\n\s*", r"\\ "),
    "continued in one line": in_one_line,
    "continued by ticks": replaced(("\\\n", "`\n")),
    "continued by carets": replaced(("\\\n", "^\n")),
    "nvidia-smi before": between(NVIDIA_SMI, ""),
    "nvidia-smi behind": between("", NVIDIA_SMI),
}
LOSSY: dict[str, Damage] = {
    "head lost": without_head,
    "tail lost": without_tail,
    "middle lost": without_middle,
    "last 20": last_lines(20),
    "last 40": last_lines(40),
    "last line cut": lambda text: text[: len(text.rstrip()) - 12],
    "narrow 80": narrow(80),
    "narrow 120": narrow(120),
    "no indents": substituted(r"(?m)^[ \t]+", ""),
    "all in one line": lambda text: re.sub(r"\s*\n\s*", " ", text),
    "line ends lost": replaced(("\n", "")),
    "misread as Latin-1": misread("latin-1"),
    "misread as GBK": misread("gbk"),
}
BYTES: dict[str, Callable[[str], bytes]] = {
    "UTF-16, mark": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 BE, mark": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-16": lambda text: text.encode("utf-16-le"),
    "UTF-8, mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "GB 18030": lambda text: text.encode("gb18030"),
}
# What a table of cards tells by itself, and what follows from their number.
_OF_CARDS = (
    *("gpu_model", "gpu_mem_gib", "n_gpus", "n_nodes", "host_ram_gb"),
    *("micro_batch", "logprob_micro_batch", "critic_micro_batch"),
)
ADDS = {"nvidia-smi before": _OF_CARDS, "nvidia-smi behind": _OF_CARDS}
