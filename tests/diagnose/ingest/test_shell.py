"""Variables, commands in variables and commands behind others, as launch scripts write them."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.types import Paste


def values(paste: Paste) -> dict[str, str]:
    return {setting.key: setting.value for setting in paste.settings}


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("N=${N:-8}", "8"),
        ("N=${N:-${GPUS:-4}}", "4"),
        ("GPUS=2\nN=${N:-${GPUS:-4}}", "2"),
        ("N=${N:-$((2 * 3))}", "6"),
        ("M=${M:-3}\nN=$((M * 2))", "6"),
        ('N="${N:-5}"', "5"),
        (': "${N:=4}"', "4"),
        ("N=1\n: ${N:=4}", "1"),
        ("N=${N:-}", ""),
        ("N=${N:-}\nN=${N:-4}", "4"),
        ("N=\nN=${N-4}", "4"),
        ("N=$N", "$N"),
        ("N=2\nN=$((N + 1))", "3"),
        ("M=1;N=2", "2"),
        ("N=1;M=2", "1"),
        ('N="a;b";M=2', "a;b"),
        ("M=1 && N=2", "2"),
        ("A=1\nB=$A\nC=$B\nD=$C\nE=$D\nF=$E\nG=$F\nN=$G", "1"),
        ("N=${N:?must be set}", "${N:?must be set}"),
        ("#SBATCH --nodes=4\nN=$SLURM_NNODES", "4"),
        ("#SBATCH -N 2 --gres=gpu:a100:8\nN=$((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE))", "16"),
        ("#SBATCH --nodes=2-4\nN=$SLURM_NNODES", "$SLURM_NNODES"),
    ],
)
def test_a_variable_has_what_the_script_gives_it(script: str, value: str) -> None:
    assert values(read(f"{script}\npython a.py --x $N"))["x"] == value


def test_a_path_that_grows_by_its_own_name() -> None:
    paste = read("P=a\nP=$P/b\nP=$P/c\npython a.py --p $P")
    assert [setting.value for setting in paste.settings if setting.key in "Pp"] == ["a", "a/b", "a/b/c", "a/b/c"]


def test_variables_that_name_each_other_come_to_an_end() -> None:
    script = "\n".join(f"V{i}=$V{(i + 1) % 9}$V{(i + 2) % 9}$V{(i + 3) % 9}" for i in range(9))
    assert "$V" in values(read(script + "\npython a.py --x $V0"))["x"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('CMD="python -m a.b c.d=1 e.f=2"\neval $CMD', {"c.d": "1", "e.f": "2"}),
        ('MORE="a.b=1 c.d=2"\npython t.py $MORE', {"a.b": "1", "c.d": "2"}),
        ('MORE="$MORE a.b=1"\nMORE+=" c.d=2"', {"a.b": "1", "c.d": "2"}),
        ('CMD="torchrun --nproc_per_node=${N:-2} t.py"\n$CMD a.b=1 \\\n  c.d=2', {"nproc_per_node": "2", "a.b": "1", "c.d": "2"}),
        ("srun --nodes=2 bash -c 'torchrun --nproc_per_node 8 t.py --tp 1'", {"nodes": "2", "nproc_per_node": "8", "tp": "1"}),
        ('apptainer exec i.sif bash -c "python3 -m a.b \\\n c.d=1 \\\n e.f=2"', {"c.d": "1", "e.f": "2"}),
        ("bash run.sh\n  a.b=1 \\\n  c.d=2", {"a.b": "1", "c.d": "2"}),
        ("docker run --shm-size 10g img python -m x a.b=1", {"shm-size": "10g", "a.b": "1"}),
        ("python t.py --n 1; python u.py --m 2", {"n": "1", "m": "2"}),
        ("my run: deepspeed t.py --n 1 --bf16", {"n": "1", "bf16": "true"}),
        ("命令：torchrun t.py --n 1 --bf16", {"n": "1", "bf16": "true"}),
        ("usage: train.py [-h] --n N --bf16", {}),
        ("my flags: --n 1 --bf16", {"n": "1", "bf16": "true"}),
        ("what does it do with --bf16", {}),
        ("accelerate launch --machine_rank 0 a/b --lr 1 2", {"machine_rank": "0", "lr": "1 2"}),
    ],
)  # fmt: skip
def test_it_reads_a_command_wherever_a_script_puts_it(text: str, found: dict[str, str]) -> None:
    assert values(read(text)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("&& " * 1_200 + "python t.py --n 1", ("python", "t.py")),
        ("python t.py \"\" a.b=1 --n 1 ''", ("python", "t.py")),
        ("cd repo && source env.sh; python t.py --n 1", ("python", "t.py")),
        ("uv run --isolated --extra fsdp -m a.b c.d=1", ("uv", "run", "-m", "a.b")),
        ("uv run --extra vllm python -m a.b c.d=1", ("uv", "run", "python", "-m", "a.b")),
        ("python t.py --n 1; python u.py --m 2", ("python", "t.py")),
    ],
)
def test_it_tells_the_program_from_what_leads_to_it(text: str, words: tuple[str, ...]) -> None:
    assert read(text).commands[0].words == words


def test_a_sentence_in_a_variable_is_no_command() -> None:
    assert values(read('MSG="please set a.b=1 when it fails"')) == {"MSG": "please set a.b=1 when it fails"}


WRAPPER = """TOKENS=1024
N=1
while [[ "$#" -gt 0 ]]; do
  case "$1" in
    --tokens) TOKENS="$2"; shift 2 ;;
    -n|--number)
      N=$2
      shift 2 ;;
    *) exit 1 ;;
  esac
done
SUM=$((TOKENS * N))
python3 -m a.b data.tokens=$TOKENS data.n=$N data.sum=$SUM
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("bash train.sh --tokens 512 --number=4", ("512", "4", "2048")),
        ("A=1 ./train.sh \\\n  --number 2 \\\n  --tokens '256'", ("256", "2", "512")),
        ("bash train.sh --tokens 512\nbash train.sh --tokens 256 --number 2", ("1024", "2", "2048")),  # two that differ
        ("# bash train.sh --tokens 512", ("1024", "1", "1024")),
        ("", ("1024", "1", "1024")),
    ],
)
def test_a_wrapper_has_the_arguments_that_it_was_called_with(call: str, found: tuple[str, str, str]) -> None:
    read_here = values(read(f"{call}\n\n{WRAPPER}"))
    assert tuple(read_here[f"data.{key}"] for key in ("tokens", "n", "sum")) == found


@pytest.mark.parametrize("array", ["E=(a.b=1 c.d=2)", 'E=("a.b=1" c.d=2)', "E=( a.b=1 c.d=2 )", "E+=(a.b=1 c.d=2)"])
def test_what_stands_in_an_array_on_one_row_is_read(array: str) -> None:
    assert values(read(f'{array}\npython t.py "${{E[@]}}"')) == {"a.b": "1", "c.d": "2"}
