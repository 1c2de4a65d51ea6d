"""The application that granian loads in each worker process of `serve`: Django, its web server and the background
work."""

import gc
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
django.setup()

from memoryhub.serving.application import Application  # only now can the models be loaded

application = Application()
gc.freeze()  # what is loaded stays: to look through it for garbage would stop every request for some tenths of a second
