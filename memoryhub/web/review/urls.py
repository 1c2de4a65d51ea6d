"""URL patterns of the review inbox and its decisions."""

from django.urls import path

from memoryhub.web.review import assign, bulk, decide, decided, flag, inbox

urlpatterns = [
    path("review", inbox.review, name="review"),
    path("review/new", inbox.news, name="review_news"),
    path("review/decided", decided.page, name="decided"),
    path("review/decided/undo", decided.undo, name="undo_decisions"),
    path("review/decide", bulk.decide_many, name="decide_many"),
    path("stores/<slug:store_id>/review/decide", decide.decide, name="decide"),
    path("stores/<slug:store_id>/review/assign", assign.assign, name="assign"),
    path("stores/<slug:store_id>/review/claim", decide.claim, name="claim"),
    path("stores/<slug:store_id>/proposals/<int:number>/assign", assign.assign_proposal, name="assign_proposal"),
    path("stores/<slug:store_id>/proposals/<int:number>/claim", decide.claim_proposal, name="claim_proposal"),
    path("stores/<slug:store_id>/review/<int:seq>/undo", decide.undo_decision, name="undo_decision"),
    path("stores/<slug:store_id>/memories/<slug:memory_id>/flag", flag.flag, name="flag"),
]
