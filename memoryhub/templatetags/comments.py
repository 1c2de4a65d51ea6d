"""Template tags of comments."""

from django import template

from memoryhub.actions.comments import notices
from memoryhub.models import Comment

register = template.Library()


@register.simple_tag
def named_by(comment: Comment) -> dict[str, list[tuple[str, bool]] | list[str]]:
    """Return the `people` whom a comment names, and the `words` after an `@` that name no one.

    `people` are pairs (name, whether the person can only read).
    """
    people = {user.pk: user for user in notices.readers_of(comment.store_id)}
    found = notices.mentions(comment.text, list(people.values()))
    named = dict.fromkeys(pk for _, ids in found for pk in sorted(ids) if pk != comment.by_id)
    only_read = notices.who_only_read(comment.store_id) if named else set()
    told = [(str(people[pk]), pk in only_read) for pk in named]
    return {"people": told, "words": [word for word, ids in found if word and not ids]}
