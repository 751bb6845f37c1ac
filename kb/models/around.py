"""What stands around a page: comments, who watches it, what they are told, and files."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from kb.models.document import Document


class Comment(models.Model):
    """A remark below a page. A deleted one keeps its place and loses its words."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=150)
    text = models.TextField()
    html = models.TextField()
    made = models.DateTimeField(auto_now_add=True)
    edited = models.DateTimeField(null=True)
    deleted = models.BooleanField(default=False)

    class Meta:
        ordering = ["made", "pk"]

    def __str__(self) -> str:
        return f"{self.author_name} on {self.document_id}"


class Watch(models.Model):
    """Somebody wants to be told of changes of a page."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="watches")
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "document"], name="one_watch_per_page")]

    def __str__(self) -> str:
        return f"{self.user_id} watches {self.document_id}"


class Notice(models.Model):
    """One thing told to one person. The rows without ``mailed`` are the work list of the e-mail task.

    ``tries`` counts failed deliveries; ``why`` says what the last one failed of.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    words = models.CharField(max_length=300)
    made = models.DateTimeField(auto_now_add=True)
    read = models.DateTimeField(null=True)
    mailed = models.DateTimeField(null=True, db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    why = models.TextField(blank=True)

    class Meta:
        ordering = ["-made", "-pk"]

    def __str__(self) -> str:
        return self.words


class Attachment(models.Model):
    """A file of a page. Only raster images are ever shown in place; everything else is sent as a download."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=150)
    type = models.CharField(max_length=60)
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    file = models.FileField(upload_to="attachments/%Y/%m/")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["document", "name"], name="one_file_per_name")]

    def __str__(self) -> str:
        return self.name
