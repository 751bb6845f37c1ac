"""Flags that a sentence leads to: the last one of a row without a word of its own ends with its clause."""

import pytest

from diagnose.ingest import read


def _flags(text):
    return {one.key: one.value for one in read(text).settings}


@pytest.mark.parametrize("text", ["should I use --adam_offload, or more cards?", "what is --adam_offload; a switch?"])
def test_a_flag_that_stands_alone_before_a_comma_is_not_set(text):
    assert "adam_offload" not in _flags(text)


@pytest.mark.parametrize("end", [", no adam offload.", "; still OOM", "，还是 OOM"])
def test_the_last_switch_of_a_row_is_set_where_a_comma_ends_it(end):
    assert _flags(f"one card, --zero_stage 2 --vllm_gpu_memory_utilization 0.3 --vllm_enable_sleep{end}") == {
        "zero_stage": "2",
        "vllm_gpu_memory_utilization": "0.3",
        "vllm_enable_sleep": "true",
    }
