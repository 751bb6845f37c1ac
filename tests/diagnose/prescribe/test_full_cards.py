"""Engines that no share helps: on cards that they have in common with a trainer, or beside one that leaves them no room."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

SERVER = (
    "{first}trl vllm-serve --model Qwen/Qwen2.5-7B --tensor_parallel_size 2 &\n"
    "{then}accelerate launch --num_processes {n} train_grpo.py --use_vllm --vllm_mode server\n{cards}\n"
    "ValueError: Free memory on device (9.86/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB)."
)
COLOCATED = (
    "trl GRPO colocate on 2x {card} Qwen2.5-7B lora\nValueError: No available memory for the cache blocks.\n"
    'GRPOConfig(use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization={share}, per_device_train_batch_size=2)'
)


def first(text: str) -> str:
    return diagnose(text, {}, current(), ()).prescriptions[0].lever.slug


def test_a_server_goes_off_the_cards_of_a_trainer_that_takes_all():
    assert first(SERVER.format(first="", then="", n=4, cards="4 gpus A100 80G")) == "placement.cards_apart"


@pytest.mark.parametrize("cards", ["", "8 gpus A100 80G"])
def test_not_where_it_may_have_its_own(cards):
    said = SERVER.format(first="CUDA_VISIBLE_DEVICES=0,1 ", then="CUDA_VISIBLE_DEVICES=2,3 ", n=2, cards=cards)
    assert first(said) != "placement.cards_apart"


def test_an_engine_that_fits_beside_no_trainer_goes_to_cards_of_its_own():
    assert first(COLOCATED.format(card="RTX 4090", share=0.3)) == "rollout.disaggregate"


def test_but_takes_a_larger_share_where_that_starts():
    assert first(COLOCATED.format(card="A100 80G", share=0.15)) == "rollout.gpu_memory_utilization.up"
