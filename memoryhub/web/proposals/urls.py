"""URL patterns of proposals."""

from django.urls import path

from memoryhub.web.proposals import elsewhere, listing, proposal, together

urlpatterns = [
    path("stores/<slug:store_id>/proposals", listing.page, name="proposals"),
    path("stores/<slug:store_id>/proposals/together", together.page, name="proposals_together"),
    path("stores/<slug:store_id>/proposals/<int:number>", proposal.page, name="proposal"),
    path("stores/<slug:store_id>/proposals/<int:number>/elsewhere", elsewhere.page, name="proposal_elsewhere"),
]
