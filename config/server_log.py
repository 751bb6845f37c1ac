"""gunicorn's own lines, as of a web process that was killed, in the form of the site's."""

from __future__ import annotations

from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from config import env
from config.logs import JsonLines


class ServerLog(Logger):  # type: ignore[misc]
    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        if env.choice("LOG_FORMAT", "TEXT", ("TEXT", "JSON")) == "JSON":
            for handler in self.error_log.handlers:
                handler.setFormatter(JsonLines())
