"""Unpublished cases become drafts, and each text that stands becomes the first revision of its history."""

from django.db import migrations


def keep_what_stands(apps, schema_editor):
    document = apps.get_model("kb", "Document")
    revision = apps.get_model("kb", "Revision")
    document.objects.filter(published=False).update(state="draft")
    for row in document.objects.iterator():
        number = max(row.revision, 1)
        revision.objects.create(
            document=row,
            number=number,
            text=row.text,
            digest=row.digest,
            title=row.title,
            author_name="",
            why="as it stood when histories began",
        )
        document.objects.filter(pk=row.pk).update(revision=number)


class Migration(migrations.Migration):
    dependencies = [("kb", "0002_documents_and_people")]
    operations = [migrations.RunPython(keep_what_stands, migrations.RunPython.noop)]
