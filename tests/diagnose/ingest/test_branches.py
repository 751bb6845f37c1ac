"""Branches of shell scripts: what the script itself leaves out sets nothing."""

from __future__ import annotations

import time

import pytest

from diagnose.ingest import read


def values(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


def extra(script: str) -> bool:
    """Whether what the branch holds counts."""
    return "model.lora_rank" in values(script)


IN_BRANCH = 'EXTRA=()\nif %s; then\n  EXTRA+=("model.lora_rank=32")\nfi\ntorchrun t.py a.b=1 "${EXTRA[@]}"\n'


@pytest.mark.parametrize(
    ("sets", "test"),
    [
        ("USE=${USE:-0}", '[ "${USE}" = "1" ]'),
        ("USE=${USE:-0}", '[ "$USE" == 1 ]'),
        ("USE=${USE:-0}", "[[ $USE == 1 ]]"),
        ("USE=0", "[[ $USE -eq 1 ]]"),
        ("USE=0", "[ $USE -ne 0 ]"),
        ("N=1", "[ $N -gt 1 ]"),
        ("N=1", "[[ $N -ge 2 ]]"),
        ("N=8", "[ $N -lt 8 ]"),
        ("N=8", "[ $N -le 7 ]"),
        ("N=8", "(( N < 8 ))"),
        ("N=8", "(( $N % 8 ))"),
        ("USE=false", '[ "${USE,,}" = true ]'),
        ("USE=false", "$USE"),
        ("USE=false", '"${USE}"'),
        ("A=1", "false"),
        ("A=1", "! true"),
        ("USE=", '[ -n "$USE" ]'),
        ("USE=", '[ "$USE" ]'),
        ("USE=1", '[ -z "$USE" ]'),
        ("USE=1", '[ ! -n "$USE" ]'),
        ("USE=1", 'test "$USE" != 1'),
        ("A=1", "[[ $PRECISION == fp8 ]]"),
        ("#!/bin/bash", "[[ $PRECISION == fp8 ]]"),
        ("A=1", '[ -n "${RESUME_FROM:-}" ]'),
        ("A=1", '[ "x$PRECISION" = "xfp8" ]'),
        ("A=1\nB=2", '[ "$A" = 1 ] && [ "$B" = 3 ]'),
        ("A=1\nB=2", "[[ $A == 1 && ( $B == 3 || $B == 4 ) ]]"),
        ("A=1", '[ "$A" = 2 ] && [ -f some/file ]'),
        ("MODEL=Qwen/Qwen3-8B", "[[ $MODEL == *32B* ]]"),
        ("export USE=0", '[ "$USE" = 1 ]'),
        ("BASE=0\nUSE=$BASE", '[ "$USE" = 1 ]'),
        (": ${USE:=0}", '[ "$USE" = 1 ]'),
        ("MODEL=Qwen3-8B", '[[ $MODEL == "Qwen2"* ]]'),
        ("MODEL=Qwen3-8B", '[[ $MODEL == "Qwen3*" ]]'),
        ("NODES=8\nN=$((NODES / 8))", "[ $N -gt 1 ]"),
        ("bash run.sh 2\n#!/bin/bash", "(( $1 > 3 ))"),
        ("bash run.sh 2\n#!/bin/bash", "(( $# > 1 ))"),
        ("USE=", '[ "$USE" -gt 1 ]'),
        ('USE="a\\"b"', "[[ $USE != 'a\"b' ]]"),
        ("declare -i USE=0", "[ $USE = 1 ]"),
        ("export USE=0 OTHER", "[ $USE = 1 ]"),
    ],
)
def test_a_branch_that_the_script_leaves_out_sets_nothing(sets: str, test: str) -> None:
    script = f"{sets}\n{IN_BRANCH % test}"
    assert not extra(script)
    assert values(script)["a.b"] == "1"


@pytest.mark.parametrize(
    ("sets", "test"),
    [
        ("USE=${USE:-1}", '[ "${USE}" = "1" ]'),
        ("USE=1", "[ -n $USE ]"),
        ("A=1", '[ "$1" = lora ]'),
        ("A=1", "[ -f adapter.json ]"),
        ("A=1", "command -v nvidia-smi"),
        ("A=$(nproc)", "[ $A -gt 8 ]"),
        ("A=1", '[ "$SLURM_NNODES" -gt 1 ]'),
        ("A=1", '[ "$SKYPILOT_NODE_RANK" == "0" ]'),
        ("A=1", '[ "${MLP_ROLE_INDEX}" = 0 ]'),
        ("A=1", "[ $NNODES -gt 1 ]"),
        ("A=1", '[ "$SKYPILOT_NODE_RANK" = 0 ]'),
        ("A=1", '[ "$MY_RANK" = 0 ]'),
        ("A=1\nsource settings.env", '[ "$PRECISION" = fp8 ]'),
        ("read USE", '[ "$USE" = 1 ]'),
        ("USE=0\nIFS=, read -r USE B <<< 1,2", '[ "$USE" = 1 ]'),
        ("USE=0\nif read -t 9 USE; then :; fi", '[ "$USE" = 1 ]'),
        ("USE=0\nif (( ++USE > 9 )); then :; fi", '[ "$USE" = 1 ]'),
        ("USE=1\n[ -f x ] && unset USE", '[ "$USE" = 1 ]'),
        ("USE=0\nUSE=$(cat <<EOF", '[ "$USE" = 1 ]'),
        ('USE=0\nUSE="', '[ "$USE" = 1 ]'),
        ('USE=0\neval "$(python settings.py)"', '[ "$PRECISION" = fp8 ]'),
        ("MODEL=Qwen3-8B", '[[ $MODEL == "Qwen3"* ]]'),
        ("MODEL=Qwen3-8B\nKIND='Qwen*'", "[[ $MODEL == $KIND ]]"),
        ("MODEL=8B", "[[ $MODEL == [^a]* ]]"),
        ("USE=", "[ -n $USE ]"),  # a shell takes the word away, and -n is no empty word
        ("USE=", "[ $USE != 1 ]"),
        ("USE=0", "[ $USE = 1]"),
        ("bash run.sh a b\n#!/bin/bash\nshift", '[ "$1" = b ]'),
        ("#!/bin/bash\nset -- lora", '[ "${1:-full}" = lora ]'),
        ("for USE in 0 1; do", '[ "$USE" = 1 ]'),
        ("USE=1 bash run.sh\n#!/bin/bash\nUSE=${USE:-0}", '[ "$USE" = 1 ]'),
        ("#!/bin/bash\nMODE=${1:-full}\n# called as\nbash run.sh lora", '[ "$MODE" = lora ]'),
        ("#!/bin/bash\n[ -z $KIND ] && exit 1", '[ "$KIND" = lora ]'),
        ('#!/bin/bash\nif [ -z "$KIND" ]; then echo usage; exit 1; fi', '[ "$KIND" = lora ]'),
        ("#!/bin/bash\nMODE=${1:-full}\nbash prepare.sh data", '[ "$MODE" = lora ]'),  # a script may call others
        ("USE=1\ncat > x <<EOF\nUSE=0\nEOF", '[ "$USE" = 1 ]'),
        ("USE=1\necho '\nUSE=0\n'", '[ "$USE" = 1 ]'),
        ("USE=1\npython t.py \\\n  USE=0", '[ "$USE" = 1 ]'),
        ("USE=1\nENV=(\n  USE=0\n)", '[ "$USE" = 1 ]'),
        ("USE=0\n⋯ 3 lines ⋯\nA=1", '[ "$USE" = 1 ]'),
        ("USE=0\npython a.py\n#!/bin/bash", '[ "$USE" = 1 ]'),  # of another script
        ("bash run.sh full\n#!/bin/bash\nf()\n{\nA=1", '[ "$1" = lora ]\nthen\n:\nfi\n}\nf lora\nif true'),
        ("bash run.sh full\n#!/bin/bash\na::f() {\nA=1", '[ "$1" = lora ]\nthen\n:\nfi\n}\na::f lora\nif true'),
        ("", '[ "$USE" = 1 ]'),  # a part of a script
        ("f() {\nA=1", '[ "$USE" = 1 ]\nthen\n:\nfi\n}\nUSE=1\nf\nif true'),
    ],
)
def test_a_branch_that_may_be_gone_through_counts(sets: str, test: str) -> None:
    assert extra(f"{sets}\n{IN_BRANCH % test}")


def test_of_a_chain_one_branch_counts() -> None:
    script = "SIZE=%s\nif [ $SIZE = 7b ]; then\n  TP=1\nelif [ $SIZE = 14b ]; then TP=2\nelse\n  TP=4; fi\npython t.py --tp $TP"
    assert [values(script % size)["tp"] for size in ("7b", "14b", "32b")] == ["1", "2", "4"]


def test_of_a_case_one_arm_counts() -> None:
    script = (
        'SIZE=%s\ncase "$SIZE" in\n  7b|8b) TP=1 ;;\n  14*)\n    TP=2\n    ;;\n  *) TP=4 ;;\nesac\npython t.py --tp $TP'
    )
    assert [values(script % size)["tp"] for size in ("8b", "14b", "32b")] == ["1", "2", "4"]


def test_a_pattern_of_a_case_is_text_where_it_is_quoted_and_may_name_a_variable() -> None:
    script = 'B=b\nSIZE=%s\ncase "$SIZE" in\n  "*") TP=1 ;;\n  "$B"?) TP=2 ;;\n  *) TP=4 ;;\nesac\npython t.py --tp $TP'
    assert [values(script % size)["tp"] for size in ("'*'", "bx", "b")] == ["1", "2", "4"]


def test_a_pattern_of_a_case_may_stand_on_several_rows() -> None:
    script = "SIZE=%s\ncase $SIZE in\n  7b | \\\n  8b)\n    TP=1 ;;\n  *) TP=4 ;;\nesac\npython t.py --tp $TP"
    assert [values(script % size)["tp"] for size in ("7b", "8b", "14b")] == ["1", "1", "4"]


def test_a_case_of_what_a_command_prints_is_untold() -> None:
    script = "A=1\ncase $(uname -s) in\n  Linux)\n    N=1 ;;\n  *) N=2 ;;\nesac\npython t.py --n $N"
    assert values(script)["n"] == "$N"


@pytest.mark.parametrize("end", [";&", ";;&"])
def test_an_arm_that_goes_on_into_the_next_leaves_that_one_there(end: str) -> None:
    script = f"SIZE=7b\ncase $SIZE in\n  7b)\n    TP=1\n    {end}\n  14b | 7*) N=2 ;;\nesac\npython t.py --n $N"
    assert values(script)["n"] == "2"


def test_what_a_command_that_is_left_out_holds_in_further_rows_is_left_out() -> None:
    script = "USE=0\nE=()\n[ $USE = 1 ] && E+=(\n  a.b=1\n)\n[ $USE = 0 ] && E+=(\n  c.d=2\n)\npython t.py ${E[@]}"
    assert {key: value for key, value in values(script).items() if "." in key} == {"c.d": "2"}


def test_a_word_inside_of_a_quoted_text_opens_and_closes_nothing() -> None:
    script = "USE=0\nif [ $USE = 1 ]; then\n  TEXT='\nif x\nfi\n}\n'\n  N=1\nelse\n  N=2\nfi\npython t.py --n $N"
    assert values(script)["n"] == "2"


def test_more_branches_in_branches_than_any_script_has_are_left_as_they_are() -> None:
    inner = "if [ $USE = 2 ]; then\n:\nelse\npython t.py --m.n=3\nfi\n"
    script = "USE=1\n" + "if [ $USE = 1 ]; then\n" * 60 + inner + "fi\n" * 60
    assert values(script)["m.n"] == "3"


def test_a_command_of_the_other_branch_is_not_this_run() -> None:
    script = "MODE=full\nif [ $MODE = lora ]; then\n  python t.py --lora_rank 8 \\\n    --lr 1\nelse\n  python t.py --lr 2\nfi"
    paste = read(script)
    assert len(paste.commands) == 1
    assert {setting.key: setting.value for setting in paste.settings if setting.command == 0} == {"lr": "2"}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("[ $USE = 1 ] && N=2", "1"),
        ("[ $USE = 1 ] && N=2 || N=3", "3"),
        ("[ $USE = 0 ] && N=2 || N=3", "2"),
        ("[[ $USE == 1 ]] || N=2", "2"),
        ("[ $USE = 1 ] && \\\n  N=2", "1"),
        ("[ $USE = 1 ] && { M=1; N=2; }", "1"),
        ("[ $USE = 0 ] && { M=1; N=2; }", "2"),
        ("if [ $USE = 1 ]; then N=2; else N=3; fi", "3"),
        ("if [ $USE = 1 ]; then N=2; fi  # N=4", "1"),
        ("mkdir -p out || N=2", "1"),
        ("if [ -f x ]; then N=2; fi", "2"),
        ("if [ $USE = 0 ];then N=2;else N=3;fi", "2"),
        ("[ $USE = 0 ] \\\n  && N=2", "2"),
        ("[ $USE = 0 ] && M=1 && N=2", "2"),
    ],
)
def test_a_test_on_one_line(line: str, value: str) -> None:
    assert values(f"USE=0\nN=1\n{line}\npython t.py --n $N")["n"] == value


def test_branches_that_nobody_can_decide_leave_untold_what_they_set_differently() -> None:
    script = "A=1\nif [ -f x ]; then\n  N=%s\n  M=5\nelse\n  N=%s\nfi\npython t.py --n $N --m $M"
    assert values(script % (2, 4))["n"] == "$N"
    assert values(script % (2, 4))["m"] == "5"
    assert values(script % (2, 2))["n"] == "2"
    assert values(script % ("/data/Qwen3-8B", "Qwen/Qwen3-8B"))["n"] == "Qwen/Qwen3-8B"


def test_of_a_setting_that_both_branches_make_the_first_counts() -> None:
    script = 'A=1\nif [ -f x ]; then\n  E+=(\n"a.b=1"\n)\nelse\n  E+=("a.b=2" "c.d=3")\nfi\npython t.py "${E[@]}"'
    found = [(setting.key, setting.value) for setting in read(script).settings if "." in setting.key]
    assert found == [("a.b", "1"), ("c.d", "3")]


PROBED = """%s
DEVICE=${DEVICE:-$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)}
case "${DEVICE}" in
    gpu) N=8 ;;
    npu) N=16 ;;
esac
python t.py --n $N
"""


@pytest.mark.parametrize(
    ("words", "value"), [("8 x H100", "8"), ("# 16 NPUs or", "8"), ("Ascend 910B", "$N"), ("DEVICE=npu", "16")]
)
def test_a_script_that_looks_for_other_cards_finds_none_where_nobody_speaks_of_them(words: str, value: str) -> None:
    assert values(PROBED % words)["n"] == value


OPTIONS = """USE=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --lora) USE=1; shift ;;
    --size=*) SIZE=${1#*=}; shift ;;
    *) shift ;;
  esac
done
if [ $USE = 1 ]; then
  EXTRA="model.lora_rank=32"
fi
torchrun t.py a.b=1 $EXTRA
"""


@pytest.mark.parametrize(
    ("call", "counts"),
    [("", False), ("bash run.sh", False), ("bash run.sh --size=7b", False), ("bash run.sh --size=7b --lora", True)],
)
def test_the_arguments_of_a_call_choose(call: str, counts: bool) -> None:
    assert extra(f"{call}\n\n#!/bin/bash\n{OPTIONS}") is counts


def test_an_argument_with_its_value_goes_through_its_arm() -> None:
    script = f"#!/bin/bash\nSIZE=none\n{OPTIONS.replace('${1#*=}', '7b')}python t.py --size $SIZE"
    assert values(f"bash run.sh --size=7b\n{script}")["size"] == "7b"


@pytest.mark.parametrize(
    "text",
    [
        "USE=0\nif [ $USE = 1 ]; then\n  EXTRA=model.lora_rank=32\ntorchrun t.py a.b=1 $EXTRA",  # cut off
        "USE=0\nif [ $USE = 1 ]\n  python t.py model.lora_rank=32\nfi",  # its word is lost
        "USE=0\nif USE = 1: python t.py --model.lora_rank=32",
        "use = 0\nif use == 1:\n    x(model.lora_rank=32)",
    ],
)
def test_what_is_no_whole_branch_is_left_as_it_is(text: str) -> None:
    assert "32" in " ".join(values(text).values())


@pytest.mark.parametrize(
    "text",
    [
        "for x in rows:\n    done = x.done\nwhile done and x:\n    done = False",
        "{ 'a.b': 1,\n  'c': 2\n}",
        "x = {\n    1 if y\n    else 2\n}",
        "{\n    else 2\n}",
        "|  0  N/A |  23456MiB / 81559MiB |",
        "[rank0] | max_len | 3",
        "it's 'x\nif y",
    ],
)
def test_other_text_beside_a_script_keeps_its_words(text: str) -> None:
    lines = read(f"USE=0\nif [ $USE = 1 ]; then N=1; fi\n{text}\n").lines[2:]
    assert [line.words for line in lines] == [line.words for line in read(text).lines]


@pytest.mark.parametrize(
    "piece",
    [
        "if [ a ]; then\n",
        "fi\n",
        "case $x in\n",
        "a) ;; ",
        "[[ ",
        "(( ",
        "{\n",
        "}\n",
        "&& || ; ",
        "$((",
        "${",
        '"',
        "if ! (",
        "for x in\n",
        "x='\n",
        "A+=(\n",
        "cat <<EOF\n",
        "a | \\\n",
    ],
)
def test_broken_scripts_are_read_in_time(piece: str) -> None:
    begun = time.process_time()
    read("A=1\nif [ $A = 1 ]; then B=2; fi\n" + piece * (60_000 // len(piece)))
    read("A=1\n" + f"{piece}{piece.strip()}" * 50 + "\nfi\nesac\ndone")
    assert time.process_time() - begun < 20  # 2 alone; what grows with the square of a text would take minutes
