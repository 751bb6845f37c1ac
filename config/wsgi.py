"""The WSGI application that gunicorn serves."""

import os
import sys

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A thread that comes back from the database asks for the interpreter, and one that diagnoses hands it over after this many seconds.
# With Python's own 0.005 a page of seven queries took a quarter longer beside a paste.
sys.setswitchinterval(0.0005)

application = get_wsgi_application()
