"""What the lines of a paste say by themselves, before any key is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from diagnose.facts.failing.failure import of_share, read_failure
from diagnose.facts.failing.over import without_past
from diagnose.facts.failing.signature import find_hits
from diagnose.facts.sentences.lowered import Lowered, lower
from diagnose.facts.sentences.prose import spoken
from diagnose.facts.settings.proven import Proofs, proofs
from diagnose.facts.trainer.framework import Detected
from diagnose.facts.trainer.trains import of_training
from diagnose.facts.whose_run.asides import without_asides
from diagnose.facts.whose_run.attempts import of_last_attempt
from diagnose.facts.whose_run.beside import without_others
from diagnose.facts.whose_run.comments import still_told, without_comments, without_descriptions
from diagnose.facts.whose_run.cured import without_cure
from diagnose.facts.whose_run.former import with_later, without_removed
from diagnose.facts.whose_run.manuals import of_no_run, without_hits
from diagnose.facts.whose_run.not_done import (
    without_asked,
    without_letters,
    without_planned,
    without_plans,
    without_untried,
)
from diagnose.facts.whose_run.numbered import without_items, without_numbers
from diagnose.facts.whose_run.other_runs import of_failing_run
from diagnose.facts.whose_run.other_tries import with_last_share, without_other_try
from diagnose.facts.whose_run.two_shares import at_larger_share
from diagnose.knowledge import Knowledge
from diagnose.types import Fact, Hit, Line, Paste, Tried


class Heard(NamedTuple):
    """What the lines of a paste say by themselves, before any key is read.

    ``paste`` is without the settings of commands that train nothing or went well, ``speech`` what people wrote. ``remarks`` has what
    describes the keys of a configuration file as well: a machine may be told there alone.
    """

    paste: Paste
    lowered: Lowered
    speech: Sequence[Line]
    remarks: Sequence[Line]
    hits: tuple[Hit, ...]
    captured: Mapping[str, Fact]
    failed: Mapping[str, Fact]
    proven: Proofs
    tried: tuple[Tried, ...]


def hear(paste: Paste, detected: Detected, answered: Mapping[str, Fact], knowledge: Knowledge) -> Heard:
    """What people wrote, which messages stand there, and the failure that they tell."""
    lowered, aside = lower(paste), of_no_run(paste)
    told = tuple(line for line in spoken(paste, lowered.new) if line.number not in aside)
    paste, told = of_last_attempt(paste, told)
    said = without_descriptions(told, paste)
    speech = tuple(map(without_numbers, said))
    paste = without_removed(without_items(without_asked(without_past(paste, said), said), said, speech))
    paste = with_last_share(with_later(without_letters(without_cure(paste)), speech), speech, detected.framework)
    paste, speech = without_asides(paste, speech)
    spoken_of, speech = speech, without_plans(tuple(map(without_untried, speech)))
    paste = without_planned(paste, spoken_of, speech)
    remarks = speech if said == told else without_plans(tuple(map(without_untried, map(without_numbers, told))))
    paste = of_failing_run(of_training(without_others(paste), detected.framework, knowledge.engines))
    found, captured = without_other_try(*find_hits(paste, lowered, knowledge), paste, detected.framework)
    paste, found, tried = at_larger_share(paste, found, speech, detected.framework)
    apart = without_hits(found, paste, aside)
    hits = without_comments(apart, paste)
    failed = read_failure(paste, lowered, hits, detected, knowledge, answered, speech)
    hits = of_share(hits, failed)
    captured = still_told(captured, apart, hits)
    return Heard(paste, lowered, speech, remarks, hits, captured, failed, proofs(hits, failed, answered), tried)
