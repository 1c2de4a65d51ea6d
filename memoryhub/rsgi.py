"""The application that granian loads in each worker process of `serve`: Django, its web server and the background
work."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memoryhub.serving.application import Application  # only now can the models be loaded

application = Application()
