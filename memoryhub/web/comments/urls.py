"""URL patterns of comments."""

from django.urls import path

from memoryhub.web.comments import conversation, writing

urlpatterns = [
    path("stores/<slug:store_id>/memories/<slug:memory_id>/comments", writing.begin, name="comments"),
    path("stores/<slug:store_id>/comments/<slug:comment_id>", conversation.page, name="comment"),
    path("stores/<slug:store_id>/comments/<slug:comment_id>/answer", writing.answer, name="answer_comment"),
    path("stores/<slug:store_id>/comments/<slug:comment_id>/put-away", writing.put_away, name="put_away_comment"),
]
