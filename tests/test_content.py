"""Everything under content/: it loads, it fits, and every [[example]] holds. A new file needs no edit here."""

from dataclasses import replace

import pytest

from diagnose.facts import read_facts
from diagnose.facts.failing.signature import matches
from diagnose.ingest import read
from diagnose.knowledge import CONTENT, Knowledge, current, read_content
from diagnose.knowledge.check import cross_check
from diagnose.knowledge.records import FRONT_MATTER_KINDS
from diagnose.pipeline import diagnose


def examples(kind):
    """Every example of one kind of record as a test of its own, named by file and by what it says."""
    knowledge = current()
    return [
        pytest.param(record, example, id=f"{record.slug}: {example.says}")
        for record in getattr(knowledge, kind).values()
        for example in record.examples
    ]


def test_no_record_has_a_problem():
    records, problems, _ = read_content(CONTENT)
    assert [str(problem) for problem in (*problems, *cross_check(Knowledge(**records)))] == []


def test_what_is_shown_as_it_stands_holds_no_markup():
    knowledge = current()
    assert [slug for slug, one in knowledge.signatures.items() if "`" in (one.not_memory or "")] == []


@pytest.mark.parametrize("kind", FRONT_MATTER_KINDS)
def test_every_file_is_a_record(kind):
    knowledge = current()
    files = {path.stem for path in (CONTENT / kind).glob("*.md")}
    assert files == set(getattr(knowledge, kind))


def test_every_part_of_a_framework_is_joined():
    knowledge = current()
    files = {path.relative_to(CONTENT / "frameworks").as_posix() for path in (CONTENT / "frameworks").glob("*/*.md")}
    joined = {f"{part.slug}.md" for framework in knowledge.frameworks.values() for part in framework.parts[1:]}
    assert files == joined


def test_no_file_stands_where_no_record_is_read():
    read = {path for kind in FRONT_MATTER_KINDS for path in (CONTENT / kind).glob("*.md")}
    read |= set((CONTENT / "frameworks").glob("*/*.md"))
    assert set(CONTENT.rglob("*.md")) - read == set()


def test_every_lever_of_a_case_is_a_record():
    knowledge = current()
    named = {fix.lever for case in knowledge.cases.values() for fix in case.fixes}
    assert named <= set(knowledge.levers)


@pytest.mark.parametrize(("signature", "example"), examples("signatures"))
def test_a_signature_holds_its_example(signature, example):
    paste = read(example.text)
    assert bool(list(matches(signature, paste))) is example.matches
    if example.matches:
        _holds(example, {})


@pytest.mark.parametrize(("framework", "example"), examples("frameworks"))
def test_a_framework_holds_its_example(framework, example):
    # a framework that nothing names is answered: the plain one has no mark of its own, unlike the trainers that read its keys
    answered = framework.fallback and "framework" not in example.facts
    _holds(example, {"framework": framework.slug} if answered else {})


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            'model:\n  model_name: "meta-llama/Llama-3.1-8B-Instruct"\n  model_max_length: 8192\n  torch_dtype_str: "bfloat16"\ntraining:\n'
            '  trainer_type: "TRL_SFT"\n  use_peft: True\n  per_device_train_batch_size: 2\n  enable_gradient_checkpointing: True\n'
            'peft:\n  lora_r: 8\nfsdp:\n  enable_fsdp: True\n  sharding_strategy: "FULL_SHARD"\n',
            {
                "framework": "oumi",
                "algo": "sft",
                "full_or_lora": "lora",
                "lora_rank": 8,
                "micro_batch": 2,
                "max_length": 8192,
                "gradient_checkpointing": True,
                "precision": "bf16",
                "strategy": "fsdp",
                "zero_stage": 3,
            },
        ),
        (
            "axolotl train run.yaml\nbase_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: mine.jsonl\n    type: alpaca\nsequence_len: 4096\n"
            "micro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-5\nbf16: auto\n"
            "pad_to_sequence_len: true\nchunked_cross_entropy: true\n",
            {
                "precision": "bf16",
                "strategy": "ddp",
                "norms_fp32": True,
                "padded_rows": True,
                "loss_upcast_in_parts": True,
            },
        ),
        (
            "axolotl train run.yaml\nbase_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: mine.jsonl\n    type: alpaca\nsequence_len: 4096\n"
            "micro_batch_size: 1\ngradient_accumulation_steps: 4\nnum_epochs: 1\noptimizer: adamw_torch\nlearning_rate: 2e-5\nbf16: auto\n"
            "flash_attention: true\n",
            {"precision": "bf16", "strategy": "ddp", "norms_fp32": False},
        ),
        (
            '2xH100, uv run rl @ run.toml\n[deployment]\nnum_train_gpus = 1\nnum_infer_gpus = 1\n\n[model]\nname = "Qwen/Qwen3-8B"\n',
            {"framework": "prime-rl", "n_gpus": 2, "trainer_gpus": 1},
        ),
        (
            "axolotl train run.yaml\nbase_model: Qwen/Qwen3-8B\nadapter:\nlora_r:\nlora_alpha:\nmicro_batch_size: 1\n",
            {"framework": "axolotl", "full_or_lora": "full", "gradient_checkpointing": False},
        ),
        (
            "axolotl train g.yaml\nbase_model: Qwen/Qwen2.5-1.5B\nrl: grpo\ntrl:\n  beta: 0.001\n  use_vllm: true\n  num_generations: 4\n",
            {"algo": "grpo", "rollout_engine": "vllm", "rollout_mode": "server", "rollout_n": 4, "has_ref": True},
        ),
        (
            "axolotl train g.yaml\nbase_model: Qwen/Qwen2.5-1.5B\nrl: grpo\ntrl:\n  use_vllm: true\n  vllm_mode: colocate\n",
            {"rollout_mode": "colocated", "sleep_level": 0, "gpu_memory_utilization": 0.9, "response_length": 512},
        ),
        (
            "llamafactory-cli train run.yaml\nmodel_name_or_path: a/b-7B\nfinetuning_type: full\nuse_galore: true\noptim: adamw_8bit\n",
            {
                "framework": "llamafactory",
                "optimizer": "galore_adamw_8bit",
                "optimizer_rank": 16,
                "freeze_vision": True,
            },
        ),
        (
            "llamafactory-cli train run.yaml\nmodel_name_or_path: a/b-7B\nfinetuning_type: full\nuse_badam: true\n",
            {"framework": "llamafactory", "optimizer": "badam", "trained_layers": 1, "precision": "bf16"},
        ),
        (
            "litgpt finetune_lora google/gemma-2b --quantize bnb.nf4-dq --lora_r 16 --lora_mlp true --train.micro_batch_size 2",
            {
                "framework": "litgpt",
                "micro_batch": 2,
                "lora_rank": 16,
                "lora_layers": "all_linear",
                "full_or_lora": "qlora",
                "double_quant": True,
            },
        ),
        (
            "litgpt finetune_lora --config lora.yaml\n"
            "# The path to the base model (type: <class 'Path'>, default: checkpoints/stabilityai/stablelm-base-alpha-3b)\n"
            "checkpoint_dir: checkpoints/google/gemma-7b\n\nprecision: bf16-true\n\n"
            "# Quantize with this algorithm. (type: Optional[Literal['nf4', 'nf4-dq']], default: null)\nquantize:\n\ndevices: 1\n",
            {
                "model": "gemma-7b",
                "full_or_lora": "lora",
                "precision": "bf16",
                "gpus_per_node": 1,
                "gradient_checkpointing": False,
            },
        ),
        (
            "CONFIG_FILE=torchtitan/models/llama3/train_configs/llama3_8b.toml NGPU=8 ./run_train.sh\n[training]\nlocal_batch_size = 1\n"
            'seq_len = 8192\n[parallelism]\ntensor_parallel_degree = 8\n[activation_checkpoint]\nmode = "full"\n',
            {
                "framework": "torchtitan",
                "tp": 8,
                "gradient_checkpointing": True,
                "algo": "pretrain",
                "strategy": "fsdp2",
            },
        ),
        (
            "bash finetune/finetune_qlora_single_gpu.sh -m Qwen-14B-Chat-Int4",
            {"framework": "qwen-finetune", "full_or_lora": "qlora"},
        ),
        ("run_grpo_math.py policy.model_name=Qwen/Qwen2.5-7B", {"framework": "nemo-rl", "strategy": "fsdp2"}),
        (
            "run_grpo_math.py policy.model_name=Qwen/Qwen2.5-7B policy.megatron_cfg.enabled=true",
            {"framework": "nemo-rl", "strategy": "megatron"},
        ),
    ],
)
def test_a_trainer_without_a_file_is_read_by_the_plain_keys(text, facts):
    knowledge = current()
    values = read_facts(read(text), {}, knowledge).values
    assert {id: values.get(id) for id in facts} == facts


@pytest.mark.parametrize(("length", "layers"), [(512, "all_linear"), (1024, None)])
def test_what_a_trainer_ships_for_a_model_holds_where_its_settings_tell_it(length, layers):
    run = {
        "framework": "litgpt",
        "model": "gemma-7b",
        "full_or_lora": "lora",
        "precision": "bf16",
        "max_length": length,
    }
    facts = read_facts(read(""), run, current())
    assert facts.values.get("lora_layers") == layers
    assert layers is None or facts.stated["lora_layers"].why == "default of LitGPT"


# Peaks of two steps of litgpt 2685705 litgpt/finetune/lora.py over torch 2.6 with tensors that hold no data (FakeTensorMode), every
# allocation counted until it is freed, logits returned in fp32; a byte a value for a dropout mask, as on a GPU
@pytest.mark.parametrize(
    ("model", "rank", "rows", "layers", "gib"),
    [
        ("Meta-Llama-3-8B", 32, 1, "query_value", 18.31),
        ("TinyLlama-1.1B", 32, 8, "all_linear", 12.53),
        ("gemma-2b", 8, 2, "all_linear", 11.68),
        ("Phi-3-mini-4k-instruct", 8, 4, "all_linear", 18.46),
    ],
)
def test_litgpt_peaks_where_its_own_code_does(model, rank, rows, layers, gib):
    run = {"framework": "litgpt", "model": model, "full_or_lora": "lora", "lora_rank": rank, "lora_layers": layers}
    rest = {"precision": "bf16", "micro_batch": rows, "max_length": 512, "n_gpus": 1, "gpu_model": "A10G"}
    answer = diagnose("", run | rest, current(), ()).estimate
    assert answer.torch_allocated / 2**30 == pytest.approx(gib, rel=0.01)


@pytest.mark.parametrize(("advisory", "example"), examples("advisories"))
def test_an_advisory_holds_its_example(advisory, example):
    # alone, so that no other one takes its place
    knowledge = replace(current(), advisories={advisory.slug: advisory})
    diagnosis = diagnose(example.text, example.answers, knowledge, ())
    prescribed = any(advisory in given.advisories for given in diagnosis.prescriptions)
    outcome = "prescribed" if prescribed else "check" if diagnosis.checks else "nothing"
    assert outcome == example.gives


def _holds(example, answers):
    knowledge = current()
    values = read_facts(read(example.text), answers, knowledge).values
    assert {id: values.get(id) for id in example.facts} == dict(example.facts)
    assert [id for id in example.absent if id in values] == []
