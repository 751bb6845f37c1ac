"""Memory under its ceiling, as SVG without scripts or style attributes: the phase chart and before → after bars."""

from wizard.chart.bars import bars
from wizard.chart.columns import columns
from wizard.chart.data import Drawing, drawing
from wizard.chart.small import before_after

__all__ = ["Drawing", "bars", "before_after", "columns", "drawing"]
