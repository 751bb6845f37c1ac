"""YAML, dictionaries, Python and dumps."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


def values(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


@pytest.mark.parametrize(
    "text",
    [
        "Hardware: one A6000, 48 GB, in my office",
        "Setup: it is complicated",
        "# micro_batch: 4",
        "  output = ray.get(output)\n  if a == b:",
        "def f(a_b=1):",
        "for i in range(3): x_y == 3",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x = model(n_n=3)\nValueError: no',
        "see executor_base.py 205",
        "ms_tool 3.12.0",
    ],
)
def test_it_reads_no_setting_from_prose_code_or_comments(text: str) -> None:
    assert values(text) == {}


def test_it_reads_nested_yaml_with_full_paths() -> None:
    text = """My config:

```yaml
worker:
  actor:
    micro_batch: 2   # per device
    # n: 9
    offload:
      params: true

  rollout:
    n: 5
    tp: "2"
    list: [1, 2]
    lists: [[a, b], [c]]
    map: {lr: 1e-6, name: "x"}
data.max_length: 2048
steps:
  - run
last: no
```"""
    assert values(text) == {
        "worker.actor.micro_batch": "2",
        "worker.actor.offload.params": "true",
        "worker.rollout.n": "5",
        "worker.rollout.tp": "2",
        "worker.rollout.list": "[1, 2]",
        "worker.rollout.lists": "[[a, b], [c]]",
        "worker.rollout.map.lr": "1e-6",
        "worker.rollout.map.name": "x",
        "data.max_length": "2048",
        "steps": "[run]",
        "last": "no",
    }


def test_a_yaml_value_points_to_itself_without_its_quotes() -> None:
    paste = read('> worker:\n>   tp: "2"')
    (setting,) = paste.settings
    assert paste.lines[1].text[setting.span.start : setting.span.end] == "2"


def test_it_reads_json_that_breaks_off() -> None:
    text = """{
  "zero": {
    "stage": 3,
    "offload": {
      "device": "none"
    },
    "bucket": 5e8
  },
  "names": [
    "a",
    "b"
  ],
  "batch": 4,
  "x": {"""
    assert values(text) == {
        "zero.stage": "3",
        "zero.offload.device": "none",
        "zero.bucket": "5e8",
        "names": "[a, b]",
        "batch": "4",
    }


def test_a_fragment_keeps_the_key_that_it_begins_with() -> None:
    text = '"zero_optimization": {\n    "stage": 2,\n    "offload_optimizer": {\n        "device": "cpu"\n    }\n},\n"batch": 4'
    assert values(text) == {
        "zero_optimization.stage": "2",
        "zero_optimization.offload_optimizer.device": "cpu",
        "batch": "4",
    }


def test_every_line_of_json_by_lines_is_read() -> None:
    settings = read("{'loss': 0.5, 'step': '3/9'}\n{'loss': 0.4, 'step': '4/9'}").settings
    assert [(setting.span.line, setting.value) for setting in settings] == [
        (1, "0.5"),
        (1, "3/9"),
        (2, "0.4"),
        (2, "4/9"),
    ]


def test_a_list_of_scalars_is_one_value_at_its_first_item() -> None:
    text = "lora:\n  target_modules:\n    - q_proj\n    - v_proj   # both\n  rank: 16\ndataset:\n- a/b\n- 'c d'"
    assert values(text) == {"lora.target_modules": "[q_proj, v_proj]", "lora.rank": "16", "dataset": "[a/b, c d]"}
    (first, *_) = read(text).settings
    assert (first.span.line, first.span.start, first.span.end) == (3, 6, 12)


@pytest.mark.parametrize("text", ["Setup:\n- torch\n- vllm", "config:\n\n- torch", "tried:\n- a smaller batch"])
def test_points_of_a_text_are_no_list(text: str) -> None:
    assert values(text) == {}


def test_maps_in_one_line_keep_their_path() -> None:
    assert values("fsdp_config: {offload: true, wrap: [a, b], deep: {x: 1}}") == {
        "fsdp_config.offload": "true",
        "fsdp_config.wrap": "[a, b]",
        "fsdp_config.deep.x": "1",
    }


def test_comments_in_a_dictionary_do_not_end_it() -> None:
    text = """return {
    "data": {
        "train_batch_size": 32,  # prompts: {all of them}
        # all turns are one sequence, so the
        # response has to hold them, e.g. {"a": 1}
        "max_response_length": 1024,
        // and the samples
        "n": 4,
    },
}"""
    assert values(text) == {"data.train_batch_size": "32", "data.max_response_length": "1024", "data.n": "4"}


def test_pairs_around_a_dictionary_are_read_too() -> None:
    text = 'engine (v0.8.2) with config: model=\'a/b-7B\', compilation_config={"level":0,"sizes":[2,1]}, eager=True, x_y={"z":1}'
    assert values(text) == {
        "model": "a/b-7B",
        "compilation_config.level": "0",
        "compilation_config.sizes": "[2,1]",
        "eager": "True",
        "x_y.z": "1",
    }


ARGUMENTS = """TrainingArguments(
_n_gpu=1,
bf16=True,
fsdp=[],
fsdp_config={'min_num_params': 0, 'xla': False},
hub_token=<HUB_TOKEN>,
optim=OptimizerNames.ADAMW_TORCH,
save_strategy=<SaveStrategy.STEPS: 'steps'>,
)"""


def test_it_reads_a_dump_of_arguments_with_members_by_their_values() -> None:
    assert values(ARGUMENTS) == {
        "_n_gpu": "1",
        "bf16": "True",
        "fsdp": "[]",
        "fsdp_config.min_num_params": "0",
        "fsdp_config.xla": "False",
        "optim": "adamw_torch",
        "save_strategy": "steps",
    }


def test_it_reads_a_fragment_of_json_in_a_sentence_or_alone() -> None:
    assert values('the file says\n\n    "tie_words": true\n\nand so on') == {"tie_words": "true"}
    assert values("Sampling params: {'n': 8, 'stop': ['a'], 'top_p': 1.0}.") == {
        "n": "8",
        "stop": "['a']",
        "top_p": "1.0",
    }


DUMP = """[36m(CriticActor pid=88231)[0m [2025-03-01 10:07:12,331] [INFO] [config.py:1003:print]   zero_enabled ................. True
[36m(CriticActor pid=88231)[0m [2025-03-01 10:07:12,331] [INFO] [config.py:1003:print]   zero_optimization_stage ...... 3
[36m(CriticActor pid=88231)[0m [2025-03-01 10:07:12,331] [INFO] [config.py:1003:print]   eigenvalue_resolution  1
[36m(CriticActor pid=88231)[0m [2025-03-01 10:07:12,331] [INFO] [config.py:989:print_user_config]   json = {
[36m(CriticActor pid=88231)[0m     "steps_per_print": 100,
[36m(ActorActor pid=88232)[0m something else
[36m(CriticActor pid=88231)[0m     "zero_optimization": {
[36m(CriticActor pid=88231)[0m         "stage": 3,
[36m(CriticActor pid=88231)[0m         "offload_param": {
[36m(CriticActor pid=88231)[0m             "device": "none"
[36m(CriticActor pid=88231)[0m         }, """


def test_it_reads_a_dump_and_its_json_behind_prefixes() -> None:
    assert values(DUMP) == {
        "zero_enabled": "True",
        "zero_optimization_stage": "3",
        "eigenvalue_resolution": "1",
        "steps_per_print": "100",
        "zero_optimization.stage": "3",
        "zero_optimization.offload_param.device": "none",
    }
    assert {setting.shape for setting in read(DUMP).settings} == {"dump", "json"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- `total_nodes: int = 4`", {"total_nodes": "4"}),
        ('- `pretrain: Optional[str] = "/models/X-1.5B"`', {"pretrain": "/models/X-1.5B"}),
        ("- `rollout_batch` = 2 and `micro_batch` = 3", {"rollout_batch": "2", "micro_batch": "3"}),
        ("    zero_stage: int = 3", {"zero_stage": "3"}),
        ("max_seq = 4000   # as long as it goes", {"max_seq": "4000"}),
        ("args = GRPOConfig(batch=4, name='a b', lr=1e-6)", {"batch": "4", "name": "a b", "lr": "1e-6"}),
        ("engine (v0.8.2) with config: model='a/b-7B', max_len=4096", {"model": "a/b-7B", "max_len": "4096"}),
        ("Namespace(a=1, b=None, c='x')", {"a": "1", "b": "None", "c": "x"}),
        ('"args": ["--deepspeed", "zero3", "--bf16", "--n", "2"]', {"deepspeed": "zero3", "bf16": "true", "n": "2"}),
        ('os.environ["SOME_FLAG"] = "1"', {"SOME_FLAG": "1"}),
        ("with data.train_batch_size = 8 it runs", {"data.train_batch_size": "8"}),
        ("我把 actor.ppo_micro_batch_size=4，还是爆", {"actor.ppo_micro_batch_size": "4"}),
        ("I set --colocate_actor_ref --critic_num_nodes 1 there", {"colocate_actor_ref": "true", "critic_num_nodes": "1"}),
        ('parser.add_argument("--micro_batch", type=int, default=4)', {"micro_batch": "4"}),
        ("parser.add_argument('--bf16', action='store_true')", {}),
        ("| train_batch_size | 128 |", {"train_batch_size": "128"}),
        ('    "--bf16"', {"bf16": "true"}),
        ("Observed with `--deepspeed zero2` and --tp 4.", {"deepspeed": "zero2", "tp": "4"}),
        ("* mem_util: 0.8  ->  CUDA out of memory", {"mem_util": "0.8"}),
        ("mem_util 0.32", {"mem_util": "0.32"}),
        ("mem_util (0.25) = 19.78GiB", {"mem_util": "0.25"}),
        ("sync_steps 我写的是 5。", {"sync_steps": "5"}),
        ("托管模式（llm_mode colocate）", {"llm_mode": "colocate"}),
        ("Error: overrides: ['a.b=1', 'a.c=[1,2]']", {"a.b": "1", "a.c": "[1,2]"}),
        ("a.lr=&quot;1e-6&quot;", {"a.lr": "1e-6"}),
    ],
)  # fmt: skip
def test_it_reads_keys_where_people_mention_them(text: str, found: dict[str, str]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a:\n  b:\n    c: 1\n    # one\n    # two\n\n    # three\n    # four\n    d: 2", {"a.b.c": "1", "a.b.d": "2"}),
        ("a:\n  say:\n    one two\n    three four\n  b: 2", {"a.b": "2"}),
        ('a:\n  steps:\n    - "one two, three"\n    - [1, 2]\n  b: 2', {"a.steps": "[one two, three]", "a.b": "2"}),
        ("roll:\n  sample: true\n  'n': 5\n  seed: 0", {"roll.sample": "true", "roll.n": "5", "roll.seed": "0"}),
    ],
)  # fmt: skip
def test_keys_stay_below_their_parent_whatever_stands_between(text: str, found: dict[str, str]) -> None:
    assert values(text) == found


def test_an_anchor_hands_its_keys_on_and_what_is_written_outranks_them() -> None:
    text = "base: &B\n  model: a/b\n  d: &D\n    tp: 2\n    pp: 3\nteacher:\n  <<: *B\n  model: c/d\n  d:\n    <<: *D\n    tp: 8\n"
    assert {key: value for key, value in values(text).items() if key.startswith("teacher")} == {
        "teacher.model": "c/d",
        "teacher.d.tp": "8",
        "teacher.d.pp": "3",
    }


def test_a_value_with_an_anchor_is_the_value_and_its_alias_the_same() -> None:
    assert values("a:\n  x: &N 5\n  y: *N") == {"a.x": "5", "a.y": "5"}


def test_anchors_that_hold_themselves_come_to_an_end() -> None:
    text = "l0: &L0\n  a: 1\n" + "".join(f"l{i}: &L{i}\n  p: *L{i - 1}\n  q: *L{i - 1}\n" for i in range(1, 30))
    assert len(read(text).settings) < 10_000
    assert values("loop: &L\n  <<: *L\n  b: 1") == {"loop.b": "1"}
