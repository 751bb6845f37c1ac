"""From any text to its shapes. Knows no framework's name and no unit's meaning; takes secrets out before anything else."""

from diagnose.ingest.reading import read, read_stream, read_streams
from diagnose.ingest.redact import redact

__all__ = ["read", "read_stream", "read_streams", "redact"]
