"""Settings inside a flag's value."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


@pytest.mark.parametrize(
    ("flag", "inside"),
    [
        ("""--limit_mm_per_prompt '{"image": 5, "video": 0}'""", {"limit_mm_per_prompt.image": "5", "limit_mm_per_prompt.video": "0"}),
        ("""--limit-mm-per-prompt='{"video":0}'""", {"limit-mm-per-prompt.video": "0"}),
        ("--limit-mm-per-prompt image=2,video=0", {"limit-mm-per-prompt.image": "2", "limit-mm-per-prompt.video": "0"}),
        ("""--engine '{"mm": {"max_pixels": 1003520}, "skip": true}'""", {"engine.mm.max_pixels": "1003520", "engine.skip": "true"}),
        ("""--init '{"torch_dtype": "bfloat16"}'""", {"init.torch_dtype": "bfloat16"}),
        ("--names a,b", {}),
        ("--limit '{not json}'", {}),
    ],
)  # fmt: skip
def test_what_stands_inside_a_value_is_a_setting_too(flag: str, inside: dict[str, str]) -> None:
    found = {one.key: one.value for one in read(f"vllm serve model {flag} --max-model-len 4096").settings}
    assert {key: value for key, value in found.items() if "." in key} == inside
    assert found["max-model-len"] == "4096"


def test_each_has_its_own_place_in_the_text() -> None:
    text = """vllm serve model --port 8000 --limit_mm_per_prompt '{"image": 5, "video": 10}' --max-model-len 4096"""
    one = next(one for one in read(text).settings if one.key.endswith(".video"))
    assert text[one.span.start : one.span.end] == "10"
