"""Host RAM of one node over the phases: what is parked there, what loading and saving take, what the processes themselves need.

Pinned copies go through torch's caching host allocator, which rounds every request up to a power of two and keeps it
(torch 2.6 ATen/core/CachingHostAllocator.h:132): a factor from 1 to 2 by the size of the pieces. CUDA maps page-locked memory shared,
so that the kernel counts it with its cache: it is needed like any other, Ray and the OOM killer count it, and yet
``psutil.virtual_memory().used`` and ``free`` leave it out (psutil/_pslinux.py: total - free - buffers - cached).
"""

from __future__ import annotations

from collections.abc import Callable

from diagnose.batch import whole
from diagnose.estimate.engine_weights import engine_weight_bytes
from diagnose.estimate.host_files import handing_over, loading, saving
from diagnose.estimate.parked import PINNED_SOURCE, parked
from diagnose.estimate.plan import Plan
from diagnose.estimate.rows import image_patches, row_limit
from diagnose.estimate.term import Band, count, counts, make_term
from diagnose.estimate.terms_activation import offloaded
from diagnose.estimate.tokens import take
from diagnose.types import PhaseEstimate, PoolEstimate, Term
from diagnose.units import GIB, from_gib

_BACKUP_ROUNDING = Band(
    1.0, 1.2, 2.0
)  # pieces are single matrices: nearer to a power of two than a whole layer on average
# A process with its share of the node's own: Ray's lists name 11.8 GB with 4 GiB of swap space in it (Logic-RL issue 15), 28 GB
# for two (verl issue 529), 68.7 GB with 45 parked and 10 of images (EasyR1 issue 469), each less what else stands there.
_PROCESS = Band(5 * GIB, 9 * GIB, 14 * GIB)
_PROCESS_SOURCE = "lists of processes in out-of-memory messages of Ray"
_WORKER = Band(0.3 * GIB, 0.6 * GIB, 1.5 * GIB)
_ROW_BYTES = 40  # ids, masks, positions, log-probs and advantages of one token
_PIXEL_BYTES = 3 * 4  # three colours in fp32, as many times as a tower joins frames (Qwen2-VL image processor)
# What a rank of an engine holds of each prompt's images, as many times as the processor gives: the requests hold them once, and the six
# host figures of EasyR1's table (assets/baselines.md at 55b40c8) ask for about so many. Fitted to them; no list of processes tells it.
_ENGINE_COPIES = Band(1.0, 4.5, 6.0)
_COPIES = f"{_ENGINE_COPIES.mid:g} ({_ENGINE_COPIES.low:g} to {_ENGINE_COPIES.high:g})"
_RAY_THRESHOLD = 0.95  # Ray: RAY_memory_usage_threshold


def host_pool(plan: Plan) -> PoolEstimate | None:
    """Host RAM per phase, or None when the GPUs of a node are unknown."""
    gpus = gpus_of_node(plan)
    if gpus is None:
        return None
    ranks = max(1, gpus // plan.laid)  # one process lays a copy's layers over several cards
    always, backup = [*_processes(plan, ranks), *_workers(plan, ranks)], _backup(plan, gpus)
    early = plan.does.get("engine_first") == "yes"
    rows = _rows(plan)
    stands = parked(plan, gpus)
    phases = tuple(
        PhaseEstimate(
            phase,
            _MOMENTS.get(phase, "throughout"),
            (
                *[term for what in plan.holds(phase, "host") for term in stands[what]],
                *_moment(plan, phase, ranks if phase == "load" else gpus),
                *(rows if phase not in _BEFORE_ROWS else ()),
                *(backup if early or phase != "load" else ()),
                *always,
            ),
        )
        for phase in plan.phases
    )
    capacity, capacity_why = _capacity(plan)
    threshold = _threshold(plan)
    limit = None if capacity is None else round(capacity * (threshold or 1.0))
    why = f"Ray kills at {threshold:g} of the node's RAM" if threshold else "all of the node's RAM" if capacity else ""
    return PoolEstimate("host", phases, capacity, limit, capacity_why, why)


def page_locked_bytes(plan: Plan, phase: PhaseEstimate) -> int:
    """What stands in shared pages in this phase, which counters of used memory leave out."""
    rounded = plan.does.get("pinned_rounding") == "power_of_two"
    return sum([term.bytes for term in phase.terms if term.id in _LOCKED or (rounded and term.family == "held")])


def used_bytes(plan: Plan, phase: PhaseEstimate) -> int:
    """What ``free`` and ``psutil`` show as used in this phase."""
    return phase.bytes - page_locked_bytes(plan, phase)


def gpus_of_node(plan: Plan) -> int | None:
    """GPUs of a node, as said or because there is only one node or no room for two; those that train where no others are known."""
    stated, nodes, everything, train = (
        whole(plan.values, id) for id in ("gpus_per_node", "n_nodes", "n_gpus", "trainer_gpus")
    )
    gpus = everything or train
    if stated:
        return stated
    if nodes and gpus:
        return max(1, gpus // nodes)
    return gpus if gpus and gpus <= 8 else None


def _capacity(plan: Plan) -> tuple[int | None, str]:
    for id, why in (("node_total_gb", "as the message prints it"), ("host_ram_gb", "as stated")):
        size = plan.number(id)
        if size:
            return from_gib(size), why
    return None, ""


def _threshold(plan: Plan) -> float | None:
    """The share at which Ray kills; its default where a message of Ray gave the node's use."""
    return plan.number("ray_memory_threshold") or (_RAY_THRESHOLD if plan.number("node_used_gb") else None)


def _backup(plan: Plan, gpus: int) -> list[Term]:
    """The sleeping engine's weights; its pinned buffers stay after it wakes."""
    engine_here = any("engine_weights" in what for what in plan.residents.values())
    if not engine_here or plan.values.get("sleep_level") != 1 or plan.does.get("sleep_backup") != "yes":
        return []
    tp = plan.whole("rollout_tp")
    size = _BACKUP_ROUNDING.times(engine_weight_bytes(parameters=plan.shape.parameters, tp=tp) * gpus)
    how = f"{count(plan.shape.parameters)} × 2 B ÷ {tp} × {gpus} GPUs × 1.2 rounded"
    source = "vLLM device_allocator/cumem.py; " + PINNED_SOURCE
    return [
        make_term(
            "engine_backup", "sleeping engine's weights", "engine", size, how, source, ("sleep_level", "rollout_tp")
        )
    ]


def _processes(plan: Plan, gpus: int) -> list[Term]:
    processes = gpus * max(1.0, plan.number("host_processes_per_gpu") or 1.0)
    how = f"{processes:g} processes × 9 GiB (5 to 14)"
    return [make_term("processes", "processes", "fixed", _PROCESS.times(processes), how, _PROCESS_SOURCE)]


def _rows(plan: Plan) -> list[Term]:
    """The rows of a step, and the pixels of their images, in the object store and in the processes."""
    prompts, n = whole(plan.values, "train_batch_size"), plan.whole("rollout_n")
    prompt, response = row_limit(plan)
    if not plan.online or not prompts or response is None:
        return []
    rows = prompts * n
    text = rows * ((prompt or 0) + response) * _ROW_BYTES
    copies = plan.number("images_on_host") or 1.0
    patch = _patch_bytes(plan)
    pixels = image_patches(plan, rows).times(prompts * patch * copies)
    how = f"2 copies (1 to 4) of {rows:,} rows × {(prompt or 0) + response:,} tokens × {_ROW_BYTES} B"
    if pixels.mid:
        how += f" + {prompts:,} prompts × {counts(image_patches(plan, rows))} patches × {patch:,} B × {copies:g}"
    moved_by = ("train_batch_size", "rollout_n", "response_length", "max_pixels", "image_tiles", "images_per_prompt")
    # Of the text one to four copies stand at once; those of the images are counted by the framework's record.
    size = Band(text + pixels.low, 2 * text + pixels.mid, 4 * text + 2 * pixels.high)
    return [
        make_term(
            "rows",
            "rows of a step",
            "work",
            size,
            how,
            "counted from the batch's tensors",
            moved_by,
        )
    ]


def _workers(plan: Plan, gpus: int) -> list[Term]:
    workers = whole(plan.values, "dataloader_workers")
    if not workers:
        return []
    each = workers if plan.online else workers * gpus
    how = f"{each} workers × 0.3 to 1.5 GiB"
    size = _WORKER.times(each)
    return [
        make_term(
            "dataloader",
            "dataloader workers",
            "fixed",
            size,
            how,
            "a heuristic band without a published source; to be calibrated",
            ("dataloader_workers",),
        )
    ]


def _moment(plan: Plan, phase: str, gpus: int) -> list[Term]:
    maker = _MAKERS.get(phase)
    return maker(plan, gpus) if maker else []


def _patch_bytes(plan: Plan) -> int:
    tower = plan.model.vision
    return _PIXEL_BYTES * tower.joined_frames * tower.patch**2 if tower else 2 * _PIXEL_BYTES * 14**2


def _checkpoints(plan: Plan, gpus: int) -> list[Term]:
    """Checkpoints of layers that wait on the host for the backward pass, in page-locked memory."""
    one = take(plan, "update")
    size = offloaded(plan, one).times(min(gpus, plan.gpus))
    if not size.high:
        return []
    how = f"{one.how} × {plan.model.hidden:,} × all layers but two × {min(gpus, plan.gpus)} GPUs"
    moved_by = (*one.moved_by, "activation_offload")
    return [make_term("offloaded_checkpoints", "checkpoints on the host", "work", size, how, PINNED_SOURCE, moved_by)]


def _engine_images(plan: Plan, gpus: int) -> list[Term]:
    """Images as the engine reads them: all prompts are handed over at once, to every rank of an engine that runs in the trainers."""
    prompts, tp = whole(plan.values, "train_batch_size"), plan.whole("rollout_tp")
    if plan.does.get("engine_images") != "every_rank" or not prompts or not plan.online:
        return []
    patches = image_patches(plan, prompts * plan.whole("rollout_n"))
    size = Band(
        *(each * prompts * _patch_bytes(plan) * tp * times for each, times in zip(patches, _ENGINE_COPIES, strict=True))
    )
    how = f"{prompts:,} prompts × {counts(patches)} patches × {_patch_bytes(plan):,} B × {tp} ranks of an engine × {_COPIES}"
    source = "vLLM entrypoints/llm.py: _validate_and_add_requests"
    moved_by = ("train_batch_size", "rollout_tp", "max_pixels", "image_tiles")
    term = make_term("engine_images", "images that the engine reads", "work", size, how, source, moved_by)
    return [term] if term.high else []


_MAKERS: dict[str, Callable[[Plan, int], list[Term]]] = {
    "load": loading,
    "weight_sync": handing_over,
    "rollout": _engine_images,
    "actor_update": _checkpoints,
    "checkpoint": saving,
}
_LOCKED = frozenset(
    ("swap_space", "host_cache", "reward_engine", "engine_backup", "offloaded_checkpoints", "gradient_copies")
)
_BEFORE_ROWS = ("load", "init")
_MOMENTS = {"load": "loading", "checkpoint": "saving"}
