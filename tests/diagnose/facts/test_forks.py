"""Forks: by which marks they are found, whose keys read them, and what is said of a trainer whose keys nobody told us."""

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import Knowledge, current
from diagnose.knowledge.loader import parse
from diagnose.pipeline import diagnose
from diagnose.report import to_json

HEAD = 'title = "{}"\nreviewed = 2026-11-20\nsources = ["https://example.org"]\nphases = ["rollout", "actor_update"]\n'
QUILL = """
[detect]
commands = ["quill.train"]
names = ["Quill"]
rank = 6

[[key]]
key = "rows"
fact = "micro_batch"

[[default]]
facts = { rollout_n = 8 }

[[default]]
fork = "plume"
when = { micro_batch = 2 }
facts = { rollout_n = 5, train_batch_size = 64 }

[[fork]]
id = "plume"
title = "Plume"
source = "https://example.org/plume"
detect = { paths = ["plume/"], literals = ["plume_loop"], names = ["Plume"], rank = 2 }
says = "Its rows are whole conversations."
facts = { rollout_n = 3 }
"""
PLAIN = """
fallback = true
[detect]
rank = 99

[[key]]
key = "rows"
fact = "micro_batch"

[[fork]]
id = "stylus"
title = "Stylus"
source = "https://example.org/stylus"
detect = { literals = ["stylus.run"], names = ["Stylus"], rank = 2 }
says = "Two kinds of cards."
"""


def record(slug, title, text):
    found, problems = parse("frameworks", slug, f"+++\n{HEAD.format(title)}{text}\n+++\n")
    assert problems == []
    return found


@pytest.fixture(scope="module")
def knowledge():
    return Knowledge(frameworks={"quill": record("quill", "Quill", QUILL), "plain": record("plain", "Other", PLAIN)})


@pytest.fixture
def facts(knowledge):
    return lambda text, **answers: read_facts(read(text), answers, knowledge)


def test_a_mere_mention_beside_the_base_is_no_fork(facts):
    found = facts("python -m quill.train rows=4\nPlume does this better, I hear")
    assert (found.values["framework"], found.fork) == ("quill", None)


def test_a_name_without_keys_gives_way_to_one_of_the_catalogue(facts):
    assert facts("Stylus runs, Quill does not").values["framework"] == "quill"


@pytest.mark.parametrize(
    "mark",
    ['  File "/srv/plume/main.py", line 3, in main', "plume_loop is up", "python -m quill.train out=/runs/Plume/7"],
)
def test_a_fork_is_read_by_the_keys_of_its_base(facts, mark):
    found = facts(f"python -m quill.train rows=4\n{mark}")
    assert (found.values["framework"], found.fork.id, found.values["micro_batch"]) == ("quill", "plume", 4)


def test_a_fork_is_found_where_the_base_is_not_named(facts):
    assert facts("Plume runs out of memory").fork.id == "plume"


def test_a_fork_brings_its_own_defaults(facts):
    assert facts("plume_loop").values["rollout_n"] == 3
    assert facts("python -m quill.train").values["rollout_n"] == 8


def test_a_default_under_a_condition_can_be_of_one_fork_and_gives_way_to_what_that_always_does(facts):
    fork, base = (facts(f"{mark}\npython -m quill.train rows=2").values for mark in ("plume_loop", ""))
    assert (fork["train_batch_size"], fork["rollout_n"]) == (64, 3)
    assert ("train_batch_size" in base, base["rollout_n"]) == (False, 8)


def test_what_differs_is_noted(facts):
    assert facts("plume_loop").notes == ("Plume is read as Quill. Its rows are whole conversations.",)


def test_a_trainer_known_by_name_alone_is_said_to_be_so(facts):
    found = facts("stylus.run")
    assert (found.values["framework"], found.framework) == ("stylus", None)
    assert "its keys are not in the catalogue" in found.notes[0]


def test_a_trainer_of_which_keys_were_read_is_not_said_to_have_none(facts):
    assert "the keys above are read" in facts("stylus.run --rows 4").notes[0]


@pytest.mark.parametrize(
    ("words", "framework", "fork"),
    [
        ("plume (on quill)", "quill", "plume"),
        ("quill sft + something", "quill", None),
        ("Quillwort", "Quillwort", None),
    ],
)
def test_an_answer_in_ones_own_words_means_what_it_names_the_fork_before_its_base(facts, words, framework, fork):
    found = facts("rows=4", framework=words)
    assert (found.values["framework"], found.fork.id if found.fork else None) == (framework, fork)


def test_an_answer_may_name_a_fork(facts):
    found = facts("rows=4", framework="Plume")
    assert (found.values["framework"], found.fork.id, found.trainer) == ("quill", "plume", "Plume")
    assert facts("rows=4", framework="stylus").values["framework"] == "stylus"


@pytest.mark.parametrize(
    ("text", "id"), [("python -m quill.train", "quill"), ("plume_loop", "other:plume"), ("stylus.run", "other:stylus")]
)
def test_the_batch_interface_tells_a_fork_from_its_base(knowledge, text, id):
    assert to_json(diagnose(text, {}, knowledge, ()))["framework"] == id


NOW = "python3 train.py {} actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=a/b"


@pytest.mark.parametrize(
    ("said", "framework", "fork"),
    [
        ("python3 -m rllm.train.train_agent_ppo actor_rollout_ref.rollout.n=8", "verl", "rllm"),
        (NOW.format("rllm/backend=verl rllm.trainer.total_epochs=1"), "verl", "rllm-0.2"),
        (NOW.format("rllm.algorithm.adv_estimator=rloo rllm.rollout.n=4"), "verl", "rllm-0.2"),
        ("python3 train.py rllm/backend=tinker model.name=a/b rllm.trainer.total_epochs=1", None, "rllm-service"),
    ],
)
def test_a_fork_that_went_on_is_told_from_what_it_froze(said, framework, fork):
    found = read_facts(read(said), {}, current())
    assert (found.framework.slug if found.framework else None, found.fork.id) == (framework, fork)


def test_the_estimator_and_samples_of_that_fork_are_read_by_its_own_keys():
    values = read_facts(read(NOW.format("rllm.algorithm.adv_estimator=rloo rllm.rollout.n=4")), {}, current()).values
    assert (values["algo"], values["has_critic"], values["rollout_n"]) == ("rloo", False, 4)


def test_where_a_service_trains_nothing_is_estimated():
    said = "python3 train.py rllm/backend=fireworks model.name=Qwen/Qwen3-8B data.train_batch_size=16\n\n8 x H100 80GB"
    found = diagnose(said, {}, current(), ())
    assert (found.estimate.gpu, found.estimate.host, found.estimate.missing) == (None, None, ())
    assert any("Nothing is estimated" in note for note in found.facts.notes)


NAMED = {
    "tune run --nproc_per_node 2 full_finetune_distributed --config llama3_1/8B_full batch_size=4 dataset.packed=True "
    "tokenizer.max_seq_len=8192": {
        "framework": "torchtune",
        "model": "llama3.1-8B",
        "algo": "sft",
        "full_or_lora": "full",
        "micro_batch": 4,
        "packed_rows": True,
        "max_length": 8192,
        "strategy": "fsdp2",
        "gradient_checkpointing": True,
    },
    "tune run lora_finetune_single_device --config llama3_1/8B_qlora_single_device batch_size=8": {
        "full_or_lora": "qlora",
        "micro_batch": 8,
        "n_gpus": 1,
    },
    "litgpt finetune_lora mistralai/Mistral-7B-Instruct-v0.3 --data JSON --train.micro_batch_size 4 --precision bf16-true": {
        "model": "Mistral-7B-Instruct-v0.3",
        "full_or_lora": "lora",
        "micro_batch": 4,
        "n_gpus": 1,
    },
    "deepspeed main.py --actor_model_name_or_path facebook/opt-13b --actor_zero_stage 3 --per_device_training_batch_size 8 "
    "--max_answer_seq_len 256 --actor_gradient_checkpointing --actor_lora_dim 128 --enable_hybrid_engine": {
        "framework": "deepspeed-chat",
        "algo": "ppo",
        "full_or_lora": "full",
        "zero_stage": 3,
        "micro_batch": 8,
        "response_length": 256,
        "rollout_engine": "hf",
    },
    "colossalai run --nproc_per_node 8 train_ppo.py --pretrain meta-llama/Llama-2-7b-hf --plugin 3d --tp 8 --train_batch_size 4": {
        "remove_padding": False,
        "rollout_engine": "hf",
    },
    "DeepSpeed-Chat PPO of OPT-13B with ZeRO stage 3 on 8 A100 40GB": {
        "framework": "deepspeed-chat",
        "strategy": "deepspeed",
        "has_critic": True,
        "has_ref": True,
        "has_reward_model": True,
    },
    "cd DeepSpeed-Chat/training/step1_supervised_finetuning\ndeepspeed main.py --model_name_or_path facebook/opt-1.3b --max_seq_len 256 "
    "--per_device_train_batch_size 8 --zero_stage 2 --deepspeed": {
        "framework": "deepspeed-chat",
        "algo": "sft",
        "max_length": 256,
        "strategy": "deepspeed",
        "gradient_checkpointing": False,
    },
}


@pytest.mark.parametrize(("command", "facts"), NAMED.items())
def test_a_named_trainers_own_command_is_read(command, facts):
    found = diagnose(f"{command}\nCUDA out of memory.", {}, current(), ()).facts.values
    assert {id: found.get(id) for id in facts} == facts


def test_the_backward_pass_of_a_recipe_is_the_update():
    text = '  File "/opt/recipes/full_finetune_distributed.py", line 763, in train\n    current_loss.backward()\nCUDA out of memory.'
    assert diagnose(text, {}, current(), ()).phase == "actor_update"


@pytest.mark.parametrize(
    ("flags", "slug"),
    [
        ("--model_name_or_path Qwen/Qwen2.5-1.5B --num_generations 8 --vllm_mode colocate", "trl"),
        ("--model_name_or_path Qwen/Qwen2.5-1.5B --per_device_train_batch_size 8", None),
        ("--num_generations 8 --vllm_mode colocate", None),
        ("--rlhf_type grpo --model_name_or_path Qwen/Qwen2.5-1.5B --num_generations 8", "ms-swift"),
    ],
)
def test_keys_that_others_have_too_are_a_mark_only_together(flags, slug):
    framework = read_facts(
        read(f"accelerate launch --config_file zero2.yaml my_run.py {flags}"), {}, current()
    ).framework
    assert (framework.slug if framework and not framework.fallback else None) == slug


@pytest.mark.parametrize(
    "text",
    [
        "Plume on 8 x A100\npython -m quill.train rows=4",
        "python -m quill.train rows=4\nI am running Plume with longer rows",
        "复现 Plume\npython -m quill.train rows=4",
    ],
)
def test_a_fork_that_somebody_says_they_run_is_read_by_the_keys_of_its_base(facts, text):
    found = facts(text)
    assert (found.fork.id if found.fork else None, found.values["micro_batch"]) == ("plume", 4)


_COPIED = (
    '\n  File "/w/verl/workers/fsdp_workers.py", line 431, in update_actor\n    metrics = self.actor.update_policy(data=data)\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB."
)


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("EasyR1", "easyr1"),
        ("Search-R1 训练 OOM", "search-r1"),
        ("跑 Logic-RL\npython3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", "logic-rl"),
        ("I use verl. EasyR1 works fine with it.", "verl"),
        ("Running EasyR1's data\npython3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8", "verl"),
    ],
)
def test_a_copy_that_is_named_as_what_runs_is_not_its_base(words, slug):
    assert diagnose(words + _COPIED, {}, current(), ()).facts.framework.slug == slug


def test_a_trainer_for_images_ignores_the_limit_of_prompts():
    command = "torchrun --nproc_per_node=2 {} --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct --max_prompt_length 1024 --num_generations 8"
    scripts = ("src/open-r1-multimodal/src/open_r1/grpo_rec.py", "grpo.py")
    told = [diagnose(f"trl==0.17.0\n{command.format(one)}", {}, current(), ()).facts.stated for one in scripts]
    assert "prompt_length" not in told[0]  # what its base would take by default is no limit either
    assert told[1]["prompt_length"].value == 1024
