"""Whatever is pasted, there is an answer; and the reduced paste gives the same one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest import read_stream
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_markdown, to_text

KNOWLEDGE = current()
CASES = tuple(KNOWLEDGE.cases.values())
# Lines of every shape; hypothesis puts them together, cuts them and breaks them.
LINES = tuple(example.text for one in KNOWLEDGE.signatures.values() for example in one.examples) + (
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8 data.train_batch_size=$((8 * 16)) \\\n  trainer.nnodes=2",
    "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --num_generations 8 --deepspeed zero3",
    '{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}',
    '{"hidden_size": 0, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 5, "vocab_size": 7}',
    '{"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 30, "intermediate_size": 5, "vocab_size": 7}',
    "NVIDIA-SMI 550.90\n|   0  NVIDIA A100-SXM4-80GB  On |\n| N/A 30C | 105MiB / 81920MiB |",
    "limits:\n  memory: 512Gi\n  nvidia.com/gpu: 8",
    "#SBATCH --nodes=2 --gres=gpu:8 --mem=900G",
    "8 x A100 80G, 7B model, GRPO, 第 3 步爆显存",
    "verl grpo Qwen3-8B 8xH100: update_actor OOM, Tried to allocate 11.6GiB, 32k context",
    "step:12 - perf/cpu_memory_used_gb:61.9 - actor/loss:0.1",
    "n_gpus=0 tp=0 micro_batch_size=0 rollout.n=-1 max_length=1e999 --num_generations 99999999999999999999",
)
BROKEN = st.sampled_from(LINES).flatmap(lambda line: st.integers(0, len(line)).map(lambda at: line[:at]))
NOISE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(("\n", "\\\n", "> ", "(W pid=1) ", "\x1b[31m", "⋯ 9 lines ⋯\n", "‹path›", "0", "{", '"')),
)
TEXTS = st.lists(st.one_of(st.sampled_from(LINES).map("{}\n".format), BROKEN, NOISE), max_size=12).map("".join)


@settings(max_examples=120, deadline=None)
@given(TEXTS)
def test_every_text_has_an_answer_and_its_reduced_form_the_same(text: str) -> None:
    diagnosis = diagnose(text, {}, KNOWLEDGE, CASES)
    to_markdown(diagnosis)
    again = diagnose(diagnosis.paste.text, {}, KNOWLEDGE, CASES)
    assert to_text(again) == to_text(diagnosis)
    assert to_json(again) == to_json(diagnosis)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=8), st.integers(1, 40))
def test_every_sequence_of_bytes_has_an_answer(parts: list[bytes], size: int) -> None:
    data = b"\n".join(parts)
    paste = read_stream(data[at : at + size] for at in range(0, len(data), size))
    to_text(diagnose(paste, {}, KNOWLEDGE, CASES))


@pytest.mark.parametrize(
    "unit",
    ["x", " ", "\0", "a=1 ", "(", '{"a":', "--a ", "显", "\r", "8 x A100 ", "7B ", "::", "1.1.", "a: b\n", "/home/"],
)
def test_a_megabyte_of_the_same_has_an_answer(unit: str) -> None:
    to_text(diagnose(unit * (1_000_000 // len(unit)), {}, KNOWLEDGE, CASES))
