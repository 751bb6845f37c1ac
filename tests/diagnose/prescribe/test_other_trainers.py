"""What is advised to trainers beside the large ones: their own evaluation, their own keys, engines alone."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 1 has a total capacity of 79.10 GiB.\n"


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


def changes(found: Diagnosis) -> dict[str, list[tuple[str, str | None, str]]]:
    return {
        given.lever.slug: [(change.key, change.before, change.after) for change in given.changes]
        for given in found.prescriptions
    }


EVALUATION = """trainer = GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", args=GRPOConfig(per_device_train_batch_size=4, {} num_generations=8,
    max_prompt_length=1024, max_completion_length=2048, gradient_checkpointing=True, use_vllm=True, vllm_mode="server"))
8 x H100 80GB, trl 0.21, deepspeed zero3
  File "/x/transformers/trainer.py", line 4348, in evaluation_loop
  File "/x/trl/trainer/grpo_trainer.py", line 1531, in prediction_step
"""


def test_an_evaluation_makes_logits_of_its_own_batch() -> None:
    found = told(EVALUATION.format("per_device_eval_batch_size=32,") + OOM)
    assert changes(found)["eval.micro.down"][0][:2] == ("per_device_eval_batch_size", "32")
    assert found.estimate.gpu
    evaluation = next(one for one in found.estimate.gpu.phases if one.phase == "eval")
    assert any(term.id == "logits" for term in evaluation.terms)


def test_where_nothing_sets_it_an_evaluation_takes_eight_rows() -> None:
    assert told(EVALUATION.format("") + OOM).facts.values["eval_micro_batch"] == 8


def test_a_run_that_fails_elsewhere_has_no_batch_of_an_evaluation() -> None:
    text = EVALUATION.format("").replace("evaluation_loop", "training_step").replace("prediction_step", "compute_loss")
    assert "eval_micro_batch" not in told(text + OOM).facts.values


IMAGES = """torchrun --nproc_per_node=8 --nnodes=1 src/open-r1-multimodal/src/open_r1/grpo_jsonl.py \
 --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct \
 --per_device_train_batch_size 8 --gradient_checkpointing true --max_completion_length 2048 --max_pixels 3211264
  File "/w/open-r1-multimodal/src/open_r1/trainer/grpo_trainer.py", line 742, in compute_loss
"""


def test_a_key_of_the_base_that_its_own_trainer_ignores_is_not_advised() -> None:
    found = told(IMAGES + OOM)
    assert "logits.chunked" not in changes(found)
    assert found.facts.values["max_pixels"] == 3211264


def test_a_loss_that_its_own_trainer_ignores_is_not_in_force() -> None:
    on = told(IMAGES.replace("--max_pixels", "--use_liger_loss true --max_pixels") + OOM)
    assert on.facts.values.get("logits_chunked") is not True


def test_a_switch_of_one_fork_is_not_written_for_another() -> None:
    assert not any(
        key == "use_gradient_checkpointing" for made in changes(told(IMAGES + OOM)).values() for key, _, _ in made
    )


def test_the_fork_that_has_the_switch_is_told_its_word() -> None:
    text = (
        "from unsloth import FastLanguageModel\n"
        'model, tok = FastLanguageModel.from_pretrained(model_name="unsloth/Qwen3-8B", max_seq_length=16384)\n'
        "model = FastLanguageModel.get_peft_model(model, r=32, use_gradient_checkpointing=True)\n"
        "trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=1))\nRTX 4090 24GB\n"
    )
    small = OOM.replace("79.10", "23.55").replace("18.56", "2.00")
    assert ("use_gradient_checkpointing", "True", "unsloth") in changes(told(text + small))["offload.activation.on"]


def test_an_engine_that_is_split_already_is_not_told_to_split_its_layers() -> None:
    text = "vllm serve Qwen/Qwen2.5-72B-Instruct --tensor-parallel-size 4 --max-model-len 32768\n4 x A100 40GB\n"
    assert "load.spread" not in changes(told(text + OOM.replace("79.10", "39.39").replace("18.56 GiB", "462.00 MiB")))


WAKES = """swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --use_vllm true \\
 --vllm_mode colocate --deepspeed zero3 --vllm_gpu_memory_utilization 0.6 --max_completion_length 2048 --sleep_level 1
8 x A100 80GB, ms-swift 3.8.1
  File "/x/swift/trainers/rlhf_trainer/grpo_trainer.py", line 741, in _fast_infer
    self.engine.engine.wake_up(tags=['{}'])
  File "/x/vllm/device_allocator/cumem.py", line 231, in wake_up
RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62
"""


def test_a_cache_that_is_woken_stands_in_the_hand_over() -> None:
    found = told(WAKES.format("kv_cache"))
    assert changes(found)["rollout.gpu_memory_utilization.down"] == [("vllm_gpu_memory_utilization", "0.6", "0.5")]


def test_weights_that_are_woken_come_without_the_cache() -> None:
    sync = next(one for one in told(WAKES.format("weights")).estimate.gpu.phases if one.phase == "weight_sync")
    assert not any(term.id == "kv_pool" for term in sync.terms)


def test_a_model_that_a_script_loads_too_early_is_told_the_order() -> None:
    text = (
        'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.3-70B-Instruct")\n'
        'args = TrainingArguments(deepspeed="ds_z3.json", per_device_train_batch_size=1)\n4 nodes x 8 A100 80GB, 1 TB RAM each\n'
        "Loading checkpoint shards:  20%|##        | 6/30\nKilled subprocess exits with return code = -9\n"
    )
    assert "load.zero_init" in changes(told(text))
    assert "load.zero_init" not in changes(told("llamafactory-cli train x.yaml\n" + text))


def test_a_process_of_the_data_that_died_is_told_to_have_fewer_beside_it() -> None:
    text = "llamafactory-cli train --stage sft --model_name_or_path Qwen/Qwen2.5-7B --preprocessing_num_workers 64\n8 x A100, 512GB RAM\n"
    found = told(text + "RuntimeError: One of the subprocesses has abruptly died during map operation.\n")
    assert found.prescriptions[0].lever.slug == "data.processes.down"
    assert "eval.keep_less" not in changes(found)


def test_packing_that_the_trainer_refuses_with_pairs_is_not_advised() -> None:
    text = (
        "uv run examples/run_dpo.py --config examples/configs/dpo.yaml policy.model_name=Qwen/Qwen2.5-14B-Instruct "
        "policy.train_micro_batch_size=2 policy.max_total_sequence_length=4096 cluster.gpus_per_node=8\n8 x A100 80GB\n"
        '  File "/opt/nemo-rl/nemo_rl/models/policy/workers/dtensor_policy_worker_v2.py", line 530, in train\n'
    )
    found = told(text + OOM)
    assert "padding.remove" not in changes(found)
    assert any("refused with DPO" in one.why for one in found.not_advised)


def test_what_belongs_to_a_critic_is_not_spoken_of_where_nothing_says_that_there_is_one() -> None:
    found = told(
        "Our own FSDP script, Qwen2.5-7B full fine-tuning, 8 x L40S, batch 2\n" + OOM.replace("79.10", "44.42")
    )
    assert not any("critic" in one.lever.slug for one in found.not_advised)


def test_recomputation_is_turned_on_without_what_another_word_adds() -> None:
    text = (
        "base_model: meta-llama/Llama-3.1-70B-Instruct\nadapter: qlora\nload_in_4bit: true\nrl: dpo\nsequence_len: 4096\n"
        "micro_batch_size: 1\ngradient_checkpointing: false\n1 x H100 80GB\n"
    )
    assert changes(told(text + OOM))["checkpointing.activation.on"] == [("gradient_checkpointing", "false", "true")]


# --- weights on the host
TWO = "{} Qwen2.5-7B full fine-tuning, per_device_train_batch_size=1, max_length=2048, 2 x A100 40GB\n"


def test_stage_2_of_deepspeed_has_no_way_to_keep_the_weights_on_the_host() -> None:
    """deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/config.py: offload_param is valid only with stage 3."""
    assert "offload.param.on" not in changes(told(TWO.format("SFTTrainer, DeepSpeed ZeRO-2,") + OOM))
    assert "offload.param.on" in changes(told(TWO.format("SFTTrainer, DeepSpeed ZeRO-3,") + OOM))


def test_one_card_that_nothing_shards_keeps_its_weights() -> None:
    text = "QLoRA of tiiuae/falcon-40b with transformers.Trainer, per_device_train_batch_size=4, max_length=2048, {} x A100 40GB\n"
    assert "offload.param.on" not in changes(told(text.format(1) + OOM))


def test_an_engine_that_does_not_share_the_trainers_weights_has_no_standby() -> None:
    found = told(
        "trl 0.19.0\nGRPOConfig(use_vllm=True, vllm_mode='colocate', per_device_train_batch_size=8, max_completion_length=1024)\n"
        "Qwen/Qwen2.5-1.5B-Instruct, one RTX 4090, actor update\n" + OOM
    )
    assert not any(key == "UNSLOTH_VLLM_STANDBY" for made in changes(found).values() for key, *_ in made)


def test_a_killed_worker_of_the_loader_asks_for_fewer_of_them() -> None:
    found = told("RuntimeError: DataLoader worker (pid 4423) is killed by signal: Killed.")
    assert found.prescriptions[0].lever.slug == "dataloader.workers.down"


def test_what_learns_from_a_data_set_alone_runs_no_ray() -> None:
    killed = "failed (exitcode: -9) local_rank: 3 (pid: 4822) of binary: /opt/conda/bin/python\n"
    assert "ray.object_store.down" not in changes(told("SFT of Llama-2-70b with accelerate, 8 x A100 80GB\n" + killed))


def test_a_switch_is_given_no_number() -> None:
    text = "torchrun pretrain_gpt.py --use-distributed-optimizer --micro-batch-size 4 --tensor-model-parallel-size 2\n8 x A100 80GB\n"
    assert not any(after == "3" for made in changes(told(text + OOM)).values() for _, _, after in made)


KAGGLE = """unsloth sft of gemma-3-12b-it, 4bit lora r=16, per_device_train_batch_size=2, max_seq_length=4096
Kaggle T4 x2
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 14.74 GiB of which 0.54 GiB is free.
"""


def test_a_fork_is_advised_no_setting_that_it_leaves_no_choice_in() -> None:
    found = told(KAGGLE)
    given = {one.lever.slug for one in found.prescriptions} | {one.lever.slug for one in found.not_advised}
    fixed = {"shard.zero_stage.up", "offload.optimizer.on", "offload.param.on", "placement.separate_roles"}
    assert found.facts.fork
    assert not given & fixed


KILLED = "dmesg: Out of memory: Killed process 2213 (python) anon-rss:15198304kB"
OF_SAMPLES = {"algo.drop_critic", "algo.drop_ref", "algo.entropy_off", "rollout.n.down", "sync.gather_batched"}


@pytest.mark.parametrize(
    "trainer", ["TRL SFTTrainer", "TRL DPOTrainer", "TRL KTOTrainer", "Axolotl SFT", "my SFT script"]
)
@pytest.mark.parametrize("where", ["", "OOM during evaluation", KILLED])
def test_a_run_without_samples_is_advised_nothing_of_them(trainer: str, where: str) -> None:
    found = told(f"{trainer}, Qwen2.5-7B, LoRA, one RTX 4090\n{where}\n" + ("" if where == KILLED else OOM))
    given = {one.lever.slug for one in found.prescriptions}
    assert not given & {*OF_SAMPLES, "batch.train.down"}


@pytest.mark.parametrize(
    ("present", "after"),
    [
        ("recipes/accelerate_configs/zero2.yaml", "recipes/accelerate_configs/zero3.yaml"),
        ("my/deepspeed_zero2.yaml", "my/deepspeed_zero3.yaml"),
        ("my_ds_z2_conf.yaml", "examples/accelerate_configs/deepspeed_zero3.yaml"),
    ],
)
def test_a_file_is_replaced_by_its_like_in_its_own_folder(present: str, after: str) -> None:
    text = f"accelerate launch --config_file {present} --num_processes 8 src/open_r1/sft.py --model_name_or_path Qwen/Qwen2.5-14B zero2\n"
    text += "8 x H100 80GB, TRL, deepspeed zero2\n" + OOM
    assert changes(told(text))["shard.zero_stage.up"][0][2] == after


LOSS = '  File "/x/transformers/trainer.py", line 3698, in training_step\n    loss = self.compute_loss(model, inputs)\n'


@pytest.mark.parametrize(
    ("trainer", "key"),
    [
        ("PPOTrainer PPOConfig(per_device_train_batch_size=8)", None),
        ("ORPOTrainer ORPOConfig(per_device_train_batch_size=8)", None),
        ("OnlineDPOTrainer OnlineDPOConfig(per_device_train_batch_size=8)", None),
        ("KTOTrainer KTOConfig(per_device_train_batch_size=8)", "use_liger_kernel"),
        ("GRPOTrainer GRPOConfig(per_device_train_batch_size=8)", "use_liger_kernel"),
    ],
)
def test_a_fused_loss_is_advised_where_the_loss_asks_for_it(trainer: str, key: str | None) -> None:
    found = changes(told(f"from trl import {trainer}, Qwen2.5-7B, LoRA, one H100 80GB\n" + LOSS + OOM)).get(
        "logits.chunked"
    )
    assert (found[0][0] if found else None) == key


def test_what_an_older_version_did_not_have_on_is_not_said_to_be_on() -> None:
    found = told("trl SFTTrainer, Qwen2.5-7B, one H100 80GB\n" + OOM)
    why = {one.lever.slug: one.why for one in found.not_advised}
    assert why["checkpointing.activation.on"] == "On by default since version 0.22: set it if yours is older."
    found = told("trl==1.0.0 SFTTrainer, Qwen2.5-7B, one H100 80GB\n" + OOM)
    assert "default of TRL" in {one.lever.slug: one.why for one in found.not_advised}["checkpointing.activation.on"]


@pytest.mark.parametrize("text", ["Qwen2.5-7B qlora 4090", "bnb 4bit Llama-3.1-70B, RTX 4090, from_pretrained"])
def test_nothing_is_advised_for_models_of_which_nobody_speaks(text: str) -> None:
    given = {one.lever.slug for one in told(f"{text}\n{OOM}").prescriptions}
    assert not given & {
        "checkpointing.critic.on",
        "offload.critic.on",
        "offload.ref.on",
        "algo.drop_ref",
        "sync.layered",
    }


def test_a_state_on_the_host_that_was_tried_is_not_advised() -> None:
    found = told(
        "swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --train_type full --deepspeed zero3 --max_length 8192\n"
        "单机8*A800还是OOM，已经试过 zero3_offload 了，没用\n" + OOM
    )
    assert {"offload.optimizer.on", "offload.param.on"} <= {one.lever.slug for one in found.not_advised}


def test_the_older_ppo_is_told_the_rows_of_its_own_configuration() -> None:
    found = told(
        'from trl import PPOConfig\nconfig = PPOConfig(model_name="lmsys/vicuna-7b-v1.5", batch_size=64, mini_batch_size=4)\n'
        "trl==0.11.4, one A100 40GB\n    stats = ppo_trainer.step(query_tensors, response_tensors, rewards)\n" + OOM
    )
    assert found.facts.values["micro_batch"] == 4
    assert changes(found)["batch.micro.down"][0][0] == "mini_batch_size"


def test_a_frame_of_the_trainer_alone_clears_an_engine_on_other_cards() -> None:
    found = told(
        "accelerate launch --num_processes 7 src/open_r1/grpo.py --use_vllm true --vllm_device auto\n"
        '[rank3]:   File "/x/trl/trainer/grpo_trainer.py", line 444, in _get_per_token_logps\n' + OOM
    )
    refused = {one.lever.slug: one.reason for one in found.not_advised}
    assert refused["rollout.gpu_memory_utilization.down"] == "elsewhere"


def test_a_word_of_a_sentence_is_not_shown_as_a_key_s_own() -> None:
    found = changes(told("trl SFTTrainer, full fine-tuning of Qwen2.5-14B, zero2, 4x A100 40GB\n" + OOM))
    assert found["peft.lora"][0] == ("use_peft", None, "true")
    assert found["shard.zero_stage.up"][0][:2] == ("config_file", None)


def test_a_setting_that_takes_deepspeeds_own_file_is_given_none_of_another_kind() -> None:
    text = "python train.py  # trl GRPOConfig(deepspeed=None, per_device_train_batch_size=4)\n"
    text += "TRL GRPO, full fine-tuning of Qwen2.5-1.5B, 4 x A100 40GB\n" + OOM
    assert changes(told(text))["shard.zero_stage.up"][0][0] == "config_file"


@pytest.mark.parametrize(
    ("launcher", "key"),
    [
        ("torchrun --nproc_per_node=8", "deepspeed"),
        ("python -m torch.distributed.run --nproc_per_node=8", "deepspeed"),
        ("srun torchrun --nproc_per_node=8", "deepspeed"),
        ("deepspeed --num_gpus 8", "deepspeed"),
        ("accelerate launch --num_processes 8", "config_file"),
        ("python -m accelerate.commands.launch --num_processes 8", "config_file"),
    ],
)
def test_a_launcher_that_reads_no_file_of_sharding_leaves_it_to_the_trainer(launcher: str, key: str) -> None:
    text = f"{launcher} train_dpo.py --model_name_or_path Qwen/Qwen2.5-14B-Instruct --per_device_train_batch_size 1 --max_length 2048\n"
    found = told(text + "trl 0.17.0, 8x A100 80GB, OOM in the actor update\n" + OOM)
    given = next(one for one in found.prescriptions if one.lever.slug == "shard.zero_stage.up")
    assert [one.key for one in given.changes] == [key]
    if key == "deepspeed":
        patched = "\n".join(line.text for line in given.patch if line.mark == "+")
        assert patched.endswith("}'")
        assert "--deepspeed '{" in patched
        assert told(patched + "\ntrl 0.17.0").facts.values["zero_stage"] == 3


def test_offloaded_shards_are_those_of_single_layers() -> None:
    text = "torchrun --nproc_per_node=8 train_grpo.py --model_name_or_path Qwen/Qwen2.5-14B-Instruct --per_device_train_batch_size 1\n"
    found = changes(told(text + "trl 0.17.0, GRPO, 8x A100 80GB, OOM in the actor update\n" + OOM))
    assert found["offload.optimizer.on"] == [("fsdp", None, "full_shard auto_wrap offload")]


def test_an_engine_on_other_cards_is_left_alone_where_a_reward_model_overflows() -> None:
    roles = " ".join(
        f"--{role}_num_nodes 1 --{role}_num_gpus_per_node 1" for role in ("actor", "critic", "ref", "reward")
    )
    text = (
        f"python3 -m openrlhf.cli.train_ppo_ray {roles} --pretrain Qwen/Qwen2.5-7B --reward_pretrain Qwen/Qwen2.5-14B\n"
    )
    found = told(f"{text}OOM in the reward model's forward pass\n{OOM}")
    assert found.phase == "reward"
    assert "rollout.gpu_memory_utilization.down" not in {given.lever.slug for given in found.prescriptions}


def test_the_name_of_a_launch_file_is_no_switch() -> None:
    found = told(
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9912.0. Some of the step tasks have been OOM Killed.\n"
        "#SBATCH --mem=256G --gres=gpu:4\naccelerate launch --config_file zero3_offload.yaml train_dpo.py"
        " --model_name_or_path mistralai/Mistral-7B-v0.1 --bf16 --per_device_train_batch_size 2\n"
    )
    (change,) = changes(found)["offload.optimizer.off"]
    assert change == ("", "true", "false")


def test_what_shipped_scripts_turn_on_is_taken_so_in_a_part_of_a_command() -> None:
    flags = "--micro_train_batch_size 4 --prompt_max_len 1024 --generate_max_len 7168 --zero_stage 3\n"
    found = told("OpenRLHF 0.8 GRPO Qwen2.5-7B 8xA100-80G\n" + flags + OOM)
    fact = found.facts.stated["gradient_checkpointing"]
    assert (fact.value, fact.origin) == (True, "assumed")
    said = next(one.why for one in found.not_advised if one.lever.slug == "checkpointing.activation.on")
    assert said == "Taken as on, since every shipped script that trains turns it on: see that it is."
    whole = "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen2.5-7B " + flags + "8xA100-80G\n"
    assert told(whole + OOM).facts.values["gradient_checkpointing"] is False


SCRIPT = """from trl import DPOConfig, DPOTrainer
args = DPOConfig(per_device_train_batch_size=4, max_length=2048, output_dir="out")
trainer = DPOTrainer("Qwen/Qwen2.5-7B-Instruct", args=args, train_dataset=rows)
4 x A100 80GB
  File "/x/torch/optim/adamw.py", line 173, in _init_group
"""


@pytest.mark.parametrize(
    ("run", "key", "word"),
    [
        (SCRIPT, "peft_config", "LoraConfig(r=32)"),
        ("accelerate launch --config_file zero2.yaml train.py\n" + SCRIPT, "peft_config", "LoraConfig(r=32)"),
        (
            "trl dpo --model_name_or_path Qwen/Qwen2.5-7B-Instruct --max_length 2048\n4 x A100 80GB\n",
            "use_peft",
            "true",
        ),
    ],
)
def test_a_script_of_ones_own_is_told_what_its_call_takes(run: str, key: str, word: str) -> None:
    found = told(run + OOM)
    assert changes(found)["peft.lora"][0] == (key, None, word)
    lora = next(one for one in found.prescriptions if one.lever.slug == "peft.lora")
    assert not any("peft_config" in line.text for line in lora.patch if line.mark == "+")


OLD_RLOO = """trl=={}
args = RLOOConfig(rloo_k=4, response_length=256, per_device_train_batch_size=16)
trainer = RLOOTrainer(config=args, policy=policy, ref_policy=ref_policy, reward_model=reward_model)
EleutherAI/pythia-6.9b on 8 x H100 80GB
  File "/x/torch/optim/adamw.py", line 173, in _init_group
"""


@pytest.mark.parametrize("version", ["0.9.6", "0.11.4", "0.21.0"])
def test_the_old_rloo_takes_neither_adapter_nor_beta(version: str) -> None:
    written = changes(told(OLD_RLOO.format(version) + OOM))
    assert "peft.lora" not in written
    assert "algo.drop_ref" not in written
