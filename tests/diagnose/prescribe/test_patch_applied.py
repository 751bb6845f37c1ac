"""A patch applied to the paste: what it names has its new value, everything else stays, however the command is laid out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.patch import patch
from diagnose.types import Change, Paste, PatchLine

HYDRA = {
    "data.train_batch_size": ["8", "1024"],
    "data.max_response_length": ["512", "16384"],
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": ["1", "16"],
    "actor_rollout_ref.actor.fsdp_config.param_offload": ["True", "False"],
    "actor_rollout_ref.rollout.gpu_memory_utilization": ["0.4", "0.85"],
    "actor_rollout_ref.rollout.n": ["5", "16"],
    "trainer.nnodes": ["1", "12"],
}
FLAGS = {
    "--per_device_train_batch_size": ["1", "16"],
    "--gradient_accumulation_steps": ["2", "128"],
    "--max_length": ["512", "16384"],
    "--max_completion_length": ["256", "8192"],
    "--vllm_gpu_memory_utilization": ["0.3", "0.85"],
    "--num_generations": ["4", "16"],
}
LAYOUTS = st.sampled_from([" ", " \\\n    ", "  \\\n\t"])


@st.composite
def commands(draw: st.DrawFn) -> tuple[str, dict[str, str], str, str]:
    """A command in one line or several, its settings, what joins a key and its value, and its framework."""
    start, keys, joint, framework = draw(
        st.sampled_from(
            [
                ("python3 -m verl.trainer.main_ppo", HYDRA, "=", "verl"),
                ("swift rlhf --rlhf_type grpo", FLAGS, " ", "ms-swift"),
                ("swift rlhf --rlhf_type grpo", FLAGS, "=", "ms-swift"),
            ]
        )
    )
    chosen = draw(st.lists(st.sampled_from(sorted(keys)), min_size=1, max_size=len(keys), unique=True))
    values = {key: draw(st.sampled_from(keys[key])) for key in chosen}
    layout = draw(LAYOUTS)
    return start + "".join(f"{layout}{key}{joint}{value}" for key, value in values.items()), values, joint, framework


def applied(paste: Paste, lines: Sequence[PatchLine]) -> str:
    """The person's text with the lines of the patch in their places."""
    text, at = {line.number: [line.text] for line in paste.lines}, 0
    for line in lines:
        at = line.number or at
        if line.mark == "-":
            text[at] = []
        elif line.mark == "+":
            text[at].append(line.text)
    return "\n".join(line for number in sorted(text) for line in text[number])


@settings(max_examples=150, deadline=None)
@given(commands(), st.data())
def test_what_it_names_is_changed_and_nothing_else(
    command: tuple[str, dict[str, str], str, str], data: st.DataObject
) -> None:
    text, values, _, framework = command
    known = HYDRA if framework == "verl" else FLAGS
    paste = read(text + "\n8 x A100 80GB")
    there = {setting.key: setting for setting in paste.settings}
    named = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=4, unique=True))
    changes = []
    for flag in named:
        key = flag.removeprefix("--")
        after = data.draw(st.sampled_from([value for value in known[flag] if value != values.get(flag)]))
        found = there.get(key)
        changes.append(Change(key, key, found.value if found else None, after, found.span if found else None))
    lines = patch(paste, changes, current().frameworks[framework])
    expected = {flag.removeprefix("--"): value for flag, value in values.items()} | {
        change.key: change.after for change in changes
    }
    after = {setting.key: setting.value for setting in read(applied(paste, lines)).settings if setting.key in expected}
    assert after == expected


BLOCKS = {
    "two blanks": """
actor:
  path: Qwen/Qwen2.5-7B
  scheduling_spec:
    - task_type: worker
      gpu: 1
      env:
        NCCL_DEBUG: WARN
  # the last one
  dtype_of:
    grads: fp32
data:
  max_length: 1024""",
    "four blanks": """
actor:
    path: Qwen/Qwen2.5-7B
    optim:
        name: adamw
        betas:
            first: 0.9
data:
    max_length: 1024""",
    "a list at the column of its key": """
actor:
  path: Qwen/Qwen2.5-7B
  layers:
  - name: first
    size: 2
  - name: second
    size: 4
data:
  max_length: 1024""",
    "a part that is indented": """
    actor:
      path: Qwen/Qwen2.5-7B
      optim:
        name: adamw
    data:
      max_length: 1024""",
    "the last block": """
data:
   max_length: 1024
actor:
   optim:
      name: adamw
      schedule:
      -  warmup: 10""",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("key", ["actor.use_lora", "actor.fsdp.offload_params", "data.shuffle"])
def test_a_new_key_of_a_nested_file_is_read_where_it_belongs(block: str, key: str) -> None:
    paste = read(block)
    before = {setting.key: setting.value for setting in paste.settings}
    lines = patch(paste, [Change("x", key, None, "true")])
    after = {setting.key: setting.value for setting in read(applied(paste, lines)).settings}
    assert after == before | {key: "true"}


SCRIPT = """\
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype=torch.float32)
args = SFTConfig(per_device_train_batch_size=4)
trainer = SFTTrainer(model, args=args, peft_config=LoraConfig())
"""


def test_an_argument_of_a_script_goes_to_the_call_that_takes_its_like() -> None:
    framework = current().frameworks["trl"]
    lines = patch(read(SCRIPT), [Change("logits_chunked", "use_liger_kernel", None, "true")], framework)
    assert [line.text for line in lines if line.mark == "+"] == [
        "args = SFTConfig(per_device_train_batch_size=4, use_liger_kernel=True)"
    ]
    alone = SCRIPT.replace("per_device_train_batch_size=4", "")
    assert patch(read(alone), [Change("logits_chunked", "use_liger_kernel", None, "true")], framework) == ()


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype=torch.float32)', "torch_dtype=torch.bfloat16)"),
        ('model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype="float32")', 'torch_dtype="bfloat16")'),
    ],
)  # fmt: skip
def test_a_type_stays_an_attribute_of_torch(line: str, after: str) -> None:
    text = SCRIPT.replace(SCRIPT.split("\n")[1], line) + "torch.OutOfMemoryError: CUDA out of memory.\n1 x A100 40GB"
    told = diagnose(text, {"phase": "load"}, current(), ())
    (one,) = (one for one in told.prescriptions if one.lever.slug == "precision.base_bf16")
    assert [line.text for line in one.patch if line.mark == "+"][0].endswith(after)


def test_a_switch_of_a_script_is_spelled_as_python_does() -> None:
    text = (
        'model, tok = FastLanguageModel.from_pretrained(model_name="unsloth/Qwen3-14B", max_seq_length=8192, load_in_4bit=False)\n'
        "model = FastLanguageModel.get_peft_model(model, r=32)\n"
        "args = GRPOConfig(per_device_train_batch_size=4, num_generations=4, max_completion_length=4096)\n"
        "torch.OutOfMemoryError: CUDA out of memory.\n1 x A100 40GB"
    )
    told = diagnose(text, {"phase": "load"}, current(), ())
    (one,) = (one for one in told.prescriptions if one.lever.slug == "peft.qlora")
    assert "load_in_4bit=True)" in [line.text for line in one.patch if line.mark == "+"][0]


def test_a_command_that_prepares_data_takes_no_key_of_the_trainer() -> None:
    framework = current().frameworks["skyrl"]
    data = "uv run examples/gsm8k/gsm8k_dataset.py --output_dir $HOME/data/gsm8k\n"
    change = [Change("response_length", "generator.sampling_params.max_generate_length", None, "512")]
    assert patch(read(data), change, framework) == ()
    run = "uv run -m skyrl_train.entrypoints.main_base trainer.epochs=2"
    lines = patch(read(data + run), change, framework)
    assert [line.text for line in lines if line.mark == "+"] == [
        f"{run} generator.sampling_params.max_generate_length=512"
    ]


def test_a_command_in_the_words_of_a_module_ends_with_them() -> None:
    text = '"""Usage:\n    trl sft --max_length 512 \\\n        --packing \\\n        ...\n"""\nimport torch'
    (command,) = read(text).commands
    assert (command.first_line, command.last_line) == (2, 4)


@pytest.mark.parametrize("block", [BLOCKS["two blanks"], BLOCKS["four blanks"]], ids=["two", "four"])
@pytest.mark.parametrize("key", ["actor.use_lora", "actor.fsdp.offload_params", "data.shuffle"])
@pytest.mark.parametrize("form", ["new", "changed"])
def test_a_new_key_of_a_pasted_patch_has_its_sign(block: str, key: str, form: str) -> None:
    lines = block.strip().split("\n")
    if form == "new":
        head, rows = f"@@ -0,0 +1,{len(lines)} @@", [f"+{line}" for line in lines]
    else:
        head, rows = f"@@ -1,{len(lines)} +1,{len(lines)} @@", [f" {line}" for line in lines]
        rows[1:2] = [f"-{lines[1]}.old", f"+{lines[1]}"]
    paste = read("\n".join([head, *rows]))
    before = {setting.key: setting.value for setting in paste.settings}
    new = patch(paste, [Change("x", key, None, "true")])
    assert all(line.text.startswith("+ ") for line in new if line.mark == "+")
    after = {setting.key: setting.value for setting in read(applied(paste, new)).settings}
    assert after == before | {key: "true"}
