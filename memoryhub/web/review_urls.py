"""The addresses of the review inbox and its decisions."""

from django.urls import path

from memoryhub.web.review import review
from memoryhub.web.review_decide import claim, decide, undo_decision
from memoryhub.web.review_flag import flag
from memoryhub.web.review_many import decide_many

urlpatterns = [
    path("review", review, name="review"),
    path("review/decide", decide_many, name="decide_many"),
    path("stores/<slug:store_id>/review", decide, name="decide"),
    path("stores/<slug:store_id>/review/claim", claim, name="claim"),
    path("stores/<slug:store_id>/review/<int:seq>/undo", undo_decision, name="undo_decision"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/flag", flag, name="flag"),
]
