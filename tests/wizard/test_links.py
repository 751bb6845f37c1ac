"""The address of a diagnosis leads to the diagnosis."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from wizard import state
from wizard.home import EXAMPLE
from wizard.links import link

PASTES = sorted((Path(__file__).parent.parent / "pastes").glob("*/paste.txt"))
COMMAND = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=1024 data.max_response_length=8192 "
    "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.6 trainer.n_gpus_per_node=8 trainer.nnodes=1 # on 8 x H100 80GB\n"
)
OUT = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB. "
OUT += "GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n"
FRAME = '  File "/opt/verl/verl/workers/{}", line {}, in {}\n    {}\n'


def again(diagnosis: Diagnosis) -> Diagnosis:
    """What the link of its page leads to."""
    knowledge = current()
    answers = state.read_answers(parse_qsl(state.link_of(link(diagnosis, knowledge))))
    return diagnose("", answers.values, knowledge, (), command_alone=answers.alone, assumed=answers.assumed)


def assumed(diagnosis: Diagnosis) -> set[str]:
    return {id for id, fact in diagnosis.facts.stated.items() if fact.origin == "assumed"}


def peaks(diagnosis: Diagnosis) -> dict[str, dict[str, str]]:
    """The figure of each phase as shown, of both pools.

    The same by a link but for what is no fact (docs/decisions/0003): what a log measured, a variable that nothing sets, the shape of a
    model that the catalogue does not hold. Bands may be narrower, since what was taken for a run is told by its link.
    """
    pools = (pool for name in ("gpu", "host") if (pool := diagnosis.estimate.pool(name)) is not None)
    return {pool.pool: {phase.phase: phase.shown for phase in pool.phases} for pool in pools}


@pytest.mark.parametrize("paste", [EXAMPLE, *PASTES], ids=lambda path: path.parent.name)
def test_the_link_leads_to_the_figures_of_the_page(paste: Path):
    page = diagnose(paste.read_text(encoding="utf-8"), {}, current(), ())
    told = again(page)
    assert peaks(told) == peaks(page)
    assert (told.kind, told.phase, told.pool, told.verdict) == (page.kind, page.phase, page.pool, page.verdict)


def test_it_holds_the_version_that_a_line_of_code_tells():
    frame = FRAME.format("actor/dp_actor.py", 204, "_forward_micro_batch", "output = self.actor_module(")
    page = diagnose(COMMAND + frame + OUT.format("18.55"), {}, current(), ())
    version = page.facts.stated["framework_version"]
    assert version.origin == "derived"
    assert link(page, current()).values["framework_version"] == version.value
    assert peaks(again(page)) == peaks(page)


def test_what_follows_from_the_facts_of_the_link_is_left_out():
    page = diagnose(COMMAND + OUT.format("2.00"), {}, current(), ())
    told = link(page, current()).values
    assert "real_response_length" not in told
    assert "optimizer" not in told
    assert set(told) == {
        *state.certain(page),
        "gpu_mem_gib",
    }  # of the card as printed, which also has the words of a card


def test_a_model_is_called_as_the_paste_calls_it_where_the_catalogue_knows_the_name():
    page = diagnose(COMMAND.replace("Qwen2.5-7B-Instruct", "DeepSeek-R1-Distill-Qwen-14B"), {}, current(), ())
    assert link(page, current()).values["model"] == "DeepSeek-R1-Distill-Qwen-14B"


def test_the_link_of_a_link_is_the_same():
    page = diagnose(PASTES[1].read_text(encoding="utf-8"), {}, current(), ())
    assert link(again(page), current()) == link(page, current())


SPREAD = "TRL 0.21 GRPO, full fine-tuning of Qwen2.5-32B on 2 nodes of 8xH100 80GB, per_device_train_batch_size=2, num_generations=8,\n"
SPREAD += 'max_completion_length=2048, gradient_checkpointing=True, bf16=True, use_vllm=True vllm_mode="server"\n'
IN_LOSS = '  File "/venv/trl/trainer/grpo_trainer.py", line 1401, in _compute_loss\n'


def test_what_was_assumed_is_not_taken_for_told_behind_the_link():
    page = diagnose(SPREAD + IN_LOSS + OUT.format("1.16"), {}, current(), ())
    told = link(page, current())
    assert told.values["zero_stage"] == 3
    assert "zero_stage" in told.assumed
    assert assumed(again(page)) == assumed(page)
    assert again(page).estimate.missing == page.estimate.missing
    assert peaks(again(page)) == peaks(page)


def test_an_answer_to_what_was_assumed_makes_it_told():
    answers = state.read_answers(
        [("zero_stage", "3"), ("assumed", "zero_stage"), ("n_gpus", "8"), ("assumed", "phase")]
    )
    assert answers.assumed == ("zero_stage",)
    pairs = [*state.as_pairs(answers), ("zero_stage", "2")]
    assert state.read_answers(pairs).assumed == ()
    assert state.read_answers([*state.as_pairs(answers), ("zero_stage", "unknown")]).assumed == ()
