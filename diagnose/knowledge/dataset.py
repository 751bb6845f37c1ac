"""The record of a data set: how long its rows are, by whoever counted them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from diagnose.knowledge.record import Record

# COCO's usual size; its captions with their images measure 390 tokens of 28 x 28 pixels in the table that the records come from
PHOTOGRAPH = 640 * 480
# pixels of an image's token where no tower is known: patches of 14 joined by 2 x 2, as in Qwen2-VL; later towers join larger ones
PIXELS_PER_TOKEN = 784


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Lengths in tokens: the mean over all rows, and where the source has them the standard deviation and the longest."""

    mean: float
    sd: float | None = None
    max: int | None = None

    def longest_of(self, rows: int) -> float | None:
        """About the longest of that many rows, at most the longest of all; without a deviation the longest of all is told."""
        if not self.sd or rows < 2:
            return self.max
        longest = longest_drawn(self.mean, self.sd / self.mean, rows)
        return min(longest, self.max) if self.max else longest


def longest_drawn(mean: float, deviation: float, rows: int) -> float:
    """About the longest of so many rows, two or more, in the unit of ``mean``; ``deviation`` as a share of the mean.

    Lengths are taken as log-normal: of that many draws one lies above the quantile 1 - 1 / rows.
    """
    spread = math.log(1 + deviation**2)
    above = NormalDist().inv_cdf(1 - 1 / rows) * math.sqrt(spread)
    return math.exp(math.log(mean) - spread / 2 + above)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Answers that models gave to the prompts in public runs of RL: their mean length in tokens.

    ``by`` are beginnings of the names of models that are known to answer at such length; others may think first.
    """

    by: tuple[str, ...]
    mean: float

    def told_of(self, model: str) -> bool:
        """Whether a model of this name answers at such length."""
        name = model.rsplit("/", 1)[-1].lower()
        return any(name.startswith(one.lower()) for one in self.by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Record):
    """Lengths as the ``tokenizer`` counts them, of a whole row, its prompt or its answer. At least one of the three is told.

    ``aliases`` are whole names as commands write them, ``folders`` parts of a path by which a copy of it is known.
    ``media``: its rows hold images, sound or video, which the lengths leave out; ``timed``: sound or video, of any duration.
    ``image_pixels``: of a usual image, where a source tells it; ``largest_image_pixels``: of the largest.
    """

    tokenizer: str
    aliases: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    rows: int | None = None
    row_tokens: Tokens | None = None
    prompt_tokens: Tokens | None = None
    response_tokens: Tokens | None = None
    sampled: tuple[Sampled, ...] = ()
    media: bool = False
    timed: bool = False
    image_pixels: int | None = None
    largest_image_pixels: int | None = None

    def __hash__(self) -> int:
        """Of the name alone: the names of all data sets are looked up by their records."""
        return hash(self.slug)
