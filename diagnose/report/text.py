"""A diagnosis for a terminal and for an issue: the same sentences, framed as plain text or as Markdown."""

from __future__ import annotations

from diagnose import outlived, words
from diagnose.off import off
from diagnose.types import Asked, Change, Diagnosis, Fact, PhaseEstimate, PoolEstimate, Prescription
from diagnose.units import tenths
from diagnose.vocabulary import FACTS
from diagnose.words import advisory, ahead, chinese, figures, files, killed, measured, refusal, stand_in
from diagnose.words.change import before_words, effect_words, evidence_words, former, range_words, sure_words
from diagnose.words.headline import headline
from diagnose.words.together import costs, title, why


def to_text(diagnosis: Diagnosis) -> str:
    """Plain text, 100 columns at most where the words allow it."""
    return _render(diagnosis, markdown=False)


def to_markdown(diagnosis: Diagnosis) -> str:
    """One Markdown block, ready for an issue; nothing in it but what is shown on the page."""
    return _render(diagnosis, markdown=True)


def _render(diagnosis: Diagnosis, *, markdown: bool) -> str:
    head, item, code = ("## ", "- ", "`") if markdown else ("", "  ", "")
    lines = _chinese(diagnosis, head, code) if chinese.is_chinese(diagnosis.paste.text) else []
    lead = f"{words.lead(diagnosis)} {killed.told(diagnosis)}".strip()
    lines += [f"{head}{headline(diagnosis)}", "", lead]
    if further := outlived.told(diagnosis):
        lines += ["", f"{outlived.TITLE}. {further}"]
    if said := stand_in.told(diagnosis):
        name = diagnosis.facts.unknown_model
        lines += ["", f"{stand_in.UNKNOWN}: {name}. {said}" if name else f"{stand_in.UNNAMED}. {said}"]
    if kind := diagnosis.paste.file or ("binary" if diagnosis.paste.binary else ""):
        lines += ["", files.told(kind)]
    if run := words.run_words(diagnosis.facts):
        lines += ["", " · ".join(run)]
    lines += _section("What the message’s figures say", [f"{item}{said}" for said in refusal.told(diagnosis)], markdown)
    failed, other = _pools(diagnosis)
    lines += _table(failed, markdown)
    lines += _section("What the log measured", [f"{item}{told}" for told in measured.told(diagnosis)], markdown)
    lines += [*_to_do(diagnosis, item, code, markdown), *_ground(diagnosis, item, markdown), *_table(other, markdown)]
    return "\n".join(lines).replace(figures.NBSP, " ") + "\n"


def _to_do(diagnosis: Diagnosis, item: str, code: str, markdown: bool) -> list[str]:
    """What to change, what to look up and what to answer, before the proof."""
    lines: list[str] = []
    if next_out := diagnosis.ahead:
        body = [ahead.told(next_out), *(f"   {code}{one}{code}" for one in ahead.changed(next_out))]
        lines += _section(ahead.title(next_out), body, markdown)
    lines += _section(_advice_title(diagnosis), _advice(diagnosis, code), markdown)
    checks = [
        f"{item}{check.advisory.title}. {advisory.check_words(check)} {code}{advisory.find_out(check.advisory)}{code}"
        for check in diagnosis.checks
    ]
    lines += _section("Versions to check", checks, markdown)
    asked = [f"{item}{line}" for asked in diagnosis.questions[:1] for line in _asked(asked)]
    return lines + _section("The one question that would change this most", asked, markdown)


def _ground(diagnosis: Diagnosis, item: str, markdown: bool) -> list[str]:
    """What speaks against other changes, who was here, and what all of it was read from."""
    against = [f"{item}{not_advised.lever.title}: {not_advised.why}" for not_advised in diagnosis.not_advised]
    lines = _section("Not advised, and why", against, markdown)
    cases = [f"{item}{near.case.title} ({near.case.sources[0]})" for near in diagnosis.matches[:3]]
    lines += _section("Others who were here", cases, markdown)
    lines += _section("What was read", [f"{item}{_fact(fact, diagnosis)}" for fact in _told(diagnosis)], markdown)
    return lines + _section("How it was read", [f"{item}{note}" for note in diagnosis.facts.notes], markdown)


def _pools(diagnosis: Diagnosis) -> tuple[PoolEstimate | None, PoolEstimate | None]:
    """The pool that failed, else the cards, and the other."""
    gpu, host = diagnosis.estimate.gpu, diagnosis.estimate.host
    return (host, gpu) if diagnosis.pool == "host" else (gpu, host)


def _chinese(diagnosis: Diagnosis, head: str, code: str) -> list[str]:
    """The answer in short for a person who writes Chinese, before the whole one."""
    told = chinese.summary(diagnosis)
    lines = [f"{head}{told.title}：{told.headline}", "", *([told.lead, ""] if told.lead else [])]
    for number, advised in enumerate(told.advice, 1):
        lines.append(f"{number}. {advised.title}（{advised.effect}）")
        lines += [f"   {code}{change.name}{code} {change.before} → {change.after}" for change in advised.changes]
        lines += [f"   {advised.known}"] if advised.known else []
    lines += ["", told.ask] if told.ask else []
    return [*lines, "", told.details, ""]


def _section(title: str, body: list[str], markdown: bool) -> list[str]:
    return ["", f"### {title}" if markdown else title.upper(), "", *body] if body else []


def _asked(asked: Asked) -> list[str]:
    """The question, and what its answers come to as far as they were tried."""
    said = [f"{title}: {says}" for _, title, says in asked.options if says]
    return [asked.question.title, *([" · ".join(said)] if said else [])]


def _told(diagnosis: Diagnosis) -> list[Fact]:
    stated, idle = diagnosis.facts.stated, off(diagnosis.facts)
    shown = (stated[id] for id in FACTS if id in stated and id in diagnosis.facts.values and id not in idle)
    return [fact for fact in shown if fact.origin != "default"]


def _fact(fact: Fact, diagnosis: Diagnosis) -> str:
    where = (
        f"{'assumed, ' if fact.origin == 'assumed' else ''}line {fact.span.line}"
        if fact.span
        else {"answered": "you", "derived": "follows"}.get(fact.origin, fact.origin)
    )
    return f"{FACTS[fact.id].title}: {_value(fact, diagnosis)} ({where})"


def _value(fact: Fact, diagnosis: Diagnosis) -> str:
    if fact.id == "framework" and diagnosis.facts.trainer:
        return diagnosis.facts.trainer
    return words.value_words(fact.id, diagnosis.facts.values[fact.id])


def _table(pool: PoolEstimate | None, markdown: bool) -> list[str]:
    """The peak of each phase, and below them what they have room in."""
    if pool is None or not pool.phases:
        return []
    host = pool.pool == "host"
    rows = [(*_row(phase), _seen(phase, markdown)) for phase in pool.phases]
    if pool.capacity:
        rows.append(("the node has" if host else "the card has", tenths(pool.capacity) / 10, "", ""))
    if markdown:
        head = ["| phase | peak, GiB | band |", "| --- | ---: | ---: |"]
        body = [*head, *(f"| {name} | {size:,.1f}{seen} | {band} |" for name, size, band, seen in rows)]
    else:
        body = [
            f"  {name:22}{size:8,.1f} GiB   {f'({band})' if band else ''}{seen}".rstrip()
            for name, size, band, seen in rows
        ]
    return _section(f"{'Host RAM of a node' if host else 'GPU memory'}, peak of each phase", body, markdown)


def _row(phase: PhaseEstimate) -> tuple[str, float, str]:
    sizes = figures.phase_tenths(phase)
    return words.phase_words(phase.phase), sizes[0] / 10, figures.band_words(*sizes)


def _seen(phase: PhaseEstimate, markdown: bool) -> str:
    """What the log shows the phase to take, behind its estimate."""
    if phase.measured is None:
        return ""
    size = tenths(phase.measured) / 10
    return f" (the log shows {size:.1f})" if markdown else f"   the log shows {size:.1f}"


def _advice_title(diagnosis: Diagnosis) -> str:
    if diagnosis.ahead:
        return "What to do first"
    return "Smallest changes that fit" if diagnosis.fits_after() else "What to do"


def _advice(diagnosis: Diagnosis, code: str) -> list[str]:
    lines: list[str] = _together(diagnosis, code) if diagnosis.together else []
    for number, prescription in enumerate(diagnosis.prescriptions, 1):
        lines += [
            f"{number}. {prescription.title}: {effect_words(prescription)}",
            *_details(prescription, code),
        ]
    return lines


def _together(diagnosis: Diagnosis, code: str) -> list[str]:
    together = diagnosis.together
    assert together is not None
    pool = diagnosis.estimate.pool(together.pool)
    told = why(together, pool.limit if pool else None)
    cost = [f"   {line}" for line in costs(together)]
    return [f"{title(together)}. {told}", *_changes(together.changes, code), *cost, ""]


def _changes(changes: tuple[Change, ...], code: str) -> list[str]:
    return [
        f"   {code}{change.key}{code} {before_words(change) if change.before is not None else f'({former(change)})'} → {change.after}"
        for change in changes
        if change.key
    ]


def _details(prescription: Prescription, code: str) -> list[str]:
    seen = f"   {evidence_words(prescription)}. {prescription.lever.cost}".rstrip()
    told = (prescription.why, range_words(prescription), sure_words(prescription))
    return [*_changes(prescription.changes, code), *(f"   {sentence}" for sentence in told if sentence), seen]
