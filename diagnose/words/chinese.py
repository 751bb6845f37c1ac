"""The answer in short in Chinese: what ran out and where, the figures, the first changes, the next question.

Nothing is told here that the English answer does not tell; what it knows more is in that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from diagnose import outlived
from diagnose.facts.failing.kind import cause_open, not_memory
from diagnose.facts.hardware.memory_limits import job_limited
from diagnose.held import weights
from diagnose.possible import ground, only_out, possible_phases
from diagnose.types import CacheRoom, Diagnosis, PhaseEstimate, PoolEstimate
from diagnose.units import GIB
from diagnose.words import guessed, presumed, worst
from diagnose.words.beside import before_state, counted_beyond, other_out
from diagnose.words.chinese_advice import Advised, advised, cache_left, together
from diagnose.words.chinese_names import CAUSE_OPEN, KINDS, PHASES, POOLS, VERDICTS, either, fact_name, joined
from diagnose.words.figures import band_words, gib, phase_tenths, rounded
from diagnose.words.untold import for_cards, on_defaults, turned_by_tuner, turned_by_version

_BY = {"traceback": "按报错的调用栈，应", "size": "按申请的大小，应", "estimate": "按估算，更可能"}
_SHOWN = 3  # changes, as many as stand open on the page
_LEAST = 3  # Han characters that make a text one of a person who reads Chinese: most names have fewer
_PLACED = ("vllm_no_kv_blocks", "vllm_free_memory_too_low", "host_shm")  # kinds whose words name the place
_HAN, _KANA = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Summary:
    """The answer in short; ``ask`` is empty where no question would change it."""

    headline: str
    lead: str
    advice: tuple[Advised, ...]
    ask: str
    details: str
    title: str = "中文摘要"


def is_chinese(text: str) -> bool:
    """Whether a person wrote some of it in Chinese; Japanese, which shares the characters, has kana among them."""
    han = 0 if text.isascii() else sum(map(_han, text.split("\n")))
    return han >= _LEAST and 5 * len(_KANA.findall(text)) < han


def _han(line: str) -> int:
    """Its Han characters, where most of its foreign letters are some: bytes that are no text hold every script, and broken signs."""
    if line.isascii() or not (han := len(_HAN.findall(line))):
        return 0
    foreign = sum(sign > "\x7f" and (sign.isalpha() or sign == "\ufffd") for sign in line)
    return han if 2 * han > foreign else 0


def summary(diagnosis: Diagnosis) -> Summary:
    """Of any answer, whatever it lacks."""
    given = [together(diagnosis.together)] if diagnosis.together else []
    if not not_memory(diagnosis.facts):
        given += [advised(one, diagnosis.phase is not None) for one in diagnosis.prescriptions[:_SHOWN]]
    asked = [f"最该回答的问题：{one.question.chinese or one.question.title}" for one in diagnosis.questions[:1]]
    details = "依据、补丁和其余改动见下面的英文。" if given else "说明见下面的英文。"
    return Summary(headline(diagnosis), "".join(_lead(diagnosis)), tuple(given), "".join(asked), details)


def headline(diagnosis: Diagnosis) -> str:
    """The answer as one sentence without a full stop; each case as ``diagnose.words.headline`` has it."""
    kind, phase, room = diagnosis.kind, diagnosis.phase, diagnosis.room
    gpu = diagnosis.estimate.gpu
    if kind is None and (told := not_memory(diagnosis.facts)):
        return f"{'不是训练本身的内存问题' if told.apart else '这不是内存问题'}：{told.chinese or told.title}"
    if kind is None and room and not (gpu and gpu.verdict() == "out"):
        return _of_server(room, diagnosis.verdict)
    if kind is None:
        return _planned(diagnosis)
    form = CAUSE_OPEN if kind == "other" and cause_open(diagnosis.facts) else KINDS[kind]
    failed = form.format(pool=POOLS.get(diagnosis.pool or "", "内存"))
    failed = f"很可能是{failed}" if presumed(diagnosis.facts) else failed
    if phase and kind not in _PLACED:
        return f"{failed}，{joined('发生在', PHASES[phase], '阶段')}"
    only = only_out(diagnosis.facts, gpu) if kind in ("gpu_oom", "gpu_oom_raw") else None
    return f"{failed}，{joined('按估算在', PHASES[only], '阶段')}" if only else failed


def _of_server(room: CacheRoom, verdict: str) -> str:
    if room.rest <= 0:
        return "按估算，引擎没有显存放 KV cache"
    if room.verdict == "out":
        return "按估算，引擎无法启动：KV cache 放不下一条最长的序列"
    if verdict == "close":
        return "难以判断引擎能否启动"
    return f"按估算，引擎可以启动，KV cache 约能放 {rounded(room.holds)} 个 token"


def _planned(diagnosis: Diagnosis) -> str:
    """Where nothing failed, or nothing shows that it did."""
    pool = diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if pool is None or not pool.phases:
        return "还不能判断是否放得下" if diagnosis.facts.planned or diagnosis.facts.bare else "还不能判断"
    by = "按日志实测" if pool.deciding.measured is not None else "按估算"
    what, phase = POOLS[pool.pool], PHASES.get(pool.deciding.phase, pool.deciding.phase)
    return {
        "out": f"{by}放不下：{what}不够，{joined('最高在', phase)}",
        "close": f"难以判断：{joined(f'{what}在', phase, '接近上限')}",
        "fits": f"{by}{'用 LoRA ' if turned_by_tuner(diagnosis) else ''}放得下，{joined(f'{what}最高在', phase)}",
    }.get(pool.verdict(), f"{joined(f'{what}最高在', phase)}，上限未知")


def _lead(diagnosis: Diagnosis) -> Iterator[str]:
    """The figures, and what keeps them from being the whole answer."""
    kind, pool = diagnosis.kind, diagnosis.estimate.pool(diagnosis.pool or "gpu")
    if not_memory(diagnosis.facts) or kind == "host_shm":
        return
    if presumed(diagnosis.facts):
        yield "没有报错说明类型，这是推断。"
    if pool is None or not pool.phases:
        yield from _lacking(diagnosis)
        return
    if diagnosis.facts.engine_card:
        yield "失败的是引擎自己的进程，引擎独占它的卡：占满的是它的显存份额，加上份额之外的开销。下面的估算是训练卡的。"
        return
    phase = worst(diagnosis, pool)
    if diagnosis.phase and pool.phase(diagnosis.phase) is None and not diagnosis.room:
        yield f"失败的阶段没有估算：{PHASES[diagnosis.phase]}，请核对阶段和算法。"
    yield _room(diagnosis.room) if diagnosis.room else _need(phase, pool, limited=job_limited(diagnosis.facts))
    if kind in ("gpu_oom", "gpu_oom_raw") and diagnosis.phase is None:
        left = [*filter(pool.phase, possible_phases(diagnosis.facts, pool))] if pool.pool == "gpu" else []
        yield "文本没有说明是哪个阶段。"
        if left:
            yield f"{joined(_BY[ground(diagnosis.facts, pool)], '在', reduce(either, map(PHASES.__getitem__, left)))}。"
    yield from _guesses(diagnosis, pool, pool.worst if diagnosis.room else phase)
    yield from _doubts(diagnosis, pool, phase)
    if for_cards(diagnosis):
        yield "以下建议按显存不足给出，这里更可能是它；如果是内存不足，要改的不是这些。"
    if kind == "other":
        yield "请给出最先失败的 worker 的最后 20 行。"


def _guesses(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> Iterator[str]:
    """What nobody said and stands in the figures all the same."""
    if pool.otherwise and (other := pool.otherwise.phase(phase.phase)):
        fewer, sharded = pool.otherwise.cards < pool.cards, pool.otherwise.sharded
        here = f"{pool.cards} 张卡算" + ("，多卡但不切分时每张不会更少" if pool.cards == 1 and sharded else "")
        there = f"{pool.otherwise.cards} 张卡" + ("全切分（ZeRO-3 或 FSDP）" if sharded and not fewer else "") + "时"
        yield f"没有给出卡数：数字按 {here}；{there}每张约 {gib(other.bytes)}。"
    if names := [fact_name(id) for id in guessed(diagnosis, pool, phase)]:
        yield f"没有给出：{'、'.join(names[:4])}；数字里含有猜测。"
    if shipped := diagnosis.facts.shipped:
        yield f"没说的都按项目自带的 {shipped} 计算；改过的话请贴出自己的文件。"
    if on_defaults(diagnosis.facts):
        yield f"没有读到任何配置，没说的都按 {diagnosis.facts.trainer} 的默认值算。"
    if turn := turned_by_tuner(diagnosis):
        yield f"没有说明是否训练全部参数，按默认的 LoRA 计算；全参则为 {gib(turn.bytes)}，{VERDICTS[turn.verdict]}。"
    if turn := turned_by_version(diagnosis):
        verdict = VERDICTS[turn.verdict]
        yield f"没有给出 {diagnosis.facts.trainer} 的版本，按最新版计算；按 {turn.answer} 则为 {gib(turn.bytes)}，{verdict}。"


def _doubts(diagnosis: Diagnosis, pool: PoolEstimate, phase: PhaseEstimate) -> Iterator[str]:
    """Where the text and the figures disagree, and what else they say."""
    enough = not diagnosis.room.explains if diagnosis.room else pool.verdict(phase.computed) == "fits"
    if diagnosis.kind and not diagnosis.facts.growth and enough:
        yield _unexplained(diagnosis, phase)
    yield from _seen(diagnosis)
    if before := before_state(diagnosis, pool, phase):
        without = joined(PHASES[phase.phase], f"只需 {gib(before.rest)}")
        yield f"其中优化器状态 {gib(before.state)} 在第一次优化器更新时才有，之前{without}，所以第一步能过。"
    if outlived.told(diagnosis):
        yield "日志显示训练越过了估算认为放不下的阶段：读到的配置可能不是实际运行的，或者估算有误，先核对再用这些数字。"
    if ahead := diagnosis.ahead:
        need, has = phase_tenths(ahead.phase)[0] / 10, gib(ahead.limit)
        when = "从第二步起（优化器状态已在卡上）" if ahead.next_step else "随后"
        phase_then = joined("按估算", PHASES[ahead.phase.phase], when)
        yield f"即使做了第一处改动，{phase_then}也会溢出：需要 {need:,.1f} GiB，单卡只有 {has}。"
    if other := other_out(diagnosis, pool):
        yield f"按估算，{POOLS[other.pool]}也会溢出。"


def _lacking(diagnosis: Diagnosis) -> Iterator[str]:
    """What to give where there is no estimate."""
    if lack := diagnosis.facts.lack:
        yield f"{lack.chinese}没有做估算，请写明实际用的训练框架。"
    if diagnosis.facts.values.get("trains") is False:
        size = weights(diagnosis.facts)
        yield "这条命令不训练模型，这里只估算训练的内存。" + (f"16 位的权重就要 {gib(size)}。" if size else "")
        return
    if diagnosis.estimate.missing:
        yield f"还不能估算，缺少：{'、'.join(fact_name(id) for id in diagnosis.estimate.missing)}。"
    failed = diagnosis.kind == "other"
    yield "请给出最先失败的 worker 的最后 20 行。" if failed else "请补上启动命令，或者模型、显卡和长度。"


def _need(phase: PhaseEstimate, pool: PoolEstimate, *, limited: bool) -> str:
    name, has = PHASES.get(phase.phase, phase.phase), "节点" if pool.pool == "host" else "单卡"
    holds = "任务可用" if pool.pool == "host" and limited else f"{has}有"
    sizes = phase_tenths(phase)
    band = band_words(*sizes).replace(" to ", "–").replace(" or more", " 以上")
    computed = f"{sizes[0] / 10:,.1f} GiB" + (f"（{band}）" if band else "")
    limit = f"{holds} {gib(pool.capacity)}" if pool.capacity else f"{has}容量未知"
    if phase.measured is None:
        return f"{joined(name, f'约需 {computed}')}，{limit}。"
    apart = "，两者相差超出误差带" if phase.disagrees else ""
    return f"{joined('日志里', name, f'实测 {gib(phase.measured)}')}，估算为 {computed}{apart}；{limit}。"


def _seen(diagnosis: Diagnosis) -> Iterator[str]:
    """What message and log come to beyond the settings: the changes start from there."""
    seen = next((given.before.measured for given in diagnosis.prescriptions if given.before), None)
    if seen is not None:
        yield f"按报错和日志里的数字是 {gib(seen)}，下面的改动以此为起点。"


def _unexplained(diagnosis: Diagnosis, phase: PhaseEstimate) -> str:
    if used := counted_beyond(diagnosis, phase):
        return f"报错里节点已用 {used:,.1f} GiB，其余部分已知的配置不能解释。"
    return "已知的配置不能解释这次失败，请核对读到的内容。"


def _room(room: CacheRoom) -> str:
    """Of what an engine may take what stands before its cache, and what is left for it."""
    taken = [f"权重占 {gib(room.weights)}"]
    taken += [f"最大的一步约占 {gib(room.work)}"] if room.work else []
    taken += [f"训练进程占 {gib(room.others)}"] if room.others else []
    taken += [f"当时另有占用 {gib(room.unseen)}"] if room.unseen >= GIB else []
    parts = [f"引擎可用 {gib(room.share)}，{'，'.join(taken)}，{cache_left(room)}。"]
    parts += [f"一条 {room.tokens:,} token 的序列要 {gib(room.row)}。"] if room.row else []
    return "".join(parts)
