from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.prescribe.patch import _edits, main_command, patch
from diagnose.types import Change

COMMAND = r"""python3 -m verl.trainer.main_ppo \
    data.train_batch_size=8 data.max_prompt_length=400 \
    actor_rollout_ref.rollout.n=32 \
    trainer.nnodes=1"""


def whole_command(paste, changes):
    """The launch command with every change in it, as a person would have it after the patch."""
    command = main_command(paste, changes)
    first, last = paste.commands[command].first_line, paste.commands[command].last_line
    edits = _edits(paste, changes)
    out: list[str] = []
    for line in paste.lines:
        if first <= line.number <= last:
            edit = edits.get(line.number)
            out += [*([] if edit.gone else [edit.text]), *edit.after] if edit else [line.text]
    return "\n".join(out)


def change(paste, key, after, index=0):
    setting = [setting for setting in paste.settings if setting.key == key][index]
    return Change(key, key, setting.value, after, setting.span)


def added(lines):
    return [line.text for line in lines if line.mark == "+"]


def test_a_paste_without_the_key_and_without_settings_gives_no_patch():
    assert patch(read("CUDA out of memory"), [Change("rollout_n", "rollout.n", None, "4")]) == ()


def test_a_change_without_a_key_gives_no_patch():
    assert patch(read(COMMAND), [Change("n_gpus", "", "4", "8")]) == ()


def test_the_value_is_replaced_where_it_stands_with_one_line_around_it():
    paste = read(COMMAND)
    lines = patch(paste, [change(paste, "data.train_batch_size", "4")])
    assert [(line.mark, line.number) for line in lines] == [(" ", 1), ("-", 2), ("+", 2), (" ", 3)]
    assert lines[2].text == r"    data.train_batch_size=4 data.max_prompt_length=400 \ ".rstrip()
    assert lines[2].text[slice(*lines[2].bold[0])] == "4"


def test_two_values_of_one_line_change_together():
    paste = read(COMMAND)
    changes = [change(paste, "data.train_batch_size", "128"), change(paste, "data.max_prompt_length", "2")]
    lines = patch(paste, changes)
    (line,) = added(lines)
    assert line == "    data.train_batch_size=128 data.max_prompt_length=2 \\"
    marked = {line.mark: [line.text[start:end] for start, end in line.bold] for line in lines}
    assert marked["+"] == ["128", "2"]
    assert marked["-"] == ["8", "400"]


def test_what_changes_is_marked_though_a_new_override_stands_before_it():
    paste = read("python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.nnodes=1")
    lines = patch(paste, [change(paste, "trainer.nnodes", "12"), Change("sp", "actor.sp", None, "2")])
    (line,) = [line for line in lines if line.mark == "+"]
    assert {line.text[start:end] for start, end in line.bold} == {"12", "actor.sp=2"}


def test_a_new_override_goes_behind_the_last_line_which_gets_a_backslash():
    lines = patch(read(COMMAND), [Change("sp", "actor.sp", None, "2")])
    assert added(lines) == ["    trainer.nnodes=1 \\", "    actor.sp=2"]


def test_a_command_that_breaks_off_keeps_its_backslash():
    lines = patch(read(COMMAND + " \\"), [Change("sp", "actor.sp", None, "2")])
    assert added(lines) == ["    actor.sp=2 \\"]


def test_a_new_flag_is_written_as_the_flags_are():
    text = "swift rlhf --rlhf_type grpo \\\n    --num_generations 8 \\\n    --sleep_level 1"
    lines = patch(read(text), [Change("x", "padding_free", None, "true")])
    assert added(lines)[-1] == "    --padding_free true"


def test_a_new_yes_no_flag_stands_alone_where_the_others_do():
    text = "python -m openrlhf.cli.train_ppo_ray --zero_stage 3 \\\n   --bf16 \\\n   --packing_samples"
    lines = patch(read(text), [Change("x", "vllm_enable_sleep", None, "true")])
    assert added(lines)[-1] == "   --vllm_enable_sleep \\"


def test_a_flag_that_stands_alone_is_taken_out_to_turn_it_off():
    paste = read("python -m openrlhf.cli.train_ppo_ray --zero_stage 3 --colocate_all_models --bf16")
    (line,) = added(patch(paste, [change(paste, "colocate_all_models", "false")]))
    assert line == "python -m openrlhf.cli.train_ppo_ray --zero_stage 3 --bf16"


@pytest.mark.parametrize(
    "last",
    ['    trainer.nnodes=1"', "    ...", "    --prompt_data", "    $@"],
    ids=["quote", "ellipsis", "cut flag", "$@"],
)
def test_a_last_line_that_nothing_may_follow_stays_last(last):
    text = f"python3 -m verl.trainer.main_ppo \\\n    data.train_batch_size=8 \\\n{last}"
    lines = patch(read(text), [Change("sp", "actor.sp", None, "2")])
    written = [line.text for line in lines if line.mark != "-"][-1]
    assert written.endswith(last.strip())
    assert "actor.sp=2" in "".join(added(lines))


def test_a_variable_in_the_last_line_is_a_value_and_stays_behind_its_flag():
    text = "swift rlhf --rlhf_type grpo \\\n  --sleep_level 1 \\\n  --output_dir ${OUT} \\"
    assert added(patch(read(text), [Change("x", "padding_free", None, "true")])) == ["  --padding_free true \\"]


def test_a_flag_alone_on_its_line_goes_with_the_line():
    paste = read("python -m openrlhf.cli.train_ppo_ray \\\n  --vllm_enable_sleep \\\n  --zero_stage 3")
    lines = patch(paste, [change(paste, "vllm_enable_sleep", "false")])
    assert [line.mark for line in lines] == [" ", "-", " "]


def test_a_key_of_a_python_file_is_no_word_of_the_command(knowledge):
    text = (
        "DEBUG_MODE=True python -m playground.orz_7b_ppo\nray::LLMRayActor.backload_to_gpu() (pid=88143, ip=10.0.0.1)"
    )
    framework = knowledge.frameworks["open-reasoner-zero"]
    assert patch(read(text), [Change("x", "colocate_all", None, "false")], framework) == ()


def test_a_new_key_does_not_go_into_the_dump_of_another_library(knowledge):
    text = 'json = {\n    "steps_per_print": 100, \n    "wall_clock_breakdown": false\n}'
    framework = knowledge.frameworks["open-reasoner-zero"]
    assert patch(read(text), [Change("x", "colocate_all", None, "false")], framework) == ()


def test_a_new_key_stands_before_what_belongs_to_the_shell():
    text = "python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.nnodes=1 2>&1 | tee run.log"
    (line,) = added(patch(read(text), [Change("sp", "actor.sp", None, "2")]))
    assert (
        line
        == "python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.nnodes=1 actor.sp=2 2>&1 | tee run.log"
    )


@pytest.mark.parametrize("tail", ["  # 8 x H100", " # one node; for trying"])
def test_a_new_flag_stands_before_a_remark(tail):
    text = f"python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.nnodes=1{tail}"
    changed = whole_command(read(text), [Change("sp", "actor.sp", None, "2")])
    assert changed == f"python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.nnodes=1 actor.sp=2{tail}"


def test_a_mark_inside_quotes_ends_no_command():
    text = 'python3 -m verl.trainer.main_ppo data.train_batch_size=8 trainer.name="a # b"'
    assert whole_command(read(text), [Change("sp", "actor.sp", None, "2")]) == f"{text} actor.sp=2"


def test_a_yaml_value_is_replaced_in_place():
    paste = read("worker:\n  actor:\n    offload:\n      offload_params: true\n      offload_optimizer: true\n")
    (line,) = added(patch(paste, [change(paste, "worker.actor.offload.offload_optimizer", "false")]))
    assert line == "      offload_optimizer: false"


def test_a_new_yaml_key_stands_beside_its_siblings():
    paste = read("worker:\n  actor:\n    padding_free: true\n    offload:\n      offload_params: true\n")
    lines = patch(paste, [Change("x", "worker.actor.offload.offload_optimizer", None, "false")])
    assert added(lines) == ["      offload_optimizer: false"]


def test_a_new_yaml_block_does_not_cut_another_in_two():
    paste = read("worker:\n  actor:\n    offload:\n      offload_params: true\n      offload_optimizer: true\n")
    lines = patch(paste, [Change("x", "worker.actor.fsdp.torch_dtype", None, "bf16")])
    assert added(lines) == ["    fsdp:", "      torch_dtype: bf16"]
    assert [line.number for line in lines if line.mark == " "] == [4, 5]
    assert lines[-1].mark == "+"


def test_the_whole_command_holds_every_change_and_nothing_else():
    paste = read("It fails.\n" + COMMAND + "\n4 x A100")
    command = whole_command(
        paste, [change(paste, "actor_rollout_ref.rollout.n", "16"), Change("sp", "actor.sp", None, "2")]
    )
    assert command == COMMAND.replace("n=32", "n=16") + " \\\n    actor.sp=2"


def test_a_patched_command_reads_as_the_changed_settings():
    paste = read(COMMAND)
    again = read(
        whole_command(paste, [change(paste, "data.train_batch_size", "4"), Change("sp", "actor.sp", None, "2")])
    )
    values = {setting.key: setting.value for setting in again.settings}
    assert values == {
        "data.train_batch_size": "4",
        "data.max_prompt_length": "400",
        "actor_rollout_ref.rollout.n": "32",
        "trainer.nnodes": "1",
        "actor.sp": "2",
    }


@pytest.mark.parametrize(
    "words",
    ["ray start --head --num-gpus=4", "docker run --gpus 4 -it verlai/verl bash", "nvidia-smi --query-gpu=memory.used"],
)
def test_a_command_that_starts_no_program_of_the_run_takes_none_of_its_keys(words):
    new = [Change("sp", "actor.sp", None, "2")]
    assert patch(read(words), new) == ()
    paste = read(f"{words} --rm --x=1 --y=2 --z=3\n\n{COMMAND}")
    assert added(patch(paste, new)) == ["    trainer.nnodes=1 \\", "    actor.sp=2"]
