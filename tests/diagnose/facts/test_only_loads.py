"""A script that loads a model and does no more fails while it loads, and nothing of a training is advised then."""

import pytest

from tests.diagnose.facts.conftest import told

LOADS = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B-Instruct", torch_dtype=torch.float16)\n'
DIED = "Free Colab, T4. Your session crashed after using all available RAM.\n"


def test_code_that_loads_a_model_alone_fails_while_it_loads(facts):
    phase = facts(DIED + LOADS).stated["phase"]
    assert (phase.value, phase.origin) == ("load", "derived")


@pytest.mark.parametrize(
    "text",
    [
        DIED + LOADS + "trainer = SFTTrainer(model=model)\n",
        DIED + LOADS + "out = model.generate(**inputs)\n",
        DIED + LOADS + "model = get_peft_model(model, config)\n",
        DIED + "peft_config = LoraConfig(r=16, lora_dropout=0.1)\n" + LOADS,
        "It dies while fine-tuning. " + DIED + LOADS,
        DIED + 'tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B-Instruct")\n',
        LOADS,
    ],
)
def test_code_that_goes_on_tells_no_phase(values, text):
    assert "phase" not in values(text)


def test_what_is_for_rows_and_gradients_is_not_advised_while_a_model_loads():
    text = (
        "bnb = BitsAndBytesConfig(load_in_4bit=True)\n"
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-32B", quantization_config=bnb)\n'
        "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model. "
        "T4, Colab\n"
    )
    advised = {one.lever.slug for one in told(text).prescriptions}
    assert advised
    assert not advised & {"eval.batch.down", "quantize.calibration.down", "offload.grad.on", "dataloader.workers.down"}
