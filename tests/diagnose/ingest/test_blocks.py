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
        "worker.rollout.map.lr": "1e-6",
        "worker.rollout.map.name": "x",
        "data.max_length": "2048",
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
    assert values(text) == {"zero.stage": "3", "zero.offload.device": "none", "zero.bucket": "5e8", "batch": "4"}


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
