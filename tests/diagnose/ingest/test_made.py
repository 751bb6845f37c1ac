"""What a script makes by itself: the class of its optimizer, and where the state of that goes."""

from __future__ import annotations

import pytest

from diagnose.ingest import read


def values(text: str) -> dict[str, str]:
    return {setting.key: setting.value for setting in read(text).settings}


@pytest.mark.parametrize(
    "text",
    [
        "critic_optimizer = torch.optim.SGD(critic.parameters(), lr=1e-5)",
        "optimizer_config = OptimizerConfig(params=1)",
        "scheduler = CosineAnnealingLR(optimizer, params)",
        "class MyAdam(Optimizer):",
        "from torch.optim import AdamW",
        "# optimizer = SGD(model.parameters())",
        "optimizer = optimizer_class(model.parameters(), lr=1e-6)",
        "AdamOptimizer = DeepSpeedCPUAdam if args.offload else FusedAdam\noptimizer = AdamOptimizer(groups, lr=1e-6)",
        "if args.eight_bit:\n    optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=1e-6)",
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "model = Actor(params)",
        "ema = EMA(model.parameters(), decay=0.99)",
    ],
)
def test_what_is_no_optimizer_of_the_model_or_may_not_be_made_says_nothing(text: str) -> None:
    assert "optimizer_made_as" not in values(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)", "AdamW"),
        (
            "self.optimizer: Optimizer = bnb.optim.AdamW8bit(\n    self.model.parameters(),\n    lr=1e-6,\n)",
            "AdamW8bit",
        ),
        ("opt = CPUAdamW(model.parameters(), lr=1e-5, accum_steps=4,\n               weight_decay=0.01)", "CPUAdamW"),
        ("actor_optim = DeepSpeedCPUAdam(optim_params, lr=args.lr)", "DeepSpeedCPUAdam"),
        ("opt = Zeta([p for p in model.parameters() if p.requires_grad])", "Zeta"),
        ("engine = initialize(model, optimizer=torch.optim.SGD(groups, lr=1e-3))", "SGD"),
        ('if __name__ == "__main__":\n    optimizer = AdamW(model.parameters(), lr=1e-6)', "AdamW"),
    ],
)
def test_the_class_that_is_handed_the_parameters_is_the_optimizer(text: str, made: str) -> None:
    assert values(text)["optimizer_made_as"] == made


@pytest.mark.parametrize(
    ("given", "fused"), [("lr=1e-6, fused=True", "true"), ("lr=1e-6,\n    fused=True", "true"), ("lr=1e-6", None)]
)
def test_a_fused_kernel_is_told_where_it_is_made(given: str, fused: str | None) -> None:
    assert values(f"optimizer = AdamW(model.parameters(), {given})").get("optimizer_made_fused") == fused


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("model = FSDP(model, device_id=0)", "FSDP"),
        ("model = torch.nn.parallel.DistributedDataParallel(self.model, device_ids=[rank])", "DistributedDataParallel"),
        ("for layer in model.layers:\n    fully_shard(layer, mesh=mesh)", "fully_shard"),
        ("model = FSDP(\n    model,\n)", "FSDP"),
        ("if world_size > 1:\n    model = DDP(model)", None),
        ("critic = FSDP(critic_model)", None),
        ("class MyFSDP(nn.Module):", None),
        ("plugin = FSDPPlugin(sharding=1)", None),
    ],
)
def test_what_wraps_the_model_is_told(text: str, by: str | None) -> None:
    assert values(text).get("model_wrapped_by") == by


def test_a_policy_of_offload_is_told_by_its_class() -> None:
    assert values("fully_shard(model, offload_policy=CPUOffloadPolicy())")["model_offload_policy"] == "CPUOffloadPolicy"


LOOP = "for state in {of}.state.values():\n    for k, v in state.items():\n        {put}\n"


@pytest.mark.parametrize(
    ("of", "put", "told"),
    [
        ("optimizer", "state[k] = v.cpu()", "cpu"),
        ("self.optimizer", 'state[k] = v.to("cpu", non_blocking=True)', "cpu"),
        ("opt", "v.data = v.data.to(torch.device('cpu'))", "cpu"),
        ("optimizer", "state[k] = v.to(device)", None),
        ("optimizer", "saved.append(v.cpu())", None),
    ],
)
def test_a_loop_that_puts_the_state_on_the_host_is_a_setting(of: str, put: str, told: str | None) -> None:
    assert values(LOOP.format(of=of, put=put)).get("optimizer_state_moved_to") == told


def test_a_tensor_that_goes_to_the_host_elsewhere_is_no_state() -> None:
    assert "optimizer_state_moved_to" not in values("for batch in data:\n    batch[k] = v.cpu()\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("peft_config = LoraConfig()", True),
        ('trainer = Trainer(\n    peft_config=LoraConfig(\n        task_type="CAUSAL_LM",\n    ),\n)', True),
        ("peft_config = peft.LoraConfig(r=64)", False),
        ("peft_config = LoraConfig(**adapters)", False),
        ("peft_config = LoraConfig(...)", False),
    ],
)
def test_adapters_that_a_script_makes_are_told_and_whether_they_name_a_rank(text: str, left: bool) -> None:
    told = values(text)
    assert told["adapters_made_as"] == "LoraConfig"
    assert ("adapters_of_rank_left_to" in told) is left


@pytest.mark.parametrize(
    "text",
    [
        "from peft import LoraConfig",
        "# peft_config = LoraConfig()",
        "class LoraConfig(PeftConfig):",
        "peft_config = LoraConfig() if args.lora else None",
        "peft_config = None if args.full else LoraConfig()",
        "if args.lora:\n    peft_config = LoraConfig()",
    ],
)
def test_adapters_that_may_not_be_made_say_nothing(text: str) -> None:
    assert "adapters_made_as" not in values(text)
