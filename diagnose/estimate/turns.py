"""What bounds a row that holds a conversation: the answers of several turns, and what tools or an environment say between them.

Where a trainer's limit of a response bounds the whole of it nothing is to be done (verl-project/verl@1dda039b9
verl/experimental/agent_loop/tool_agent_loop.py: response_ids[: response_length]); the others are told by a record's ``dynamic_length``.
"""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.estimate.plan import Plan

Limits = tuple[int, int]  # of prompt and of all that follows it, in tokens


def of_turns(plan: Plan, prompt: int, response: int) -> Limits | None:
    """Limits of a row by the trainer's own rule for conversations, from those of a prompt and of one answer; None where it has none."""
    rule = _RULES.get(str(plan.does.get("dynamic_length")))
    return rule(plan, prompt, response) if rule else None


def _turns(plan: Plan) -> int:
    return whole(plan.values, "max_turns") or 1


def _seen(plan: Plan) -> int:
    """Tokens that one turn brings in, as far as a limit tells them."""
    return whole(plan.values, "observation_length") or 0


def _start_and_prompt(plan: Plan, prompt: int, response: int) -> Limits | None:
    """The first ``start_length`` tokens of the prompt, and of what follows as many as a prompt may measure: no more than is said in all
    turns and an answer without a search behind them (PeterGriffinJin/Search-R1@a14dc3a search_r1/llm_agent/generation.py: run_llm_loop,
    _update_right_side)."""
    start, turns, seen = whole(plan.values, "start_length"), whole(plan.values, "max_turns"), _seen(plan)
    if not start:
        return None
    said = turns * (response + seen) + response if turns and seen and response else prompt
    return start, min(prompt, said)


def _each_turn(plan: Plan, prompt: int, response: int) -> Limits | None:
    """Every answer and every tool's, one behind the other and never cut (Simple-Efficient/RL-Factory@d0abc1d envs/utils/tool_utils.py:
    compose_final_output); the last answer is followed by none."""
    turns = _turns(plan)
    return (prompt, turns * response + (turns - 1) * _seen(plan)) if response else None


def _input_and_response(plan: Plan, prompt: int, response: int) -> Limits | None:
    """A turn begins while the conversation is no longer than its input may be, and adds one answer (NovaSky-AI/SkyRL@a9564572e
    skyrl/train/generators/skyrl_gym_generator.py: agent_loop)."""
    most = whole(plan.values, "turn_input_length") or prompt
    return (prompt, max(0, most - prompt) + response) if response else None


def _model_length(plan: Plan, prompt: int, response: int) -> Limits | None:
    """All that the engine may see (RAGEN-AI/RAGEN@5eb79b8 ragen/llm_agent/ctx_manager.py: get_lm_inputs; config/base.yaml)."""
    most = whole(plan.values, "max_model_len")
    return (0, most) if most else None


_RULES = {
    "start_and_prompt": _start_and_prompt,
    "each_turn": _each_turn,
    "input_and_response": _input_and_response,
    "model_length": _model_length,
}
