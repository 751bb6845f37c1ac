"""A base with many cases, for the benchmarks of the service: ``python benchmarks/many.py 100000`` fills the base of ``DATABASE_URL``.

Each case is of the size of one that ships (about 4 kB), with facts drawn from the catalogue, settings, a fix and a body whose words
come as often as words do (the n-th most frequent 1/n as often). The same numbers give the same cases on every machine.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django  # noqa: E402

django.setup()

from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from diagnose.knowledge import Knowledge, current  # noqa: E402
from diagnose.knowledge.loader import parse  # noqa: E402
from diagnose.vocabulary import KINDS, PHASES  # noqa: E402
from kb import documents, markdown  # noqa: E402
from kb.documents import Prepared  # noqa: E402
from kb.models import Document, Entry, Revision  # noqa: E402
from kb.search.tokens import document_tokens  # noqa: E402

AT_ONCE = 1000
LEXICON = [
    f"{a}{b}{c}" for a in ("mem", "tok", "ro", "gra", "shar") for b in ("ka", "lu", "ti", "po") for c in range(500)
]
OFTEN = list(accumulate(1 / n for n in range(1, len(LEXICON) + 1)))
TEXT = """+++
title = "{title}"
reviewed = 2026-11-01
sources = ["https://github.com/example/project/issues/{number}"]
summary = "{summary}"
date = 20{year}-{month:02}-11
solved = {solved}

[facts]
framework = "{framework}"
oom_kind = "{kind}"
phase = "{phase}"
model = "{model}"
gpu_model = "{gpu}"
gpu_mem_gib = {memory}
n_gpus = {gpus}
host_ram_gb = {ram}
tried_alloc_gib = {tried}

[config]
"data.train_batch_size" = {batch}
"rollout.n" = {rollouts}
"rollout.gpu_memory_utilization" = 0.{share}

[[fix]]
lever = "{lever}"
detail = "{detail}"
by = "reporter"
worked = {worked}

[[claim]]
text = "The card was full."
verdict = "confirmed"
ground = "The log says so."
source = "https://github.com/example/project/issues/{number}"
+++
## Symptom

{body}
"""


def text(number: int, knowledge: Knowledge) -> str:
    """The text of the case with this number."""
    draw = random.Random(number)

    def words(count: int) -> str:
        return " ".join(draw.choices(LEXICON, cum_weights=OFTEN, k=count))

    gpu = draw.choice([("A100", 80), ("A100", 40), ("H100", 80), ("H800", 80), ("RTX 4090", 24), ("L40S", 48)])
    return TEXT.format(
        number=number,
        title=f"{words(6)} {number}",
        summary=words(14),
        year=draw.choice((24, 25, 26)),
        month=draw.randint(1, 9),
        solved=draw.choice(("true", "false")),
        framework=draw.choice(sorted(knowledge.frameworks)),
        kind=draw.choices(list(KINDS), weights=range(len(KINDS), 0, -1))[0],
        phase=draw.choice(list(PHASES)),
        model=draw.choice(["Qwen2.5-7B", "Qwen2.5-32B", "Llama-3.1-8B", "Qwen3-4B", "Qwen2.5-VL-7B", "gemma-2-9b"]),
        gpu=gpu[0],
        memory=gpu[1],
        gpus=draw.choice((1, 2, 4, 8, 8, 8, 16)),
        ram=draw.choice((256, 512, 760, 1024, 2048)),
        tried=round(draw.uniform(0.1, 30), 2),
        batch=draw.choice((32, 64, 128, 256, 512)),
        rollouts=draw.choice((4, 5, 8, 16)),
        share=draw.choice((4, 5, 6, 7, 8, 9)),
        lever=draw.choice(sorted(knowledge.levers)),
        detail=words(10),
        worked=draw.choice(("true", "false")),
        body="\n\n".join(words(60) + "." for _ in range(4)),
    )


def made(number: int, knowledge: Knowledge) -> tuple[Document, Prepared]:
    """A case with everything that follows from its text; the rendering alone is of plain paragraphs, which is quick."""
    written, slug = text(number, knowledge), f"made-{number}"
    record, problems = parse("cases", slug, written)
    assert record, problems
    html = "".join(f"<p>{part}</p>" for part in record.body.split("\n\n"))
    prepared = Prepared(written, documents.digest(written), record.title, getattr(record, "summary", ""), html, record)
    document = Document(kind="cases", slug=slug, revision=1, renderer=markdown.RENDERER)
    documents.fill(document, prepared, knowledge)
    return document, prepared


def fill(count: int, first: int = 0) -> Iterator[int]:
    """Writes ``count`` cases with a revision and a place in the index each; tells how many stand."""
    knowledge = current()
    for start in range(first, first + count, AT_ONCE):
        rows = [made(number, knowledge)[0] for number in range(start, min(start + AT_ONCE, first + count))]
        with transaction.atomic():
            Document.objects.bulk_create(rows)
            Revision.objects.bulk_create(
                Revision(
                    document=row,
                    number=1,
                    base=0,
                    text=row.text,
                    digest=row.digest,
                    title=row.title,
                    made=timezone.now(),
                )
                for row in rows
            )
            Entry.objects.bulk_create(
                Entry(
                    document=row,
                    kind=row.kind,
                    slug=row.slug,
                    title=row.title,
                    summary=row.summary,
                    words=document_tokens(f"{row.title} {row.slug}", f"{row.summary}\n{row.text}"),
                    digest=row.digest,
                )
                for row in rows
            )
        yield start + len(rows) - first


if __name__ == "__main__":
    for stand in fill(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1000, Document.objects.filter(slug__startswith="made-").count()
    ):
        print(f"\r{stand} cases", end="", flush=True)
    print()
    # Queries are planned for what stands there, and answered from an index alone where it holds all that they ask for: a server does
    # so by itself some minutes after, unless it is told not to.
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
