"""The full-text index over ``kb_entry.words``, kept by the database itself."""

from django.db import migrations

POSTGRES = """
ALTER TABLE kb_entry ADD COLUMN vector tsvector
    GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED;
CREATE INDEX kb_entry_vector ON kb_entry USING gin (vector);
-- With the usual 100 the planner takes a word that it does not know for a common one and reads the table from the end.
ALTER TABLE kb_entry ALTER COLUMN vector SET STATISTICS 1000;
"""
# External content: the table holds no text of its own, so it must be told the old words of a row that changes.
SQLITE = """
CREATE VIRTUAL TABLE kb_words USING fts5(
    words, content='kb_entry', content_rowid='id', detail=none, columnsize=0,
    tokenize="unicode61 remove_diacritics 0 tokenchars '._-/+:'"
);
CREATE TRIGGER kb_entry_added AFTER INSERT ON kb_entry BEGIN
    INSERT INTO kb_words(rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER kb_entry_removed AFTER DELETE ON kb_entry BEGIN
    INSERT INTO kb_words(kb_words, rowid, words) VALUES ('delete', old.id, old.words);
END;
CREATE TRIGGER kb_entry_changed AFTER UPDATE OF words ON kb_entry BEGIN
    INSERT INTO kb_words(kb_words, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO kb_words(rowid, words) VALUES (new.id, new.words);
END;
"""


def make_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES)
        return
    with schema_editor.connection.cursor() as cursor:
        for statement in _statements(SQLITE):
            cursor.execute(statement)


def drop_index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE kb_entry DROP COLUMN vector")
        return
    for name in ("added", "removed", "changed"):
        schema_editor.execute(f"DROP TRIGGER kb_entry_{name}")
    schema_editor.execute("DROP TABLE kb_words")


def _statements(script):
    """The statements of a script whose triggers hold semicolons of their own: each ends before a line that begins with CREATE."""
    return ["CREATE" + part for part in script.split("\nCREATE") if part.strip()]


class Migration(migrations.Migration):
    dependencies = [("kb", "0004_states_replace_published")]
    operations = [migrations.RunPython(make_index, drop_index)]
