"""URL patterns of tried calls and replayed sessions."""

from django.urls import path

from memoryhub.web.tried import call

urlpatterns = [
    path("stores/<slug:store_id>/try", call.page, name="try_call"),
]
