"""A datasette over ``documents.sqlite3`` in ``PEERS_STATE``, immutable as its documentation advises for what is only read.

``python datasette_app.py`` makes the file from ``documents.jsonl`` there; uvicorn serves ``datasette_app:app`` in as many processes
as asked.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

STATE = Path(os.environ["PEERS_STATE"])
MADE = STATE / "documents.sqlite3"


def fill() -> None:
    """One row a document, with the columns that the site narrows by and a full-text index over title and text."""
    with sqlite3.connect(MADE) as base, (STATE / "documents.jsonl").open() as lines:
        base.execute(
            "CREATE TABLE documents (slug TEXT PRIMARY KEY, title TEXT, summary TEXT, framework TEXT, text TEXT)"
        )
        rows = (
            (row["slug"], row["title"], row["summary"], row["framework"], row["text"]) for row in map(json.loads, lines)
        )
        base.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", rows)
        base.execute("CREATE VIRTUAL TABLE documents_fts USING fts5(title, text, content=[documents])")
        base.execute("INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")


if __name__ == "__main__":
    fill()
elif MADE.exists():
    from datasette.app import Datasette

    app = Datasette([], immutables=[str(MADE)]).app()
