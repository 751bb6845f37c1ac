"""The WSGI application that gunicorn serves."""

import gc
import os
import sys

from django.core.wsgi import get_wsgi_application

from diagnose.knowledge import current

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A thread that comes back from the database asks for the interpreter, and one that diagnoses hands it over after this many seconds.
# With Python's own 0.005 a page of seven queries took a quarter longer beside a paste.
sys.setswitchinterval(0.0005)

application = get_wsgi_application()

from kb.search import names  # noqa: E402  (the apps are ready now)

# The knowledge and its names, some hundred thousand objects, stay for good: the garbage collector leaves them alone. Else it walks all of
# them once in a few hundred pages, and no thread of the process answers for a tenth of a second.
names.of(current())
gc.freeze()
