"""What the trainer's own model takes to generate, where no engine does: its cache, its gathered weights, the scores of what it sampled."""

from __future__ import annotations

from collections.abc import Callable

from diagnose.estimate.cache import cached_bytes_per_token
from diagnose.estimate.plan import Plan
from diagnose.estimate.residents import critic_in_one_pass
from diagnose.estimate.rows import real_row, row_limit
from diagnose.estimate.term import Band, count, make_term
from diagnose.estimate.tokens import take
from diagnose.types import Term

_CACHED_KEYS = "arXiv:2309.06180, section 3"
_ZERO = "ZeRO, arXiv:1910.02054, section 3"
_SCORES = "transformers v4.51.0 generation/utils.py: _sample, output_scores"
_FEWEST = 0.3  # of the longest answer


def dense_cache(plan: Plan) -> Term:
    """KV cache of a rollout by the trainer's own model: every row of the batch up to its limit."""
    prompt, response = row_limit(plan)
    prompt = prompt or round(real_row(plan, 1.0)[0].mid)
    rows, moved_by = _rows(plan)
    tokens = rows * (prompt + (response or 0))
    each = cached_bytes_per_token(plan.model, plan.whole("tp"))
    how = f"{rows:,.0f} rows × {prompt + (response or 0):,} tokens × {each:,} B"
    size = Band(_FEWEST * tokens * each, tokens * each, tokens * each)
    return make_term("kv_pool", "KV cache of generation", "work", size, how, _CACHED_KEYS, moved_by)


def gathered_weights(plan: Plan) -> Term:
    """The whole model in 16 bits at ZeRO stage 3, and the critic where both are one module."""
    whole = plan.split.whole
    if critic_in_one_pass(plan.values, plan.does):
        whole *= 1 + plan.critic_share
    how, moved_by = f"{count(whole)} × 2 B", ("rollout_engine", "has_critic")
    return make_term("gathered_weights", "weights gathered to generate", "work", 2 * whole, how, _ZERO, moved_by)


def sampled_scores(plan: Plan) -> Term:
    """The fp32 scores of every sampled token, over the whole vocabulary: kept from one generation to the end of the next.

    (trl v0.17.0 trl/trainer/utils.py: generate, batch_generation; ppo_trainer.py: logitss.)
    """
    return _scores(plan, "sampled_scores", "scores of the sampled tokens", 1)


def scores_on_the_way(plan: Plan) -> Term:
    """Beside those of the step before: the new ones token by token, and stacked."""
    return _scores(plan, "scores_on_the_way", "scores while they are sampled", 2)


def _scores(plan: Plan, id: str, title: str, copies: int) -> Term:
    response = row_limit(plan)[1] or 0
    rows, moved_by = _rows(plan)
    size = 4.0 * copies * rows * response * plan.model.vocab
    how = f"{4 * copies} B × {rows:,.0f} rows × {response:,} tokens × {plan.model.vocab:,}"
    return make_term(id, title, "work", Band(_FEWEST * size, size, size), how, _SCORES, moved_by)


def _rows(plan: Plan) -> tuple[float, tuple[str, ...]]:
    """Rows that generate at once without an engine, and the facts that they and their cache hang on."""
    kind, lengths = plan.does.get("rows_generated"), ("prompt_length", "response_length")
    if kind == "logprob_micro_batch":
        return take(plan, "logprob").rows, ("logprob_micro_batch", *lengths)
    # a loop of one's own samples the answers to a question at once, whatever it updates on
    if plan.framework.fallback and "micro_batch" not in plan.values and (group := plan.number("rollout_n")):
        return group, ("rollout_n", *lengths)
    rows = take(plan, "update").rows
    if kind == "accumulated":
        return rows * plan.whole("gradient_accumulation"), ("micro_batch", "gradient_accumulation", *lengths)
    return rows, ("micro_batch", *lengths)


OF_TRAINER: dict[str, Callable[[Plan], Term]] = {
    "gathered_weights": gathered_weights,
    "sampled_scores": sampled_scores,
    "scores_on_the_way": scores_on_the_way,
}
