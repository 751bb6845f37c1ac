"""A second number, which changes with every change of what stands around documents."""

from django.db import migrations

TABLES = ("kb_comment", "kb_attachment", "kb_caseestimate")
FUNCTION = """
CREATE FUNCTION kb_around_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO kb_edition (id, number) VALUES (2, (random() * 9e15)::bigint)
        ON CONFLICT (id) DO UPDATE SET number = excluded.number;
    RETURN NULL;
END $$;
"""


def begin(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    if postgres:
        schema_editor.execute(FUNCTION)
    for table in TABLES:
        if postgres:
            schema_editor.execute(
                f"CREATE TRIGGER kb_around_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION kb_around_changed()"
            )
            continue
        for event in ("insert", "update", "delete"):
            schema_editor.execute(
                # Two statements: in a trigger the conflict rule of the statement that fired it holds, and an upsert's would raise.
                f"CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN "
                "DELETE FROM kb_edition WHERE id = 2; INSERT INTO kb_edition (id, number) VALUES (2, random()); END"
            )


def end(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION kb_around_changed() CASCADE")
        return
    for table in TABLES:
        for event in ("insert", "update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_{event}")


class Migration(migrations.Migration):
    dependencies = [("kb", "0009_events_of_a_thing")]
    operations = [migrations.RunPython(begin, end)]
