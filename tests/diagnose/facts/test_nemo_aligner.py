"""NeMo-Aligner is no NeMo-RL: its commands, its keys and its two programs of PPO."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

ACTOR = (
    "Llama-3-8B\n"
    "python -u examples/nlp/gpt/train_gpt_ppo_actor.py trainer.num_nodes=1 trainer.devices=8 model.micro_batch_size=2 "
    "model.tensor_model_parallel_size=4 model.encoder_seq_length=2048 model.ppo.length_params.max_length=1024\n"
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
READ = {
    "framework": "nemo-aligner",
    "algo": "ppo",
    "micro_batch": 2,
    "tp": 4,
    "max_length": 2048,
    "response_length": 1024,
    "strategy": "megatron",
    "gpus_per_node": 8,
}


def test_its_keys_are_read_and_none_of_the_newer_trainer_is_written():
    found = diagnose(ACTOR, {}, current(), ())
    assert {id: found.facts.values.get(id) for id in READ} == READ
    keys = [change.key for one in found.prescriptions for change in one.changes]
    assert not [key for key in keys if key and key.startswith("policy.")]


def test_its_name_in_words_is_its_own():
    found = diagnose("NeMo-Aligner DPO, CUDA out of memory on 8 A100", {}, current(), ())
    assert found.facts.values["framework"] == "nemo-aligner"
