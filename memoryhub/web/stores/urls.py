"""URL patterns of memory stores, their members and limits."""

from django.urls import path

from memoryhub.web.stores import delete, limits, members, stores
from memoryhub.web.stores.members import keys

urlpatterns = [
    path("stores/<slug:store_id>/members", members.members, name="members"),
    path("stores/<slug:store_id>/members/<slug:user_id>/role", members.set_role, name="set_role"),
    path("stores/<slug:store_id>/members/<slug:user_id>/leaving", members.leaving, name="leaving"),
    path(
        "stores/<slug:store_id>/invitations/<slug:invitation_id>/withdraw",
        members.withdraw,
        name="withdraw_store_invitation",
    ),
    path("stores/<slug:store_id>/keys", keys.store_keys, name="store_keys"),
    path("stores", stores.listing, name="stores"),
    path("stores/new", stores.new, name="new_store"),
    path("stores/<slug:store_id>/settings", stores.edit, name="edit_store"),
    path("stores/<slug:store_id>/archive", stores.archive, name="archive_store"),
    path("stores/<slug:store_id>/delete", delete.delete, name="delete_store"),
    path("stores/<slug:store_id>/limits", limits.limits, name="limits"),
    path("settings/limits", limits.hub_limits, name="hub_limits"),
]
