"""Launch commands, their settings with exact places, and lists of arguments that belong to none."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.types import Paste


def values(paste: Paste) -> dict[str, str]:
    return {setting.key: setting.value for setting in paste.settings}


def written(paste: Paste, key: str) -> str:
    """What stands at the place of a setting."""
    span = next(setting.span for setting in paste.settings if setting.key == key)
    return next(line.text for line in paste.lines if line.number == span.line)[span.start : span.end]


@pytest.mark.parametrize(
    "text",
    [
        "# --zero_stage 3",
        "python train.py \\\n    # --zero_stage 3 \\\n    --lr 1",
        "then I read about --zero_stage but it did not help",
        "the option `--zero_stage` is not there",
        "--zero_stage 换成别的试过",
        "  # zero_stage: 3",
        "--- zero_stage ---",
    ],
)
def test_it_reads_no_setting_from_a_comment_or_a_mention(text: str) -> None:
    assert "zero_stage" not in values(read(text))


@pytest.mark.parametrize(
    "line",
    ["uv run examples/run_sft.py a.b=8", "uv run --extra vllm examples/run_sft.py a.b=8", "uv run python x.py a.b=8"],
)
def test_what_uv_runs_is_a_command(line: str) -> None:
    found = read(line)
    assert [command.words[-1].rpartition(".")[2] for command in found.commands] == ["py"]
    assert values(found)["a.b"] == "8"


def test_it_reads_what_a_scheduler_is_handed() -> None:
    found = read(
        "ray job submit -- python3 train.py --colocate --hf-checkpoint Qwen/Qwen3-4B --rollout-batch-size 32\n8 x H100\n"
    )
    assert [(one.command, one.key) for one in found.settings] == [
        (0, "colocate"),
        (0, "hf-checkpoint"),
        (0, "rollout-batch-size"),
    ]
    assert not read("we saw -- python is slow -- that nothing works\n").commands


def test_export_is_kept_among_the_words_of_a_program() -> None:
    found = read("CUDA_VISIBLE_DEVICES=0 swift export --model a/b --quant_bits 4").commands
    assert [command.words for command in found] == [("swift", "export")]


@pytest.mark.parametrize(
    "text", ["python 3.10 and torch", "I ran bash and it failed", "sh is my shell", "time to go --now", "use python"]
)
def test_it_takes_no_sentence_for_a_command(text: str) -> None:
    assert read(text).commands == ()


OVERRIDES = """启动脚本：

set -x
export VLLM_ATTENTION_BACKEND=XFORMERS
N_GPUS=8
python3 -m pkg.trainer.main \\
    algorithm.adv_estimator=grpo \\
    +actor.engine.swap_space=4   \\
    # actor.rollout.n=99 \\
    ++trainer.n_gpus_per_node=${N_GPUS} \\
    ~trainer.logger.wandb \\
    'actor.prompt="a b"' \\
    data.train_batch_size=$((N_GPUS * 16)) data.min=-1 \\
    trainer.total_epochs=15 2>&1 | tee log=1.txt

后面就爆了"""


def test_it_reads_overrides_over_continued_lines() -> None:
    paste = read(OVERRIDES)
    assert values(paste) == {
        "VLLM_ATTENTION_BACKEND": "XFORMERS",
        "N_GPUS": "8",
        "algorithm.adv_estimator": "grpo",
        "actor.engine.swap_space": "4",
        "trainer.n_gpus_per_node": "8",
        "trainer.logger.wandb": "null",
        "actor.prompt": "a b",
        "data.train_batch_size": "128",
        "data.min": "-1",
        "trainer.total_epochs": "15",
    }
    (command,) = paste.commands
    assert (command.words, command.first_line, command.last_line, command.cut) == (
        ("python3", "-m", "pkg.trainer.main"),
        6,
        14,
        False,
    )


def test_a_resolved_value_still_points_to_what_was_written() -> None:
    paste = read(OVERRIDES)
    assert written(paste, "data.train_batch_size") == "$((N_GPUS * 16))"
    assert written(paste, "actor.engine.swap_space") == "4"


FLAGS = """nproc_per_node=4
CUDA_VISIBLE_DEVICES=0,1,2,3 \\
NPROC_PER_NODE=$nproc_per_node \\
tool rlhf \\
    --model /nas/team/ckpt_3b \\
    --reward_funcs acc format \\
    --gradient_accumulation_steps $(expr 16 / $nproc_per_node) \\
    --train_sample -1 --bf16 \\
    --limit_mm '{"image": 2, "video": 0}' \\
    --target_modules=all-linear \\
    --deepspeed "zero3"
"""


def test_it_reads_flags_with_lists_json_negative_numbers_and_arithmetic() -> None:
    paste = read(FLAGS)
    assert values(paste) == {
        "nproc_per_node": "4",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "NPROC_PER_NODE": "4",
        "model": "‹path›/ckpt_3b",
        "reward_funcs": "acc format",
        "gradient_accumulation_steps": "4",
        "train_sample": "-1",
        "bf16": "true",
        "limit_mm": '{"image": 2, "video": 0}',
        "limit_mm.image": "2",
        "limit_mm.video": "0",
        "target_modules": "all-linear",
        "deepspeed": "zero3",
    }
    assert paste.commands[0].words == ("tool", "rlhf")
    assert [setting.key for setting in paste.settings if setting.bare] == ["bf16"]
    assert written(paste, "deepspeed") == "zero3"
    assert {setting.shape for setting in paste.settings if setting.command == 0} == {"env", "flag"}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("python a.py \\\n  --x 1 \\\n  --y 2", False),
        ("python a.py \\\n  --x 1 \\\n", True),
        ("python a.py \\\n  --x 1 \\\n\nand then it fails", True),
        ("python a.py \\\n  --x 1 \\\n  ... \\\n  --y 2", True),
        ("python a.py \\\n  --x 1 \\\n  ...", True),
        ("python a.py \\\n  --x 1 \\\n  … (rest as in the example)\n", True),
        ('python a.py \\\n  --x 1 "$@"', True),
        ("```\npython a.py \\\n  --x 1\n```", False),
    ],
)
def test_it_says_whether_the_text_breaks_off_inside_a_command(text: str, cut: bool) -> None:
    (command,) = read(text).commands
    assert command.cut is cut


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torchrun --nproc_per_node 8 train.py --lr 1", ("torchrun", "train.py")),
        ("torchrun --standalone train.py --plugin p.py", ("torchrun", "train.py")),
        ("accelerate launch --config_file a.yaml train.py", ("accelerate", "launch", "train.py")),
        ("serve model/name-7B -tp 4", ("serve", "model/name-7B")),
        ("serve model/name-7B -tp 4 --length 8192", ("serve", "model/name-7B")),
        ("$ bash main.sh", ("bash", "main.sh")),
        ("+ python3 -u -m pkg.main --x 1", ("python3", "-u", "-m", "pkg.main")),
        ("nohup python -m pkg.main --x 1 > log 2>&1 &", ("nohup", "python", "-m", "pkg.main")),
        ("alice@n1:~/x$ python train.py --x 1", ("python", "train.py")),
        ("A=1 python -m pkg.main --x 1", ("python", "-m", "pkg.main")),
        ("/home/a/env/bin/python -m pkg.main", ("‹path›/env/bin/python", "-m", "pkg.main")),
        ("`python3 -m pkg.main a.b=1`", ("python3", "-m", "pkg.main")),
    ],
)
def test_the_words_of_a_command_are_neither_flags_nor_overrides(text: str, words: tuple[str, ...]) -> None:
    assert read(text).commands[0].words == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "python3 -m areal.launcher.local a.py --config a.yaml trial_name=b allocation_mode=sglang.d4p1t1+d4p1t1 actor.path=m",
            {"config": "a.yaml", "trial_name": "b", "allocation_mode": "sglang.d4p1t1+d4p1t1", "actor.path": "m"},
        ),
        ("python a.py --model_kwargs a=1 b=2 --bf16", {"model_kwargs": "a=1 b=2", "bf16": "true"}),
        ("tune run recipe --config a/8B batch_size=2", {"config": "a/8B", "batch_size": "2"}),
    ],
)
def test_it_reads_an_override_without_a_dot_behind_a_flag(text: str, found: dict[str, str]) -> None:
    assert {setting.key: setting.value for setting in read(text).settings} == found
    assert {setting.command for setting in read(text).settings} == {0}


@pytest.mark.parametrize(
    "text", ["I tried it with -tp 4", "watch -n 1 nvidia-smi", "with -tp 4 it died", "head -n 20 x", "it ran at -tp 4"]
)
def test_a_short_flag_in_a_sentence_or_of_a_tool_starts_no_command(text: str) -> None:
    assert read(text).commands == ()


def test_it_reads_the_value_of_a_launchers_flag_before_its_script() -> None:
    assert values(read("torchrun --nproc_per_node 8 train.py --plugin p.py")) == {
        "nproc_per_node": "8",
        "plugin": "p.py",
    }


def test_settings_know_their_command() -> None:
    paste = read("python a.py --x 1\n\nsome words\n\npython b.py --x 2\n\n--x 3")
    assert [(setting.value, setting.command) for setting in paste.settings] == [("1", 0), ("2", 1), ("3", -1)]


def test_it_reads_arguments_without_a_command_and_without_backslashes() -> None:
    assert values(read("my changes:\n    data.batch=4\n    +data.n=2\n    --bf16\n    --lr 1e-6")) == {
        "data.batch": "4",
        "data.n": "2",
        "bf16": "true",
        "lr": "1e-6",
    }


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$(expr 16 / 4)", "4"),
        ("$((2 * (3 + 5)))", "16"),
        ("$((N-1))", "7"),
        ("${N}", "8"),
        ("${M:-3}", "3"),
        ("$M", "$M"),
        ("$((N / 0))", "$((N / 0))"),
        ("$(nproc)", "$(nproc)"),
        ("$L", "$L"),
        ("${a.b.c}", "${a.b.c}"),
        ("x$N", "x8"),
    ],
)
def test_it_puts_in_what_the_text_sets_and_keeps_the_rest(expression: str, value: str) -> None:
    assert values(read(f"N=8\nL=$L\npython a.py --x={expression} --y 1"))["x"] == value


def test_the_last_assignment_before_a_line_holds() -> None:
    paste = read("N=1\npython a.py --x $N\nN=2\npython a.py --x $N")
    assert [setting.value for setting in paste.settings if setting.key == "x"] == ["1", "2"]


def test_it_reads_a_command_that_stands_in_a_variable() -> None:
    paste = read('ARGS="pkg.cli.train \\\n   --zero_stage 2 \\\n   --bf16"\n\ndeepspeed --module $ARGS')
    assert values(paste)["zero_stage"] == "2"
    assert values(paste)["bf16"] == "true"
    assert paste.commands[0].words == ("pkg.cli.train",)


def test_it_reads_the_argument_list_that_a_launcher_prints() -> None:
    text = "[2025-03-01 10:07:12,318] [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'a.py', '--zero=3', '--lr', '1e-6'] exits"
    assert values(read(text)) == {"zero": "3", "lr": "1e-6"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('ARGS="--bf16 --tp 3"\npython t.py $ARGS --n 5', {"bf16": "true", "tp": "3", "n": "5"}),
        ("ARGS=(--model a/b --tp 2)", {"model": "a/b", "tp": "2"}),
        ("ARGS=(\n  --model a/b\n  --tp 2\n)", {"model": "a/b", "tp": "2"}),
        ('export ARGS="--model a/b \\\n  --tp 32"', {"model": "a/b", "tp": "32"}),
        ("python t.py --nodes 1 ${ARGS[@]} --tp 2", {"nodes": "1", "tp": "2"}),
        ('python t.py --bf16 "${ARGS[@]}" --tp 2', {"bf16": "true", "tp": "2"}),
        ("python t.py --bf16 ${ARGS[*]} --tp 2", {"bf16": "true", "tp": "2"}),
        ("python t.py --nodes 1 $MORE", {"nodes": "1"}),
    ],
)  # fmt: skip
def test_it_reads_flags_that_a_variable_holds(text: str, found: dict[str, str]) -> None:
    assert {setting.key: setting.value for setting in read(text).settings} == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python t.py a.path=a/b a.mini_batch\n_size=256 a.n=5", {"a.path": "a/b", "a.mini_batch_size": "256", "a.n": "5"}),
        ("swift rlhf --model a/b --tp 4 --max_length\n2048 --n 8", {"model": "a/b", "tp": "4", "max_length": "2048", "n": "8"}),
        ("swift rlhf --model a/b --bf16\nThen it fails 2 times", {"model": "a/b", "bf16": "true"}),
    ],
)  # fmt: skip
def test_it_puts_together_what_a_narrow_window_broke(text: str, found: dict[str, str]) -> None:
    paste = read(text)
    assert {setting.key: setting.value for setting in paste.settings} == found
    for setting in paste.settings:
        if not setting.bare:
            assert paste.lines[setting.span.line - 1].text[setting.span.start : setting.span.end] == setting.value


def test_a_comment_behind_the_backslash_belongs_to_no_value() -> None:
    paste = read("python t.py \\  # main\n  --a 4 \\ # was 8\n  # --b 2 \\\n  --c 3")
    assert [(setting.key, setting.value) for setting in paste.settings] == [("a", "4"), ("c", "3")]
    assert paste.commands[0].words == ("python", "t.py")


def test_an_argument_of_the_script_has_its_default() -> None:
    assert read("M=${1:-a/b}\npython t.py --model $M").settings[-1].value == "a/b"


@pytest.mark.parametrize(
    "text",
    [
        "python t.py \\ --a 1 \\   b.c=2 \\ --d",
        "python t.py \\\\\n  --a 1 \\\\\n  b.c=2 \\\\\n  --d",
        "python t.py ^\n  --a 1 ^\n  b.c=2 ^\n  --d",
        "python t.py `\n  --a 1 `\n  b.c=2 `\n  --d",
        "python t.py\n  --a 1\n  b.c=2\n  --d",
    ],
)
def test_it_reads_a_command_whose_continuation_was_damaged(text: str) -> None:
    paste = read(text)
    assert [(setting.key, setting.value) for setting in paste.settings] == [("a", "1"), ("b.c", "2"), ("d", "true")]
    assert paste.commands[0].words == ("python", "t.py")


def test_a_module_to_run_is_no_start_of_a_key() -> None:
    paste = read("python3 -m pkg.trainer.main\n  algorithm.name=grpo")
    assert [(setting.key, setting.value) for setting in paste.settings] == [("algorithm.name", "grpo")]


def test_it_reads_a_list_of_devices_in_a_line_that_is_no_command() -> None:
    (setting,) = read("CUDA_VISIBLE_DEVICES=0,1 and nothing else").settings
    assert (setting.key, setting.value) == ("CUDA_VISIBLE_DEVICES", "0,1")


@pytest.mark.parametrize("cut", ["is large try setting\n", "y setting "])
def test_a_hint_that_was_broken_sets_nothing(cut: str) -> None:
    paste = read(f"{cut}PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in {setting.key for setting in paste.settings}


def test_dots_between_a_key_and_a_value_that_was_broken_off_are_none() -> None:
    assert read("  zero_enabled .......\n.. True").settings == ()


def test_punctuation_of_a_sentence_that_lists_settings_is_no_part_of_their_values() -> None:
    paste = read("worker.rollout.gpu_memory_utilization=0.8, tensor_parallel_size=4. We get OOM")
    assert values(paste) == {"worker.rollout.gpu_memory_utilization": "0.8", "tensor_parallel_size": "4"}
    assert written(paste, "worker.rollout.gpu_memory_utilization") == "0.8"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('python t.py --names "a_b", "c_d" --n 1', "a_b, c_d"),
        ("python t.py --names 'a', 'b', 'c'", "a, b, c"),
        ('python t.py --names "a", it fails with "b"', "a,"),
        ('python t.py --names "a" "b"', "a b"),
    ],
)
def test_commas_between_quoted_words_make_one_list(text: str, value: str) -> None:
    assert values(read(text))["names"] == value


def test_a_runner_starts_a_script_by_itself() -> None:
    (command,) = read("uv run examples/run_grpo.py policy.a=1 cluster.num_nodes=2\n").commands
    assert command.words == ("uv", "run", "examples/run_grpo.py")
    assert not read("uv run train.py fails with OOM\n").commands


def test_what_a_comment_announces_is_no_command_beside_another() -> None:
    announced = "# for one card: `NUM_GPUS=1 bash run.sh --rows 4`"
    beside = read(f"{announced}\nNUM_GPUS=4\ntorchrun --nproc_per_node $NUM_GPUS train.py --rows 2\n")
    assert [(one.key, one.value) for one in beside.settings if one.command >= 0] == [
        ("nproc_per_node", "4"),
        ("rows", "2"),
    ]
    assert [one.key for one in read(announced).settings if one.command >= 0] == ["NUM_GPUS", "rows"]


def test_settings_that_marks_of_a_list_join_are_each_their_own() -> None:
    text = "rollout.n=8，max_response_length=4096，gpu_memory_utilization=0.6"
    assert {one.key: one.value for one in read(text).settings} == {
        "rollout.n": "8",
        "max_response_length": "4096",
        "gpu_memory_utilization": "0.6",
    }
