"""One row whose number changes with every change of a document; the database does it, at the end of each statement or row."""

from django.db import migrations, models

POSTGRES = """
CREATE FUNCTION kb_document_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO kb_edition (id, number) VALUES (1, (random() * 9e15)::bigint)
        ON CONFLICT (id) DO UPDATE SET number = excluded.number;
    RETURN NULL;
END $$;
CREATE TRIGGER kb_document_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON kb_document
    FOR EACH STATEMENT EXECUTE FUNCTION kb_document_changed();
"""
SQLITE = [
    f"CREATE TRIGGER kb_document_{event} AFTER {event} ON kb_document BEGIN "
    "INSERT OR REPLACE INTO kb_edition (id, number) VALUES (1, random()); END"
    for event in ("insert", "update", "delete")
]


def begin(apps, schema_editor):
    for statement in [POSTGRES] if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def end(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER kb_document_changed ON kb_document; DROP FUNCTION kb_document_changed()")
        return
    for event in ("insert", "update", "delete"):
        schema_editor.execute(f"DROP TRIGGER kb_document_{event}")


class Migration(migrations.Migration):
    dependencies = [("kb", "0005_full_text")]
    operations = [
        migrations.CreateModel(
            name="Edition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField()),
            ],
        ),
        migrations.RunPython(begin, end),
    ]
