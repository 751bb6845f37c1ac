#!/usr/bin/env python
"""Django's command line for Headroom."""

import os
import sys


def main() -> None:
    """Runs one management command; a bad environment variable is answered in one line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as misfit:
        sys.exit(str(misfit))


if __name__ == "__main__":
    main()
