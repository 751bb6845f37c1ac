"""Trainers that are read by many's keys and have some of their own: a change is written in those."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB\n"
)
AXOLOTL = (
    "axolotl train c.yml, 2x A100 40GB\n```yaml\nbase_model: Qwen/Qwen2.5-7B\nsequence_len: 4096\nmicro_batch_size: 4\n"
    "optimizer: adamw_torch\nbf16: true\n```\n" + OOM
)
SCRIPT = (
    "2x A100 40GB\n```python\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)\n'
    'args = TrainingArguments(\n    output_dir="out",\n    per_device_train_batch_size=4,\n    bf16=True,\n)\n'
    "Trainer(model=model, args=args, train_dataset=ds).train()\n```\n" + OOM
)
OUMI = (
    "oumi train -c c.yaml, 2x A100 40GB\nmodel:\n  model_name: Qwen/Qwen2.5-7B\ntraining:\n  trainer_type: TRL_SFT\n"
    "  per_device_train_batch_size: 4\n" + OOM
)

GPU = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB\n"
)
STEP1 = (
    "DeepSpeed-Chat training/step1_supervised_finetuning, 4x A100 40GB\ndeepspeed main.py --model_name_or_path meta-llama/Llama-2-7b-hf"
    " --per_device_train_batch_size 8 --max_seq_len 2048 --gradient_accumulation_steps 1 --zero_stage 1 --deepspeed\n"
    + GPU
)
STEP3 = (
    "DeepSpeed-Chat, 8x A100 40GB\ndeepspeed main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path"
    " facebook/opt-350m --per_device_training_batch_size 8 --max_answer_seq_len 256 --max_prompt_seq_len 256 --actor_zero_stage 3"
    " --critic_zero_stage 3\n"
    '  File "/w/DeepSpeed-Chat/dschat/rlhf/ppo_trainer.py", line 225, in train_rlhf\n    self.actor_model.backward(actor_loss)\n'
    + GPU
)
TUNE_YAML = (
    "tune run --nproc_per_node 2 full_finetune_distributed --config my.yaml\n2x A100 40GB\n```yaml\ntokenizer:\n"
    "  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 8192\nmodel:\n"
    "  _component_: torchtune.models.llama3_1.llama3_1_8b\n"
    "batch_size: 4\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: True\nloss:\n  _component_: torch.nn.CrossEntropyLoss\n"
    "dtype: bf16\n```\n" + GPU
)
TUNE = (
    "2x A100 40GB\ntune run --nproc_per_node 2 full_finetune_distributed --config llama3_1/8B_full batch_size=4\n" + GPU
)
OAT = (
    "4x A100 40GB\npython -m oat.experiment.main --gpus 4 --collocate --pretrain meta-llama/Llama-3.1-8B --zero-stage 2"
    " --gradient-checkpointing --train_batch_size_per_device 4 --generate_max_length 512\n" + GPU
)
PRIME = (
    "uv run rl @ rl.toml (prime-rl v0.6.0), 8x H100 80GB\n"
    "```toml\nseq_len = 16384\n\n[deployment]\nnum_train_gpus = 4\nnum_infer_gpus = 4\n\n"
    '[model]\nname = "Qwen/Qwen3-32B"\n\n[orchestrator]\ngroup_size = 16\n\n[trainer.optim]\nlr = 1e-6\n```\n'
    '[rank0]:   File "/w/prime-rl/src/prime_rl/trainer/rl/train.py", line 402, in train\n[rank0]:     loss.backward()\n'
    + GPU
)
PRIME_SFT = (
    "prime-rl v0.6.0, 2x A100 40GB\n"
    "uv run torchrun --nproc-per-node 2 src/prime_rl/trainer/sft/train.py --model.name Qwen/Qwen3-8B --data.seq-len 8192"
    " --data.micro-batch-size 2\n" + GPU
)
AUTOMODEL = (
    "automodel --nproc-per-node 2 examples/llm_finetune/x.yaml\n2x A100 40GB\n```yaml\nstep_scheduler:\n  local_batch_size: 8\nmodel:\n"
    "  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n"
    "distributed:\n  strategy: fsdp2\ndataset:\n  seq_length: 4096\n```\n" + GPU
)
ARCTIC = (
    "arctic_training run.yml\n4x A100 40GB\n```yaml\ntype: sft\nmicro_batch_size: 4\nmodel:\n  name_or_path: meta-llama/Llama-3.1-8B\n"
    "data:\n  sources:\n    - HuggingFaceH4/ultrachat_200k\n  max_length: 8192\ndeepspeed:\n  zero_optimization:\n    stage: 2\n"
    "optimizer:\n  learning_rate: 1e-5\n```\n" + GPU
)
MEGATRON = (
    "8x A100 40GB\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32"
    " --ffn-hidden-size 11008 --swiglu --seq-length 4096 --micro-batch-size 4 --tensor-model-parallel-size 4 --bf16 --vocab-size 32000\n"
    + GPU
)
XTUNER = (
    "xtuner train cfg.py --deepspeed deepspeed_zero2\n2x A100 40GB\n```python\npretrained_model_name_or_path = 'meta-llama/Llama-2-7b-hf'\n"
    "max_length = 4096\npack_to_max_length = True\nbatch_size = 4\naccumulative_counts = 16\n```\n" + GPU
)
LITGPT = (
    "1x A100 40GB\nlitgpt finetune lora --checkpoint_dir checkpoints/meta-llama/Llama-2-7b-hf --precision bf16-true"
    " --train.micro_batch_size 8 --train.max_seq_length 4096\n" + GPU
)


def _advice(text):
    return {one.lever.slug: one for one in diagnose(text, {}, current(), ()).prescriptions}


@pytest.mark.parametrize(
    ("text", "lever", "line"),
    [
        (AXOLOTL, "checkpointing.activation.on", "gradient_checkpointing: true"),
        (SCRIPT, "checkpointing.activation.on", "    gradient_checkpointing=True,"),
        (OUMI, "peft.lora", "  use_peft: true"),
        (TUNE_YAML, "offload.optimizer.on", "fsdp_cpu_offload: true"),
        (TUNE_YAML, "logits.chunked", "  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss"),
        (PRIME, "offload.activation.on", "[trainer.model.ac_offloading]"),
        (AUTOMODEL, "offload.optimizer.on", "    _target_: torch.distributed.fsdp.CPUOffloadPolicy"),
        (ARCTIC, "offload.optimizer.on", "  type: cpu_adam"),
        (ARCTIC, "peft.lora", "    target_modules: all-linear"),
    ],
)
def test_a_change_is_written_in_its_own_key(text, lever, line):
    patch = _advice(text)[lever].patch
    assert line in [one.text for one in patch if one.mark == "+"]


def test_its_own_words_stand_alone():
    adapters = {change.key: change.after for change in _advice(AXOLOTL)["peft.lora"].changes}
    assert adapters == {"adapter": "lora", "lora_r": "32", "lora_target_linear": "true"}
    offload = _advice(AXOLOTL)["offload.optimizer.on"].changes
    assert [(change.key, change.after) for change in offload] == [("deepspeed", "deepspeed_configs/zero2.json")]


def test_of_a_trainer_that_nobody_names_no_key_is_made_up():
    """The same settings in a file of nobody's."""
    text = (
        AXOLOTL.replace("axolotl train c.yml, ", "").replace("base_model", "weights").replace("sequence_len", "longest")
    )
    advice = _advice(text)
    assert "checkpointing.activation.on" in advice
    assert not [one for one in advice.values() for change in one.changes if change.key and change.before is None]


@pytest.mark.parametrize(
    ("file", "on_host"),
    [
        ("deepspeed_configs/zero2.json", True),
        ("/root/axolotl/deepspeed_configs/zero2.json", True),
        ("my_zero2.json", False),
    ],
)
def test_a_shipped_file_is_known_in_somebody_s_copy(file, on_host):
    facts = diagnose(AXOLOTL.replace("bf16: true\n", f"bf16: true\ndeepspeed: {file}\n"), {}, current(), ()).facts
    assert (facts.values["zero_stage"], facts.values["optimizer_on_cpu"]) == (2, on_host)


def test_a_script_that_shards_nothing_copies_the_model_to_every_card():
    facts = diagnose(SCRIPT, {}, current(), ()).facts
    assert (facts.values["strategy"], facts.values["zero_stage"]) == ("ddp", 0)
    sharded = diagnose(SCRIPT.replace("bf16=True", "deepspeed=config"), {}, current(), ()).facts
    assert sharded.values.get("zero_stage") != 0


@pytest.mark.parametrize(
    ("text", "lever", "end"),
    [
        (STEP1, "checkpointing.activation.on", " --gradient_checkpointing"),
        (STEP3, "checkpointing.activation.on", " --actor_gradient_checkpointing"),
        (STEP1, "peft.lora", " --only_optimize_lora --lora_dim 64 --lora_module_name layers."),
        (TUNE, "offload.optimizer.on", " fsdp_cpu_offload=true"),
        (OAT, "shard.zero_stage.up", " --no_use_fused_lm_head"),
        (OAT, "offload.optimizer.on", " --adam_offload"),
        (PRIME_SFT, "checkpointing.activation.on", " --model.ac.freq 1"),
        (
            MEGATRON,
            "checkpointing.activation.on",
            " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        ),
    ],
)
def test_a_command_takes_it_as_its_trainer_does(text, lever, end):
    lines = [one.text for one in _advice(text)[lever].patch if one.mark == "+"]
    assert lines[-1].endswith(end)


@pytest.mark.parametrize(
    ("text", "lever", "changes"),
    [
        (XTUNER, "offload.optimizer.on", {"deepspeed": "deepspeed_zero2_offload"}),
        (LITGPT, "batch.micro.down", {"train.micro_batch_size": "1"}),
    ],
)
def test_a_word_is_one_that_the_trainer_knows(text, lever, changes):
    assert {change.key: change.after for change in _advice(text)[lever].changes} == changes


def test_a_new_parent_is_opened_once():
    patch = [one.text for one in _advice(ARCTIC)["peft.lora"].patch if one.mark == "+"]
    assert patch == ["  peft_config:", "    peft_type: LORA", "    r: 16", "    target_modules: all-linear"]


def test_what_a_file_only_names_takes_no_flag():
    """Axolotl's command has no such flags for some of its keys."""
    text = (
        "axolotl train c.yml --base-model meta-llama/Llama-3.1-8B --micro-batch-size 8 --sequence-len 8192\nRTX 4090\n"
        + GPU
    )
    assert not _advice(text)["checkpointing.activation.on"].patch


def test_deepspeed_chat_moves_weights_too_at_stage_3():
    facts = diagnose(STEP3.replace("--actor_zero_stage 3", "--actor_zero_stage 3 --offload"), {}, current(), ()).facts
    assert facts.values["param_on_cpu"] is True
    assert "offload.param.on" not in _advice(STEP3.replace("--actor_zero_stage 3", "--actor_zero_stage 3 --offload"))


def test_oat_keeps_its_head_apart_at_stage_3():
    text = OAT.replace("--zero-stage 2", "--zero-stage 3 --no-use_fused_lm_head --critic_type drgrpo").replace(
        "main", "run_math_rl"
    )
    assert "logits.chunked" not in _advice(text)


def _levers(text: str) -> set[str]:
    return {given.lever.slug for given in diagnose(text, {}, current(), ()).prescriptions}


STEP = "8 x H100 80GB. torch.OutOfMemoryError in optimizer.step: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.mark.parametrize(("on", "advised"), [("True", False), ("False", True)])
def test_a_switch_that_a_newer_release_names_itself_is_on(on: str, advised: bool) -> None:
    run = (
        "verl==0.9.0 python3 -m verl.trainer.main_ppo model_engine=megatron algorithm.adv_estimator=grpo trainer.n_gpus_per_node=8 "
        "trainer.nnodes=1 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 "
        f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.optim.use_precision_aware_optimizer={on}"
    )
    assert ("optimizer.precision_aware.on" in _levers(STEP + run)) is advised


@pytest.mark.parametrize(("on_cpu", "advised"), [("false", False), ("true", True)])
def test_a_switch_that_the_trainer_asks_to_leave_off_goes_with_the_optimizer_on_the_cpu(
    on_cpu: str, advised: bool
) -> None:
    """NovaSky-AI/SkyRL@7bc252402 skyrl/train/config/config.py: saving may fail; its scripts set both together."""
    given = "trainer.policy.megatron_config.optimizer_config_kwargs.optimizer_cpu_offload"
    run = (
        "uv run -m skyrl.train.entrypoints.main_base trainer.strategy=megatron trainer.policy.model.path=Qwen/Qwen3-30B-A3B "
        "trainer.placement.colocate_all=true trainer.placement.policy_num_gpus_per_node=8 trainer.micro_train_batch_size_per_gpu=1 "
        f"trainer.policy.megatron_config.expert_model_parallel_size=8 {given}={on_cpu}"
    )
    assert ("optimizer.precision_aware.on" in _levers(STEP + run)) is advised
