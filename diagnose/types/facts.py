"""What is known of a run, each fact with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from diagnose.batch import resolve
from diagnose.types.measured import Growth, Measured
from diagnose.types.paste import Span
from diagnose.vocabulary import Origin, Value, is_number

if TYPE_CHECKING:
    from diagnose.knowledge.frameworks import Clash
    from diagnose.knowledge.hardware import Gpu, Model
    from diagnose.knowledge.records import Fork, Framework, Signature


# cards that each hold the same, or that share out what a usual machine holds
Taken = Literal["", "alike", "shared"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with where it comes from. ``unit`` is the batch unit of ``value`` where it is not the fact's own.

    ``origin``: read (``span`` and maybe ``key`` say where), answered, default (of the recognised framework), assumed, derived.
    ``why`` says in words where a default or an assumption comes from, and of a size that was read whose it is.
    ``taken`` stands at a number of cards that nobody tells: what it was taken for (``estimate.untold_cards``).
    """

    id: str
    value: Value
    origin: Origin
    unit: str = ""
    key: str = ""
    written: str = ""
    span: Span | None = None
    why: str = ""
    taken: Taken = ""

    @property
    def certain(self) -> bool:
        return self.origin in ("read", "answered")


@dataclass(frozen=True, slots=True)
class Hit:
    """A signature that matched, and where."""

    signature: Signature
    span: Span


@dataclass(frozen=True, slots=True)
class Tried:
    """A lever that the person says was tried, and where it says so."""

    lever: str
    span: Span
    helped: bool = False
    cured: bool = False


class FailedRow(NamedTuple):
    """The mean row of the pass that failed, in tokens: as long as the size that was asked for makes it, ``rows`` of them in the pass.

    ``shortest`` where a number of that tensor has 4 bytes, ``longest`` where it has 2, ``likely`` one of both.
    """

    shortest: float
    likely: float
    longest: float
    rows: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known. ``stated`` holds facts in the unit they were written in; ``values`` the same in each fact's own unit.

    ``values`` is computed from ``stated`` by ``diagnose.batch.resolve``; a lever changes ``stated`` through ``with_fact``.
    ``fork`` is the trainer that was recognised where it is not ``framework`` itself but read by its keys.
    ``keys`` maps a fact to the key that the run's framework and version uses for it, also where the paste does not set it.
    ``unknown_model`` is the name of a model that the catalogue does not hold, ``alike`` those of models named much like it.
    ``untold`` maps a fact to the setting that gives it a variable's value, where nothing in the paste sets that variable.
    ``datasets`` are the catalogue's names of the data sets, each with the rows that the run takes of it (``name#rows``).
    ``versions`` are those of packages, by their plain name.
    ``config`` holds every memory-relevant key as the person wrote it.
    ``among`` are the phases in which alone the traceback of the failure can stand, empty where it may be any; ``layers_through``: it stands
    behind the forward pass of all layers; ``builds_optimizer``: where the trainer makes the optimizer's own weights, before any step.
    ``shipped`` is the named file of settings, as its project ships it, that stands for what nobody told; "" for none.
    ``failed_row`` stays as it is when a lever changes the rest: it is of the run that failed.
    """

    stated: Mapping[str, Fact] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    framework: Framework | None = None
    fork: Fork | None = None
    model: Model | None = None
    gpu: Gpu | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    untold: Mapping[str, str] = field(default_factory=dict)
    dead_keys: frozenset[str] = frozenset()
    config: Mapping[str, str] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    measured: tuple[Measured, ...] = ()
    growth: tuple[Growth, ...] = ()
    tried: tuple[Tried, ...] = ()
    versions: Mapping[str, Fact] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    unknown_model: str = ""
    alike: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failed_row: FailedRow | None = None
    among: tuple[str, ...] = ()
    layers_through: bool = False
    builds_optimizer: bool = False
    command_alone: bool = False
    shipped: str = ""

    @property
    def trainer(self) -> str:
        """The trainer by its title, "" where it is not known."""
        if self.fork is not None:
            return self.fork.title
        return self.framework.title if self.framework is not None and not self.framework.fallback else ""

    def own_default(self, id: str) -> bool:
        """Whether a value is the trainer's own default, and not what a shipped script sets for its data."""
        fact, defaults = self.stated.get(id), self.framework.defaults if self.framework else ()
        scripts = {default.why or default.script for default in defaults if default.script}
        return fact is not None and fact.origin == "default" and fact.why not in scripts

    def shipped_in(self, id: str) -> str:
        """The file of settings that tells this fact as its project ships it, "" where none does."""
        told = self.stated.get(id)
        by_file = told is not None and told.origin == "default" and told.why == self.shipped
        return self.shipped if by_file else ""

    @property
    def serves(self) -> bool:
        """Whether the command runs an engine alone: nothing is trained beside it. What a trainer would do by default says nothing of it."""
        place = self.stated.get("rollout_mode")
        alone = place is not None and place.value == "server" and place.origin != "default"
        return alone and self.values.get("trains") is False

    @property
    def engine_card(self) -> bool:
        """Whether a card ran out that only an engine has: as its own process tells, which shares none with the trainer."""
        phase = self.values.get("phase")
        told = "rollout" in self.among and "actor_update" not in self.among
        told = told and ("init" in self.among if phase is None else phase in self.among)
        card = self.values.get("oom_kind") in ("gpu_oom", "gpu_oom_raw")
        return told and card and self.values.get("rollout_mode") == "server"

    @property
    def engine_awake(self) -> bool:
        """Whether what another process holds on the card is told by its size to be the run's own engine, awake."""
        pool = self.stated.get("engine_maps_pool")
        return pool is not None and pool.origin == "derived"

    @property
    def read_by_keys(self) -> bool:
        """Whether it is known what the keys mean: those of a trainer that was recognised, or of an engine that runs alone."""
        alone = self.serves and "rollout_engine" in self.values
        return self.framework is not None and (alone or not self.framework.fallback)

    @property
    def lack(self) -> Clash | None:
        """What the text says of its trainer and that does not have."""
        return self.framework.lacking(self.values) if self.framework is not None and self.fork is None else None

    @property
    def configured(self) -> bool:
        """Whether any setting of the run is known, by its key or by the file that holds it: else a default says little of what runs."""
        return any(fact.key for fact in self.stated.values()) or bool(self.shipped)

    @property
    def algo_told(self) -> bool:
        """Whether the algorithm is told, in a shipped file too, or the default of a run of which several settings are shown."""
        algo, shown = self.stated.get("algo"), sum(bool(fact.key) for fact in self.stated.values())
        by_default = algo is not None and algo.origin == "default" and (shown > 1 or algo.why == self.shipped)
        return algo is not None and (algo.certain or by_default)

    @property
    def cards_open(self) -> bool:
        """Whether the number of cards is one that the estimate took itself, since nobody tells it."""
        cards = self.stated.get("n_gpus")
        return cards is not None and bool(cards.taken)

    @property
    def planned(self) -> bool:
        """Whether the text asks of a run that has not begun: it tells no failure and asks whether, or on what, it would fit."""
        asks = self.values.get("planned") is True or self.values.get("asks_hardware") is True
        return asks and "oom_kind" not in self.values

    @property
    def bare(self) -> bool:
        """Whether there is a launch command alone, and nobody says that it failed or what is asked of it."""
        return self.command_alone and not self.planned and "oom_kind" not in self.values

    def number(self, id: str) -> float | None:
        """The value of a number fact, or None when it is unknown."""
        value = self.values.get(id)
        return float(value) if is_number(value) else None

    def flag(self, id: str) -> bool | None:
        """The value of a yes/no fact, or None when it is unknown."""
        value = self.values.get(id)
        return value if isinstance(value, bool) else None

    def certain(self, id: str) -> bool:
        """Whether the paste or the person says it."""
        return id in self.stated and self.stated[id].certain

    def with_fact(self, fact: Fact) -> Facts:
        """These facts with one changed, everything that follows from it computed again."""
        return self.with_facts((fact,))

    def with_facts(self, facts: Iterable[Fact]) -> Facts:
        """The same for several that change together."""
        stated = {**self.stated, **{fact.id: fact for fact in facts}}
        return replace(self, stated=stated, values=resolve(stated))
