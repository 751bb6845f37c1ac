"""Values that name other keys of a configuration."""

from __future__ import annotations

import pytest

from diagnose.ingest import read

CONFIG = """policy:
  max_total_sequence_length: 512
  train_micro_batch_size: 4
  sequence_packing:
    train_mb_tokens: ${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}
  generation:
    max_new_tokens: ${policy.max_total_sequence_length}
    temperature: 0.7
    val_temperature: ${.temperature}
    engine:
      max_model_len: "${policy.max_total_sequence_length}"  # the engine's
      top: ${..max_new_tokens}
"""


def values(text: str) -> dict[str, str]:
    return {one.key: one.value for one in read(text).settings}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sequence_packing.train_mb_tokens", "2048"),
        ("generation.max_new_tokens", "512"),
        ("generation.val_temperature", "0.7"),
        ("generation.engine.max_model_len", "512"),
        ("generation.engine.top", "512"),
    ],
)
def test_a_reference_has_the_value_of_what_it_names(key: str, value: str) -> None:
    assert values(CONFIG)[f"policy.{key}"] == value


def test_what_a_command_overrides_counts_for_those_that_name_it() -> None:
    told = values(f"python run.py --config c.yaml policy.max_total_sequence_length=4096\n\n{CONFIG}")
    assert told["policy.generation.engine.max_model_len"] == "4096"
    assert told["policy.sequence_packing.train_mb_tokens"] == "16384"


def test_an_override_names_a_path_and_a_shell_a_variable() -> None:
    told = values("python run.py a.length=8 'b.length=${a.length}' c.length=${LENGTH}")
    assert (told["b.length"], told["c.length"]) == ("8", "${LENGTH}")


@pytest.mark.parametrize(
    "value",
    ["${other.length}", "${b.one}", "${mul:${a.n}, x}", "${div:${a.n}, 0}", "${oc.env:HOME}", "${now:%Y}", "${.key}"],
)
def test_what_the_text_does_not_tell_stays_as_it_is_written(value: str) -> None:
    assert values(f"a:\n  n: 3\nb:\n  one: 1\nb:\n  one: 2\nc:\n  key: {value}\n")["c.key"] == value


def test_a_default_stands_in_only_where_its_section_lacks_the_key() -> None:
    config = "a:\n  n: 3\nb:\n  x: ${oc.select:a.n, 7}\n  y: ${oc.select:a.m, 7}\n  z: ${oc.select:c.m, 7}\n"
    told = values(config)
    assert (told["b.x"], told["b.y"], told["b.z"]) == ("3", "7", "${oc.select:c.m, 7}")


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("${add:${a.n},4}", "14"),
        ("${subtract:${a.n},4}", "6"),
        ("${int_div:${a.n}, 4}", "2"),
        ("${div:${a.n}, 4}", "2.5"),
        ("${max:${a.n}, 4}", "10"),
        ("${not:${a.on}}", "false"),
        ("${a.n}_${a.n}", "10_10"),
    ],
)
def test_small_sums_are_done(value: str, gives: str) -> None:
    assert values(f"a:\n  n: 10\n  on: true\nb:\n  key: {value}\n")["b.key"] == gives


def test_values_that_double_with_each_reference_end() -> None:
    names = [f"{one}{two}_key" for one in "abcdefgh" for two in "abcdefgh"]
    rows = "".join(f"  {name}: {f'${{a.{then}}}' * 20}\n" for name, then in zip(names, names[1:], strict=False))
    told = values(f"a:\n{rows}  {names[-1]}: 1\n")
    assert told[f"a.{names[-2]}"] == "1" * 20
    assert told["a.aa_key"].startswith("${a.ab_key}")


def test_empty_lines_part_no_file() -> None:
    """Also where they stand for comments that somebody took out, and within a text of several lines."""
    config = "actor:\n  strategy:\n\n\n\n\n\n    name: megatron\n  prompt: |\n    You answer.\n\n    Be short.\n  size:\n    rows: 4\n"
    assert values(config) == {"actor.strategy.name": "megatron", "actor.size.rows": "4"}
