"""Files of a page. What a browser could run is never shown in place: raster images are, everything else is a download."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from django.core.files.base import ContentFile
from django.db import transaction

from kb import audit
from kb.models import Attachment, Document

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.core.files.uploadedfile import UploadedFile

MB = 1000**2
LARGEST = 10 * MB
MOST = 30  # files of one page
DOWNLOAD = "application/octet-stream"

# What stands at the beginning of a file decides, never its name or what the browser says.
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_UNSAFE = re.compile(r"[^\w.\-+ ]|^[.\-]+", flags=re.UNICODE)


class Refused(Exception):
    """The file is not taken; the message says why and what to do."""


def clean_name(name: str) -> str:
    """A file's name without path, control letters and leading dots; never empty."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, ending = _UNSAFE.sub("", last).strip().rpartition(".")
    cleaned = f"{stem[:120]}{dot}{ending[:20]}" if stem else ending[:140]
    return cleaned or "file"


def type_of(start: bytes) -> str:
    """The type of an image that may be shown, or that of a download."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((type for magic, type in _IMAGES if start.startswith(magic)), DOWNLOAD)


def add(document: Document, upload: UploadedFile[bytes], user: User) -> Attachment:
    """Keeps a file under its name; one of the same name is replaced. Raises ``Refused``."""
    size = upload.size or 0
    if not size:
        raise Refused(f"“{clean_name(upload.name or '')}” is empty.")
    if size > LARGEST:
        raise Refused(
            f"“{clean_name(upload.name or '')}” has {size / MB:.1f} MB; at most {LARGEST // MB} MB are taken."
        )
    name, content = clean_name(upload.name or ""), upload.read()
    with transaction.atomic():
        Document.objects.select_for_update().get(pk=document.pk)
        if document.attachments.exclude(name=name).count() >= MOST:
            raise Refused(f"The page has {MOST} files: take one away first.")
        forget(document.attachments.filter(name=name).first())
        digest = hashlib.sha256(content).hexdigest()
        row = Attachment(document=document, name=name, type=type_of(content), size=size, digest=digest, by=user)
        row.file.save(digest[:24], ContentFile(content), save=False)  # on the disk no name that anybody chose
        row.save()
    return row


def forget(attachment: Attachment | None) -> None:
    """Deletes the row, and the file once the row is really gone."""
    if attachment is None:
        return
    storage, path = attachment.file.storage, str(attachment.file.name)
    attachment.delete()
    transaction.on_commit(lambda: storage.delete(path))


def remove(attachment: Attachment, user: User) -> None:
    """Takes a file away, with a line in the audit log."""
    with transaction.atomic():
        audit.note(user, "deleted", f"{attachment.document.kind}/{attachment.document.slug}: {attachment.name}"[:200])
        forget(attachment)
