"""Indexes for very many cases: one that holds what near ones are chosen by, and one in the order of lists.

The second is PostgreSQL's alone: SQLite takes no ``NULLS LAST`` in an index.
"""

from django.db import migrations, models


NEWEST = "CREATE INDEX kb_document_newest ON kb_document (kind, state, happened DESC NULLS LAST, slug)"


def order(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(NEWEST)


def forget(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX kb_document_newest")


class Migration(migrations.Migration):
    dependencies = [("kb", "0007_refresh_runs")]
    operations = [
        migrations.AddIndex(
            "document",
            models.Index(
                fields=["kind", "state", "oom_kind", "framework", "phase", "gpu_model", "model_size", "id"], name="near_cases"
            ),
        ),
        migrations.RunPython(order, forget),
    ]
