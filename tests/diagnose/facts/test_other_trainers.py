"""Trainers that are read by a few keys of their own: what their files and tracebacks say."""

from __future__ import annotations

import pytest

from diagnose.types import Diagnosis
from tests.diagnose.facts.conftest import OOM, levers, told

# --- one YAML file that names no trainer
AXOLOTL = """base_model: Qwen/Qwen3-8B
sequence_len: 8192
sample_packing: true
micro_batch_size: 4
gradient_accumulation_steps: 2
flash_attention: true
optimizer: adamw_torch_fused
deepspeed: deepspeed_configs/zero3_bf16.json
4 x A100 40GB
  File "/w/transformers/trainer.py", line 4020, in training_step
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.55 GiB. GPU 2 has a total capacity of 39.39 GiB.
"""


def test_a_bare_file_is_known_by_two_keys_that_nobody_else_has_together() -> None:
    assert told(AXOLOTL).facts.values["framework"] == "axolotl"


def test_a_trainer_whose_keys_were_read_is_not_said_to_have_unknown_ones() -> None:
    assert "are not in the catalogue" not in told(AXOLOTL).facts.notes[0]


def test_rows_that_are_joined_are_still_counted_by_the_micro_batch() -> None:
    found = told(AXOLOTL)
    assert ("micro_batch_size", "1") in levers(found)["batch.micro.down"]
    assert "batch.dynamic_tokens.down" not in levers(found)


def test_attention_that_is_on_is_not_advised() -> None:
    assert "attention.flash" not in levers(told(AXOLOTL))


def test_deepspeed_keeps_masters_of_weights_that_are_loaded_in_16_bits() -> None:
    update = next(one for one in told(AXOLOTL).estimate.gpu.phases if one.phase == "actor_update")
    adam = next(term for term in update.terms if term.id == "actor_optimizer")
    assert adam.bytes == pytest.approx(12 * 8.19e9 / 4, rel=0.02)


# --- recipes
PPO = "tune run ppo_full_finetune_single_device --config mistral/7B_full_ppo_low_memory batch_size=128 forward_batch_size=32 "


def test_a_backward_pass_takes_what_the_accumulation_leaves() -> None:
    found = told(PPO + "ppo_batch_size=64 gradient_accumulation_steps=4\n" + OOM)
    assert {id: found.facts.values[id] for id in ("algo", "micro_batch", "logprob_micro_batch")} == {
        "algo": "ppo",
        "micro_batch": 16,
        "logprob_micro_batch": 32,
    }


def test_every_sample_of_a_prompt_is_trained_in_one_pass() -> None:
    run = "tune run --nproc_per_node 4 dev/grpo_full_finetune_distributed --config dev/qwen3B_sync_grpo\nModel is /tmp/Qwen2.5-3B\n"
    few, many = (
        told(f"{run}batch_size=1 grpo_samples={n} max_generated_tokens=512\n4 x A100 80GB\n{OOM}") for n in (4, 32)
    )
    assert _logits(many) > 6 * _logits(few)


def _logits(found: Diagnosis) -> int:
    update = next(one for one in found.estimate.gpu.phases if one.phase == "actor_update")
    return next(term.bytes for term in update.terms if term.id == "logits")


@pytest.mark.parametrize(
    ("frame", "phase"),
    [
        ('File "/x/recipes/ppo_full_finetune_single_device.py", line 1003, in train\n    self.ppo_step(\n', None),
        ('File "/x/ppo_full_finetune_single_device.py", line 1105, in ppo_step\n    pi_logits = self._policy_model(\n', "actor_update"),
        ('File "/x/recipes/dev/grpo_full_finetune_distributed.py", line 751, in grpo_step\n    pi_logits = self._model(\n', "actor_update"),
        ('File "ppo_full_finetune_x.py", line 830, in generate_trajectory\n    ref_logits = self._ref_policy_model(\n', "ref_logprob"),
        ('File "/x/trlx/trainer/accelerate_ppo_trainer.py", line 285, in make_experience\n    samples = self.generate(\n', "rollout"),
        ('File "/x/src/prime_rl/trainer/rl/train.py", line 479, in train\n    loss.backward()\n', "actor_update"),
        ('File "/x/vllm/v1/worker/gpu_model_runner.py", line 1776, in load_model\n    self.model = model_loader.load_model(\n', "init"),
    ],
)  # fmt: skip
def test_its_own_functions_tell_the_phase(frame: str, phase: str | None) -> None:
    found = told(f"Traceback (most recent call last):\n  {frame}{OOM}")
    assert found.phase == (phase or "actor_update")


def test_a_traceback_that_lost_its_inner_frames_still_says_whose_log_probs_they_were() -> None:
    frame = '  File "/x/trl/trainer/grpo_trainer.py", line 661, in _prepare_inputs\n    ref_per_token_logps = self._get_per_token_logps(\n'
    assert told(f"GRPOTrainer\n{frame}{OOM}").phase == "ref_logprob"


# --- a file in TOML
def test_a_batch_of_the_orchestrator_is_no_micro_batch() -> None:
    found = told(
        f'uv run rl @ rl.toml\n[model]\nname = "Qwen/Qwen3-8B"\n[orchestrator]\nbatch_size = 256\ngroup_size = 16\n{OOM}'
    )
    assert found.facts.values["rollout_n"] == 16
    assert found.facts.values.get("micro_batch") != 256


# --- cards
def test_policy_and_reference_share_their_cards_unless_told_otherwise() -> None:
    run = (
        "trainer.placement.colocate_all=false trainer.placement.policy_num_gpus_per_node=4 trainer.placement.ref_num_gpus_per_node=4 "
        "generator.inference_engine.num_engines=4 generator.inference_engine.tensor_parallel_size=1"
    )
    assert told(f"{run}\n{OOM}").facts.values["n_gpus"] == 8
    assert told(f"{run} trainer.placement.colocate_policy_ref=false\n{OOM}").facts.values["n_gpus"] == 12


def test_a_type_with_its_module_is_that_type() -> None:
    text = 'm = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)\ntrainer = GRPOTrainer(model=m)\n'
    assert told(text + OOM).facts.values["precision"] == "bf16"


def test_an_engines_context_length_is_not_the_limit_of_a_row() -> None:
    found = told(f"allocation_mode: sglang:d4p1t1+fsdp:d4p1t1\nsglang:\n  context_length: 32768\n{OOM}")
    assert "max_length" not in found.facts.values


def test_a_loss_of_pairs_is_no_log_prob_of_old_samples() -> None:
    assert (
        told(f"swift rlhf --rlhf_type dpo --model Qwen/Qwen3-14B\nOOM at get_batch_logps\n{OOM}").phase
        == "actor_update"
    )


def test_settings_of_an_object_are_those_of_the_trainer() -> None:
    text = f"GRPOTrainer(model='Qwen/Qwen2.5-7B', args=args)\nargs.per_device_train_batch_size = 8; args.num_generations = 16\n{OOM}"
    assert {id: told(text).facts.values.get(id) for id in ("micro_batch", "rollout_n")} == {
        "micro_batch": 8,
        "rollout_n": 16,
    }


JOB = "#SBATCH --gres=gpu:a100:4\n{}llamafactory-cli train x.yaml\nmodel_name_or_path: Qwen/Qwen2.5-32B-Instruct\n"


def test_a_job_that_asks_for_no_nodes_has_one() -> None:
    found = told(JOB.format("") + OOM)
    assert (found.facts.values["n_gpus"], found.facts.stated["n_nodes"].origin) == (4, "assumed")


@pytest.mark.parametrize("asked", ["#SBATCH --ntasks=8\n", "#SBATCH -n 8\n", "#SBATCH --ntasks-per-node=4\n"])
def test_a_job_that_asks_for_tasks_may_have_several(asked: str) -> None:
    assert "n_nodes" not in told(JOB.format(asked) + OOM).facts.values


def test_a_mac_has_one_card() -> None:
    text = "RuntimeError: MPS backend out of memory (MPS allocated: 81.20 GiB, max allowed: 81.60 GiB). Tried to allocate 1.02 GiB.\n"
    assert told(f"SFTTrainer Qwen2.5-7B\n{text}").facts.values["n_gpus"] == 1


ADAPTER = """{
  "base_model_name_or_path": "meta-llama/Llama-3.2-3B",
  "lora_dropout": 0.05,
  "peft_type": "%s",
  "r": 32,
  "target_modules": [
    "v_proj",
    "q_proj"
  ]
}"""


def test_it_reads_what_peft_saves_beside_an_adapter() -> None:
    values = told(ADAPTER % "LORA").facts.values
    assert {id: values.get(id) for id in ("full_or_lora", "lora_rank", "lora_layers", "adapter_dropout")} == {
        "full_or_lora": "lora",
        "lora_rank": 32,
        "lora_layers": "query_value",
        "adapter_dropout": True,
    }


@pytest.mark.parametrize(("method", "trains"), [("IA3", "lora"), ("LOKR", "lora"), ("OSF", None)])
def test_other_methods_of_peft_leave_the_base_alone_but_for_one(method: str, trains: str | None) -> None:
    assert told(f'{{"peft_type": "{method}"}}\nmicro_batch_size: 2').facts.values.get("full_or_lora") == trains


# --- torchtune
TORCHTUNE = """tune run lora_finetune_single_device --config a/3B_lora optimizer=torch.optim.SGD batch_size=2 compile=True
model:
  _component_: torchtune.models.llama3_2.lora_llama3_2_3b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: {mlp}
batch_size: 4
dataset:
  _component_: torchtune.datasets.alpaca_cleaned_dataset
optimizer:
  _component_: bitsandbytes.optim.PagedAdamW8bit
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
"""


@pytest.mark.parametrize(("mlp", "layers"), [(True, "all_linear"), (False, "attention")])
def test_what_a_command_says_of_a_component_outranks_the_file(mlp: bool, layers: str) -> None:
    values = told(TORCHTUNE.format(mlp=mlp)).facts.values
    expected = {
        "framework": "torchtune",
        "optimizer": "sgd",
        "micro_batch": 2,
        "lora_layers": layers,
        "logits_chunked": True,
        "fused_loss": True,
        "longest_response_length": 1028,
    }
    assert {id: values.get(id) for id in expected} == expected


XTUNER = """xtuner train ./internlm2_7b_qlora_colorist_e5_copy.py
pack_to_max_length = True
batch_size = 2  # per_device
model = dict(
    type=SupervisedFinetune,
    llm=dict(
        torch_dtype=torch.float16,
        quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True)),
    lora=dict(
        type=LoraConfig,
        r=64,
        lora_dropout=0.1))
"""


def test_xtuner_puts_adapters_on_every_layer_and_recomputes_them_unless_told_otherwise() -> None:
    values = told(XTUNER).facts.values
    expected = {
        "framework": "xtuner",
        "full_or_lora": "qlora",
        "lora_rank": 64,
        "lora_layers": "all_linear",
        "micro_batch": 2,
        "packed_rows": True,
        "gradient_checkpointing": True,
        "adapter_dropout": True,
    }
    assert {id: values.get(id) for id in expected} == expected


def test_a_recipe_tells_what_its_shipped_files_set() -> None:
    found = told(
        "tune run --nproc_per_node 8 lora_finetune_distributed --config llama3_1/70B_lora, 8 x A100 80GB\n" + OOM
    )
    assert {id: found.facts.values.get(id) for id in ("full_or_lora", "strategy", "algo")} == {
        "full_or_lora": "lora", "strategy": "fsdp2", "algo": "sft",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("step", "algo"), [("step1_supervised_finetuning", "sft"), ("step2_reward_model_finetuning", "rm")]
)
def test_deepspeed_chat_trains_one_model_before_its_third_step(step: str, algo: str) -> None:
    path = f"/x/DeepSpeedExamples/applications/DeepSpeed-Chat/training/{step}/main.py"
    frame = f'  File "{path}", line 338, in main\n    model.backward(loss)\n'
    found = told(
        frame + "deepspeed main.py --model_name_or_path facebook/opt-6.7b --zero_stage 3, 4 x V100 32G\n" + OOM
    )
    assert found.phase == "actor_update"
    assert found.facts.values["algo"] == algo


def test_a_notebooks_arrow_points_at_the_call() -> None:
    found = told(
        "/usr/local/lib/python3.10/dist-packages/trl/trainer/dpo_trainer.py in get_batch_loss_metrics(self, model, batch, train_eval)\n"
        "    997                         reference_rejected_logps,\n"
        "--> 999                         ) = self.concatenated_forward(self.ref_model, batch)\n" + OOM
    )
    assert found.phase == "ref_logprob"


# --- a question of what fits
@pytest.mark.parametrize("text", ["full sft qwen3-0.6b on rtx 3060 12G 行不行", "qlora 7b on 8GB card?"])
def test_a_card_that_is_asked_about_without_a_number_is_one(text: str) -> None:
    count = told(text).facts.stated["n_gpus"]
    assert (count.value, count.origin) == (1, "assumed")


@pytest.mark.parametrize(
    "text", ["全参GRPO 14B 需要几张H800?", "Can I train 7B on A100s?", "how many 24GB cards do I need for 7B?"]
)
def test_no_number_is_taken_where_it_is_asked_for(text: str) -> None:
    assert "n_gpus" not in told(text).facts.stated


def test_what_is_asked_about_is_read_as_told() -> None:
    found = told("Can I full fine-tune Qwen2.5-7B on 8xA100 40GB with ms-swift zero3?")
    assert {id: found.facts.values.get(id) for id in ("zero_stage", "algo")} == {"zero_stage": 3, "algo": "sft"}


# --- DeepSpeed's configuration as a part of a trainer's own file
EMBEDDED = """deepspeed:
  zero_optimization:
    stage: 3
    offload_optimizer:
      device: cpu
"""


@pytest.mark.parametrize(
    "trainer",
    [
        "micro_batch_size: 1\n",
        "trl sft --model_name_or_path m\n",
        "llamafactory-cli train a.yaml\n",
        "swift sft --model m\n",
    ],
)
def test_a_stage_below_another_key_is_read_like_one_in_a_file_of_its_own(trainer: str) -> None:
    facts = told(trainer + EMBEDDED).facts.values
    assert (facts["zero_stage"], facts["optimizer_on_cpu"]) == (3, True)


def test_a_short_name_of_the_limit_is_read_of_a_script_that_nobody_knows() -> None:
    """liucongg/ChatGLM-Finetuning a137ad6 train.py; beside it stands a limit of the question alone."""
    facts = told("deepspeed train.py --max_len 1560 --max_src_len 1024 --per_device_train_batch_size 1\n").facts.values
    assert facts["max_length"] == 1560
