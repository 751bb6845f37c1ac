"""The phase chart: what it says must be what its parts add up to."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from diagnose.units import from_gib
from tests import samples
from wizard.chart import bars, before_after, columns, drawing
from wizard.chart.data import shown, tenths


def gpu(**changes):
    return drawing(replace(samples.gpu_pool(), **changes), "actor_update", "one card")


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter("text")]


def test_it_draws_no_ceiling_where_the_capacity_is_unknown():
    svg = columns(gpu(capacity=None, limit=None))
    assert 'class="ceil"' not in svg
    assert "over" not in " ".join(words(svg))


def test_it_escapes_what_a_card_is_called():
    hostile = drawing(samples.gpu_pool(), "load", samples.HOSTILE)
    assert "<script" not in columns(hostile) + bars(hostile)


@pytest.mark.parametrize("draw", [columns, bars])
def test_it_needs_no_style_attribute_and_no_script(draw):
    assert not re.search(r"style=|<script|onload", draw(gpu()))


def test_the_total_is_the_sum_of_the_rounded_terms():
    for column in gpu().columns:
        assert column.total == sum(segment.size for segment in column.segments)


def test_rounding_happens_before_adding():
    terms = tuple(samples.term(f"part_{place}", "held", 1.04) for place in range(5))
    pool = replace(samples.gpu_pool(), phases=(samples.phase("load", *terms),))
    assert shown(drawing(pool, "load", "one card").columns[0].total) == "5.0"  # not 5.2


def test_terms_stack_in_the_same_order_in_every_phase():
    order = ["params", "grads", "optim", "gather", "act", "logits", "engine", "kv", "fixed"]
    for column in gpu().columns:
        roles = [segment.role for segment in column.segments]
        assert roles == sorted(roles, key=order.index)


def test_it_frames_and_names_the_phase_that_is_over():
    svg = columns(gpu())
    assert svg.count('class="burst"') == 1
    assert "over by 21.6" in words(svg)


def test_among_many_phases_each_says_in_short_how_far_it_is_over():
    pool = samples.gpu_pool()
    more = tuple(replace(samples.updating(logits), phase=id) for id, logits in (("values", 50.0), ("critic", 52.0)))
    told = words(columns(gpu(phases=(*pool.phases, *more))))
    assert [text for text in told if text.startswith(("+", "over by "))] == ["+21.6", "+12.2", "+14.6"]
    assert not [text for text in told if text.endswith(" free")]


def test_every_other_phase_says_what_is_free():
    free = [text for text in words(columns(gpu())) if text.endswith(" free")]
    assert len(free) == len(samples.gpu_pool().phases) - 1


def test_both_drawings_read_the_same_to_those_who_do_not_see_them():
    label = re.compile(r'aria-label="([^"]+)"')
    assert label.search(columns(gpu()))[1] == label.search(bars(gpu()))[1]
    assert "actor update 100.8, which is 21.6 over (" in label.search(bars(gpu()))[1]


def test_both_drawings_are_well_formed():
    ElementTree.fromstring(columns(gpu()))
    ElementTree.fromstring(bars(gpu()))


def test_what_was_seen_above_the_estimate_is_a_frame_of_its_own():
    seen = drawing(samples.host_pool(), "checkpoint", "the node", from_gib(726.33))
    assert 'class="ghost"' in columns(seen)
    assert "726.3" in words(columns(seen))


def test_what_was_seen_below_the_estimate_stretches_nothing():
    assert drawing(samples.host_pool(), "checkpoint", "the node", from_gib(100)).seen is None


def test_a_limit_below_the_capacity_is_dashed_and_counts():
    drawn = drawing(samples.host_pool(), "checkpoint", "the node")
    assert 'class="kill"' in columns(drawn)
    assert drawn.columns[0].free == tenths(from_gib(722)) - drawn.columns[0].total


def test_everything_stays_inside_the_picture():
    for svg in (columns(gpu()), columns(drawing(samples.host_pool(), "checkpoint", "x", from_gib(2000)))):
        heights = [float(rect.get("height", 0)) for rect in ElementTree.fromstring(svg).iter("rect")]
        tops = [float(rect.get("y", 0)) for rect in ElementTree.fromstring(svg).iter("rect")]
        assert min(tops) >= 0
        assert all(top + height <= 372.5 for top, height in zip(tops, heights, strict=True))


def test_a_bar_that_is_over_has_its_part_above_the_line_hatched():
    assert 'class="spill"' in before_after(1007, 792, 1200, after=False)
    assert 'class="spill"' not in before_after(669, 792, 1200, after=True)


def test_a_wide_band_leaves_the_ceiling_half_of_the_height():
    far = replace(samples.updating(58.0), terms=(samples.term("logits", "work", 100.0, 3.0),))
    svg = columns(drawing(replace(samples.gpu_pool(), phases=(far,)), "actor_update", "one card"))
    ceiling = float(re.search(r'class="ceil"[^>]*y1="([\d.]+)"', svg)[1])
    assert ceiling < 306 - 0.4 * (306 - 34)


def test_a_column_that_goes_beyond_the_axis_is_broken_and_keeps_its_figure():
    far = replace(samples.updating(58.0), terms=(samples.term("logits", "work", 900.0),))
    svg = columns(drawing(replace(samples.gpu_pool(), phases=(far,)), "actor_update", "one card"))
    assert svg.count('class="brk"') == 2
    assert "900.0" in words(svg)
