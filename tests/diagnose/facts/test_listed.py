"""Trainers print all of their settings: one that is listed with its default, of a feature that is off, tells nothing of the run."""

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current

SWIFT = "[INFO:swift] args: {}Arguments(model='Qwen/Qwen2.5-7B', tuner_type='{}', llamapro_num_new_blocks=4, vera_rank=256, lora_rank=8)"
VERL = """(TaskRunner pid=7) {{'actor_rollout_ref': {{'actor': {{'fsdp_config': {{'qat': {{'enable': {}, 'mode': 'w4a16'}}}}}}}},
(TaskRunner pid=7)  'trainer': {{'n_gpus_per_node': 8, 'nnodes': 1}}}}"""
TRL = "trl==0.25.0\nGRPOConfig(\nuse_vllm={},\nvllm_mode=colocate,\nper_device_train_batch_size=8,\n)"


def values(text, **answers):
    return read_facts(read(text), answers, current()).values


@pytest.mark.parametrize(
    ("kind", "tuner", "algo", "rank"),
    [("Sft", "lora", "sft", 8), ("Pretrain", "lora", "pretrain", 8), ("Train", "vera", "sft", 256)],
)
def test_the_settings_of_a_tuner_are_those_of_a_run_that_has_it(kind, tuner, algo, rank):
    found = values(SWIFT.format(kind, tuner))
    assert (found["algo"], found.get("lora_rank")) == (algo, rank)
    assert "trained_layers" not in found


def test_a_full_run_has_no_layers_of_its_own():
    found = values(SWIFT.format("Sft", "full"))
    assert (found["full_or_lora"], found.get("trained_layers")) == ("full", None)


@pytest.mark.parametrize(("kind", "length", "samples"), [("dpo", None, None), ("grpo", 512, 8)])
def test_a_stage_that_samples_nothing_has_no_completions(kind, length, samples):
    text = f"[INFO:swift] args: RLHFArguments(rlhf_type='{kind}', model='Qwen/Qwen2.5-7B', max_completion_length=512, num_generations=8)"
    found = values(text)
    assert (found["algo"], found.get("response_length"), found.get("rollout_n")) == (kind, length, samples)


@pytest.mark.parametrize(("on", "kind"), [("True", "int4"), ("False", None)])
def test_a_way_to_quantize_that_is_off_quantizes_nothing(on, kind):
    assert values(VERL.format(on), framework="verl", framework_version="0.9.0").get("engine_quantization") == kind


@pytest.mark.parametrize(("on", "engine"), [("True", "vllm"), ("False", "hf")])
def test_an_engine_that_is_off_has_a_place_and_is_none(on, engine):
    assert values(TRL.format(on))["rollout_engine"] == engine


CUT_OFF = """(TaskRunner pid=7)                                  'lora_alpha': 16,
(TaskRunner pid=7)                                  'lora': {'a2a_experimental': False,
(TaskRunner pid=7)                                           'alpha': 32},
(TaskRunner pid=7)  'reward': {'_target_': 'verl.workers.config.RewardConfig',
(TaskRunner pid=7)             'reward_model': {'enable': False, 'n_gpus_per_node': 0, 'nnodes': 0}}}
verl GRPO: CUDA out of memory"""


def test_rows_of_a_configuration_that_is_cut_off_are_no_words():
    found = values(CUT_OFF)
    assert (found["framework"], found["algo"]) == ("verl", "grpo")
    assert found["full_or_lora"] == "full"


def test_a_role_without_nodes_of_its_own_tells_none_of_the_run():
    assert "n_nodes" not in values(
        "rollout:\n  nnodes: 0\n  n_gpus_per_node: 0\ncluster:\n  gpus_per_node: 8\nCUDA out of memory"
    )
    found = values(
        "cluster:\n  gpus_per_node: 8\n  num_nodes: 2\nrollout:\n  nnodes: 0\n  n_gpus_per_node: 0\nCUDA out of memory"
    )
    assert (found["n_nodes"], found["gpus_per_node"]) == (2, 8)


def test_what_a_person_writes_down_as_a_dictionary_is_read():
    found = values(
        '{"hardware": "2 x RTX 4090", "framework": "verl", "algorithm": "GRPO", "note": "OOM in actor update"}'
    )
    assert (found["gpu_model"], found["n_gpus"], found["algo"], found["phase"]) == (
        "RTX 4090",
        2,
        "grpo",
        "actor_update",
    )
