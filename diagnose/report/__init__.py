"""A diagnosis as JSON for programs, as text for a terminal and as Markdown for an issue."""

from diagnose.report.batch import to_json
from diagnose.report.fit import fit_to_json
from diagnose.report.text import to_markdown, to_text

__all__ = ["fit_to_json", "to_json", "to_markdown", "to_text"]
