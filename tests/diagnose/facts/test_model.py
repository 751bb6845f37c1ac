import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


@pytest.mark.parametrize(
    "text",
    [
        "memory is full on the 910B",
        "see plot-7b-run.png",
        "the 7B and the 14B behave alike",
        "Qwen2.5-0.5B/1.5B/3B all OOM",
        "bus 00000000:3B:00.0 Off",
    ],
)
def test_it_does_not_guess_a_size(values, text):
    assert "params_b" not in values(text)


@pytest.mark.parametrize(
    ("text", "name", "size"),
    [
        ("GRPO with Qwen2.5-7B-Instruct-1M", "Qwen2.5-7B-Instruct-1M", 7),
        ("拿 Qwen2.5VL-3B 训练", "Qwen2.5VL-3B", 3),
        ("Qwen3-30B-A3B on two nodes", "Qwen3-30B-A3B", 30),
        ("DPO of SomeLab-Chat-34B", "SomeLab-Chat-34B", 34),
        ("a 7B model", None, 7),
        ("模型 Qwen2.5_3b_vl_Instruct", "Qwen2.5-VL-3B", 3),
        ("Qwen-2.5VL-instruct-3B in bf16", "Qwen2.5-VL-3B", 3),
        ("千问2.5 7b 的 grpo", "Qwen2.5-7B", 7),
        ("PPO on Phi-4 (4bit)", "Phi-4", 14),
        ("GRPO on QwQ", "QwQ", 32),
        ("PPO with OLMo 150M models", "OLMo 150M", 0.15),
        ("verl GRPO, `SomeOrg/North-Mini-Code-1.0` (30B)", "North-Mini-Code-1.0", 30),
        ("用 train_ppo_llama_ray_70b.sh 跑", "llama-70B", 70),
        ("We train wan2.2 on NPUs", "wan2.2", None),
        ("Qwen2.5-7B fits on one card, Qwen2.5-14B gives CUDA OOM", "Qwen2.5-14B", 14),
        ("我想用 Qwen2.5-7B，后来换成 Qwen2.5-3B 还是爆显存", "Qwen2.5-3B", 3),
        ("Running Qwen3-8B instead of Qwen2.5-7B, CUDA OOM", "Qwen3-8B", 8),
        ("原来用 7B 没问题，换成 14B 就爆显存", None, 14),
        ("the job grpo-7b ran out of memory", None, 7),
        ("run my-ppo-exp-32b-v2 dies", None, 32),
        ("DPO of tulu-2-dpo-7b", "tulu-2-dpo-7b", 7),
    ],
)
def test_it_reads_a_model_in_words(values, text, name, size):
    found = values(text)
    assert (found.get("model"), found.get("params_b")) == (name, size)


def test_a_path_gives_its_last_part_that_names_a_model(values):
    found = values("swift rlhf --rlhf_type grpo --model /data/models/Qwen2.5-1.5B/checkpoint-20 --train_type full")
    assert (found["model"], found["params_b"]) == ("Qwen2.5-1.5B", 1.5)


def test_a_folder_that_begins_like_a_model_stands_for_it(facts):
    found = facts("swift rlhf --rlhf_type grpo --model /data/qwen25vl_3b_mix_sft/checkpoint-20 --train_type full")
    assert found.model is not None
    assert found.values["model"] == found.model.title == "Qwen2.5-VL-3B"


def test_an_unknown_model_keeps_its_name(facts):
    found = facts("DPO of SomeLab-Chat-34B")
    assert found.model is None
    assert found.unknown_model == "SomeLab-Chat-34B"


def test_a_pasted_config_defines_a_model(facts):
    text = (
        '{\n  "hidden_size": 2048,\n  "num_hidden_layers": 24,\n  "num_attention_heads": 16,\n  "num_key_value_heads": 8,\n'
        '  "intermediate_size": 8192,\n  "vocab_size": 32000,\n  "tie_word_embeddings": true\n}'
    )
    model = facts(text).model
    assert model is not None
    assert (model.hidden, model.layers, model.kv_heads, model.tied) == (2048, 24, 8, True)
    # 24 × (2048·128·(2·16 + 2·8) + 3·2048·8192) + 32000·2048, norms left out
    assert model.published == 24 * (2048 * 128 * 48 + 3 * 2048 * 8192) + 32000 * 2048


@pytest.mark.parametrize("text", ["8张3090跑7B的grpo，爆显存", "用verl跑7b grpo爆显存", "32B全参爆显存"])
def test_a_size_stands_between_chinese_words_without_blanks(values, text):
    assert values(text)["params_b"] in (7, 32)


def test_a_kind_of_model_and_the_size_of_a_folder_make_a_name(values):
    found = values("swift rlhf --rlhf_type grpo --model /ckpt/qwen_32B --model_type qwen2_5 --train_type lora")
    assert (found["model"], found["params_b"]) == ("Qwen2.5-32B", 32)


def test_a_kind_of_model_that_has_one_size_is_enough(values):
    found = values("swift rlhf --rlhf_type grpo --model /ckpt/base --model_type qwq --train_type lora")
    assert (found["model"].lower(), found["params_b"]) == ("qwq", 32)


@pytest.mark.parametrize(
    "text", ["trl grpo --model-name $MODEL --lora-rank 8", "trl grpo --model_name_or_path /nas/models/base"]
)
def test_a_path_that_names_no_model_is_none(values, text):
    assert "model" not in values(text)


def test_of_two_values_that_code_chooses_from_neither_is_said(facts):
    text = (
        'model = "Qwen/Qwen2.5-7B" if big else "Qwen/Qwen2.5-3B"\n'
        "args = GRPOConfig(per_device_train_batch_size=4 if big else 8, num_generations=8)\nCUDA OOM"
    )
    read = {id: fact.value for id, fact in facts(text).stated.items() if fact.certain}
    assert "model" not in read
    assert "micro_batch" not in read
    assert read["rollout_n"] == 8


TEACHER = "swift rlhf --rlhf_type gkd --model Qwen/Qwen2.5-7B --max_length 2048 --teacher_model "


@pytest.mark.parametrize(
    ("name", "billions"),
    [("internlm2-1_8b-reward", 1.8), ("Qwen2_5_7B_run", 7), ("llama-3_8b", 8), ("InternVL3_5-30B-A3B", 30)],
)
def test_an_underscore_behind_a_nought_or_a_one_is_the_point_of_a_size(name, billions, facts):
    assert facts(f"swift sft --model org/{name} --tuner_type lora --max_length 2048").values["params_b"] == billions


@pytest.mark.parametrize(
    ("name", "billions"),
    [("Qwen/Qwen2.5-14B-Instruct", 14.770033664), ("/models/own-40B/", 40), ("own/student", None)],
)
def test_a_teacher_has_the_size_of_its_own_name(name, billions, facts):
    assert facts(TEACHER + name).values.get("teacher_b") == billions


def test_a_teacher_may_be_the_model_itself_or_answer_from_elsewhere(facts):
    adapters = " --tuner_type lora"
    assert facts(TEACHER + "Qwen/Qwen2.5-7B" + adapters).values["has_ref"] is False
    assert facts(TEACHER + "Qwen/Qwen2.5-14B" + adapters).values["has_ref"] is True
    assert facts(TEACHER + "Qwen/Qwen2.5-7B --tuner_type full").values["has_ref"] is True
    server = TEACHER.replace("--teacher_model ", "--teacher_model_server http://a:8000 --gkd_logits_topk 64")
    assert facts(server).values["has_ref"] is False


@pytest.mark.parametrize(
    ("flags", "gib"),
    [
        ("--model Qwen/Qwen3-8B --teacher_model Qwen/Qwen3-32B --deepspeed zero2", 61.0),
        ("--model Qwen/Qwen3-8B --teacher_model Qwen/Qwen3-32B --deepspeed zero2 --teacher_deepspeed zero3", 61.0 / 8),
        ("--model Qwen/Qwen3-8B --teacher_model Qwen/Qwen3-8B --tuner_type lora", None),
        ("--model Qwen/Qwen3-8B --teacher_model_server http://a:8000", None),
    ],
)
def test_a_run_with_rewards_may_have_a_teacher_beside_its_reference(flags, gib):
    script = f"NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --tuner_type full {flags}\n8x A100 80GB"
    gpu = diagnose(script, {}, current(), ()).estimate.gpu
    held = [term for term in gpu.phase("actor_update").terms if term.id == "teacher_weights"]
    assert [term.bytes / 2**30 for term in held] == ([pytest.approx(gib, rel=0.01)] if gib else [])


def test_an_answered_size_of_the_teacher_outranks_its_name(facts):
    assert facts(TEACHER + "Qwen/Qwen2.5-14B", teacher_b=20).values["teacher_b"] == 20


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("${DIR}/models/Qwen2.5-3B-Instruct", "Qwen2.5-3B-Instruct"),
        ("$HOME/models/InternVL2_5-4B", "InternVL2_5-4B"),
        ("$MODEL", None),
        ("${DIR}/$MODEL", None),
        ("~/.cache/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/a09a35458c702b33", "Qwen2.5-7B-Instruct"),
    ],
)
def test_a_path_names_the_model_behind_a_folder_that_nothing_sets(values, value, name):
    command = f"python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path={value} trainer.nnodes=1"
    assert values(command).get("model") == name


def test_the_path_of_the_model_outranks_a_name_in_the_name_of_the_run(values):
    path, name = "actor_rollout_ref.model.path=${D}/Qwen2.5-Math-7B", "trainer.experiment_name=Qwen2.5-7b-MATH-0527"
    assert values(f"python3 -m verl.trainer.main_ppo {path} {name}")["model"] == "Qwen2.5-Math-7B"


ADAPTERS = "swift sft --tuner_type lora --dataset own.jsonl --model Qwen/"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Qwen2.5-7B-Instruct-AWQ", "int4"),
        ("Qwen2.5-VL-72B-Instruct-GPTQ-Int4", "int4"),
        ("Qwen2.5-7B-Instruct-GPTQ-Int8", "int8"),
        ("Qwen3-8B-unsloth-bnb-4bit", "nf4"),
        ("Qwen3-8B", None),
    ],
)
def test_a_name_tells_that_the_weights_under_adapters_come_quantized(name, kind, facts):
    assert facts(ADAPTERS + name).values.get("quantization") == kind


def test_weights_that_are_trained_whole_are_not_quantized(facts):
    assert "quantization" not in facts(f"{ADAPTERS}Qwen2.5-7B-Instruct-AWQ".replace("lora", "full")).values


def test_a_key_outranks_the_name_of_the_quantized_model(facts):
    text = f"{ADAPTERS}Qwen2.5-7B-Instruct-GPTQ-Int8 --quant_method bnb --quant_bits 4"
    assert facts(text).values["quantization"] == "nf4"


_CONFIGURED = "policy:\n  model_name: {model}\n  generation:\n    vllm_cfg:\n      {setting}\n"


@pytest.mark.parametrize(
    "setting",
    [
        "reasoning_parser: deepseek_r1",
        "parsers:\n        - deepseek-r1-reasoning\n        - qwen3-coder-tool",
        "reward_model_path: Qwen/Qwen2.5-72B-Instruct",
    ],
)
def test_what_reads_or_judges_answers_is_not_the_model(values, setting):
    assert "params_b" not in values(_CONFIGURED.format(model="/path/to/hf_checkpoint", setting=setting))
    named = values(_CONFIGURED.format(model="Qwen/Qwen3-8B", setting=setting))
    assert (named["model"], named["params_b"]) == ("Qwen3-8B", 8)


@pytest.mark.parametrize("said", ["", "DeepSeek-R1 671B, "])
@pytest.mark.parametrize(("folder", "bits"), [("DeepSeek-R1-bf16", None), ("DeepSeek-R1", "fp8")])
def test_a_checkpoint_that_was_turned_into_bf16_is_served_so(values, said, folder, bits):
    run = f"slime, {said}256 H800\npython3 train.py --hf-checkpoint /root/{folder} --rollout-num-gpus-per-engine 64 --colocate"
    assert values(run).get("engine_quantization") == bits


def test_a_machine_of_the_run_is_no_model(values):
    assert values("pod/verl-235b-worker-7 was killed, Qwen3-235B-A22B GRPO")["model"] == "Qwen3-235B-A22B"
    assert "model" not in values("kubectl describe pod grpo-32b-head-x7k2p")


def test_the_name_of_a_run_counts_as_a_folder(values):
    text = "grpo:\n  num_prompts_per_step: 64\ncheckpointing:\n  checkpoint_dir: results/{0}\nlogger:\n  log_dir: logs/{0}\n"
    assert values(text.format("grpo-llama3.1-8b-instruct-2n8g"))["params_b"] == 8
    assert "model" not in values(text.format("distillation-qwen3-32b-to-4b-base-2n8g"))
    assert "model" not in values(text.format("grpo-somelab-70b-2n8g"))


def test_the_model_that_a_script_is_named_after_gives_way_to_the_one_that_is_told(values):
    assert values("verl 的 run_qwen2-7b.sh，只改了模型成 Qwen2.5-14B-Instruct")["model"] == "Qwen2.5-14B-Instruct"


def test_a_script_of_a_persons_own_that_uses_peft_trains_adapters(values):
    run = "python sft.py --model_name_or_path Qwen/Qwen2.5-7B --use_peft --per_device_train_batch_size 1"
    assert values(run)["full_or_lora"] == "lora"
    assert values(f"{run} --load_in_4bit")["full_or_lora"] == "qlora"


def test_a_family_in_a_scripts_name_is_no_generation_of_it(values):
    found = values("OOM with examples/train_mm_thing_qwen_7b_single_node.sh")
    assert found["params_b"] == 7
    assert "multimodal" not in found


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("OOM with playground/orz_32b_ppo.py", 32),
        ("OOM, I run or1_scripts/train/7b_16k.sh", 7),
        ("OOM in orz_1p5b_ppo.py", 1.5),
        ("OOM in train_7b.sh, and train_14b.sh as well", None),
        ("OOM with a 3B model in train_7b.sh", 3),
        ("OOM in run_16k.sh", None),
    ],
)
def test_the_only_size_in_scripts_names_is_the_models(values, text, size):
    assert values(text).get("params_b") == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("openrlhf with a remote reward model 70B: OOM", None),
        ("PPO OOM with 7B policy and a 70B reward model", 7),
        ("verl，奖励模型 72B，策略 7B，OOM", 7),
        ("training a reward model 8B with openrlhf OOM", 8),
        ("训练 7B 的奖励模型 OOM", 7),
    ],
)
def test_the_size_of_a_model_beside_the_trained_one_is_not_its_size(values, text, size):
    assert values(text).get("params_b") == size


def test_a_recipe_in_a_folder_of_a_model_s_name_is_of_that_model(values):
    command = "accelerate launch --config_file zero3.yaml src/open_r1/grpo.py --config recipes/{}/grpo/config_demo.yaml"
    assert values(command.format("Qwen2.5-Math-7B"))["model"] == "Qwen2.5-Math-7B"
    assert "model" not in values(command.format("OpenR1-runs-7"))
