"""What granian loads in each worker process of `serve`: Django, the web server around it, and the background work."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memoryhub.serving.application import Application  # only now can the models be loaded

application = Application()
