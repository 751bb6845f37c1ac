"""One pass that serves several phases: which of them it was, by the function further out and the line at which that stands."""

import pytest

TRL, SWIFT = "trl/trainer/grpo_trainer.py", "swift/trainers/rlhf_trainer/grpo_trainer.py"


def failed(path, *frames):
    rows = "".join(
        f'  File "/env/site-packages/{path}", line {at}, in {function}\n    {code}\n'
        for at, (function, code) in enumerate(frames, 400)
    )
    return f"Traceback (most recent call last):\n{rows}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


PASS = ("_get_per_token_logps", "logits = model(input_ids=input_ids).logits")
BOTH = ("_get_per_token_logps_and_entropies", "logps = selective_log_softmax(logits, completion_ids)")


@pytest.mark.parametrize(
    ("path", "outer", "line", "inner", "phase"),
    [
        (TRL, "compute_loss", "per_token_logps = self._get_per_token_logps(model, input_ids)", PASS, "actor_update"),
        (
            TRL,
            "_compute_loss",
            "per_token_logps, e, a = self._get_per_token_logps_and_entropies(",
            BOTH,
            "actor_update",
        ),
        (TRL, "_generate_and_score_completions", "old_per_token_logps = self._get_per_token_logps(", PASS, "logprob"),
        (
            TRL,
            "_generate_and_score_completions",
            "ref_per_token_logps = self._get_per_token_logps(",
            PASS,
            "ref_logprob",
        ),
        (
            TRL,
            "_generate_and_score_completions",
            "ref_per_token_logps, _ = self._get_per_token_logps_and_entropies(",
            BOTH,
            "ref_logprob",
        ),
        (TRL, "_prepare_inputs", "ref_per_token_logps = self._get_per_token_logps(", PASS, "ref_logprob"),
        (
            SWIFT,
            "_prepare_batch_inputs",
            "ref_per_token_logps = self._get_per_token_logps(self.ref_model, inputs)",
            PASS,
            "ref_logprob",
        ),
        (
            SWIFT,
            "_prepare_batch_inputs",
            "self._get_per_token_logps_and_entropies(self.ref_model, inputs)[0]",
            BOTH,
            "ref_logprob",
        ),
    ],
)
def test_the_line_further_out_tells_whose_pass_it_was(values, path, outer, line, inner, phase):
    assert values(failed(path, (outer, line), inner))["phase"] == phase


def test_the_pass_alone_tells_no_phase(values):
    assert "phase" not in values(failed(TRL, PASS))
