from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("kb", "0003_histories_begin")]
    operations = [migrations.RemoveField("document", "published")]
