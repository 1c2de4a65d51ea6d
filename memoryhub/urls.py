"""The hub's addresses: liveness and readiness, the machines' door and the people's door."""

from django.urls import include, path

from memoryhub.operating.health import livez, readyz
from memoryhub.web.common.favicon import favicon

urlpatterns = [
    path("livez", livez, name="livez"),
    path("readyz", readyz, name="readyz"),
    path("healthz", readyz, name="healthz"),
    path("favicon.ico", favicon, name="favicon"),
    path("v1/", include("memoryhub.api.urls")),
    path("", include("memoryhub.web.urls")),
]

handler400 = "memoryhub.web.common.errors.bad_request"
handler403 = "memoryhub.web.common.errors.forbidden"
handler404 = "memoryhub.web.common.errors.not_found"
handler500 = "memoryhub.web.common.errors.failed"
