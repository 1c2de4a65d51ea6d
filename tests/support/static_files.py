"""Static files in the tests without a browser: pages link the joined files, as of a hub that is shipped."""

from django.conf import settings

from memoryhub.web.common.assets import JoinedStaticFilesStorage


class NotCollected(JoinedStaticFilesStorage):
    """Links files by their own names: nothing has been collected, and no file is read."""

    def url(self, name: str | None, force: bool = False) -> str:
        return f"{settings.STATIC_URL}{name}"
