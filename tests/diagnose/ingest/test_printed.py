"""A configuration that is printed over many rows: of a long log it is read whole, as of a short one."""

import json
import pprint

import pytest

from diagnose.ingest import read
from diagnose.ingest.printed import ROOM, printed
from diagnose.ingest.reduce import LIMIT

PREFIX = "(TaskRunner pid=3312) "
CONFIG = {
    role: {
        "engine": {
            f"part_{part}": {
                "profiler": {"tool_config": {"enable": False, "level": None, "steps": [1, part], f"size_{part}": part}}
            }
            for part in range(28)
        },
        "rows": number,
    }
    for number, role in enumerate(("actor", "critic", "rollout", "zero"))
}
NOISE = "\n".join(
    f"{PREFIX}step:{step} - actor/loss:0.{step} - perf/max_memory_allocated_gb:{step}.5" for step in range(1200)
)
FAILURE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def as_pprint(config):
    return pprint.pformat(config)


def as_json(config):
    return json.dumps(config, indent=12)


def with_prefix(text, prefix=PREFIX):
    return "\n".join(prefix + line for line in text.split("\n"))


def settings(text):
    words = {"false": "False", "null": "None"}
    found = [setting for setting in read(text).settings if setting.key.split(".")[0] in CONFIG]
    return {setting.key: words.get(setting.value, setting.value) for setting in found}


@pytest.mark.parametrize("prefix", [PREFIX, ""])
@pytest.mark.parametrize("write", [as_pprint, as_json])
def test_in_a_long_log_it_is_read_whole(write, prefix):
    text = with_prefix(write(CONFIG), prefix) + "\n" + NOISE + "\n" + FAILURE
    assert len(text) > 2 * LIMIT
    short = settings(json.dumps(CONFIG, indent=1))
    assert len(short) == 4 * (28 * 4 + 1)
    assert settings(text) == short
    assert any(FAILURE in line.text for line in read(text).lines)


@pytest.mark.parametrize("prefix", ["", "(MegatronTrainRayActor pid=3312, ip=10.0.0.1) "])
def test_of_a_long_table_of_arguments_all_that_have_a_value_are_read(prefix):
    names = [
        f"argument_{first}{then}_of_many_{last}"
        for first in "abcdefghij"
        for then in "abcdefghij"
        for last in "abcdefghij"
    ]
    given = {name: None if number % 3 == 0 else number for number, name in enumerate(names)}
    rows = "\n".join(f"{prefix}  {name} {'.' * (48 - len(name))} {value}" for name, value in given.items())
    assert len(rows) > 55_000
    found = {setting.key: setting.value for setting in read(f"{rows}\n{NOISE}\n{FAILURE}").settings}
    told = {name: str(value) for name, value in given.items() if value is not None}
    assert {name: found.get(name) for name in told} == told
    assert any(FAILURE in line.text for line in read(f"{rows}\n{NOISE}\n{FAILURE}").lines)


def test_rows_keep_their_numbers():
    text = NOISE + "\n" + with_prefix(as_pprint(CONFIG)) + "\n" + FAILURE
    (rows,) = (one for one in read(text).settings if one.key == "zero.rows")
    assert f"'rows': {CONFIG['zero']['rows']}" in text.split("\n")[rows.span.line - 1]


def test_what_is_short_stays_as_it_is():
    assert printed([b"{'a': 1,", *[b" 'b': 2,"] * 8, b" 'c': 3}"]) == []


def test_what_is_printed_twice_is_kept_once_and_what_has_no_room_not_at_all():
    one = with_prefix(as_pprint(CONFIG["actor"])).encode().split(b"\n")
    large = with_prefix(as_pprint({f"key_{number}": number for number in range(ROOM // 10)})).encode().split(b"\n")
    assert printed([*one, b"between", *one, b"between", *large]) == [range(len(one))]


def test_rows_of_another_process_end_it():
    mine, other = with_prefix(as_pprint(CONFIG["actor"])), "(WorkerDict pid=1) 'rows': 7,"
    lines = f"{mine}\n{other}".encode().split(b"\n")
    assert printed(lines) == [range(len(lines) - 1)]


@pytest.mark.parametrize("before", ["[INFO:swift] args: RLHFArguments(", "(pid=3312) Namespace("])
def test_arguments_in_one_endless_line_are_all_read(before):
    given = {f"argument_{number}": number for number in range(400)}
    line = (
        before
        + ", ".join(f"{name}={value}" for name, value in given.items())
        + ", nested={'a': 1, 'b': [2, 3]}, last=None)"
    )
    assert len(line) > 6_000
    found = {setting.key: setting.value for setting in read(f"{line}\n{FAILURE}").settings}
    assert found == {name: str(value) for name, value in given.items()} | {
        "nested.a": "1",
        "nested.b": "[2, 3]",
        "last": "None",
    }


@pytest.mark.parametrize("prefix", [PREFIX, "", "config: "])
def test_a_dictionary_in_one_endless_line_is_read_whole(prefix):
    assert settings(f"{prefix}{CONFIG}\n{FAILURE}") == settings(json.dumps(CONFIG, indent=1))


def test_a_long_line_that_prints_no_arguments_stays_one():
    line = "a long answer, of words=alone (and not=of arguments), " * 100
    assert len(read(line).lines) == 1
