"""The WSGI application; under `serve` its process also does the background work."""

import os
import threading

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

application = get_wsgi_application()

if os.environ.get("MEMORYHUB_SERVING"):
    from memoryhub import tasks  # only now are the models loaded

    tasks.start(threading.Event())
