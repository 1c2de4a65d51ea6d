"""URL patterns of webhooks."""

from django.urls import path

from memoryhub.web.webhooks import edit, webhooks

urlpatterns = [
    path("stores/<slug:store_id>/webhooks", webhooks.of_store, name="store_webhooks"),
    path("settings/webhooks", webhooks.of_hub, name="webhooks"),
    path("stores/<slug:store_id>/webhooks/new", edit.new_of_store, name="new_store_webhook"),
    path("settings/webhooks/new", edit.new_of_hub, name="new_webhook"),
    path("webhooks/<slug:webhook_id>", webhooks.page, name="webhook"),
    path("webhooks/<slug:webhook_id>/edit", edit.edit, name="edit_webhook"),
    path("webhooks/<slug:webhook_id>/delete", edit.delete, name="delete_webhook"),
    path("webhooks/<slug:webhook_id>/pause", edit.pause, name="pause_webhook"),
    path("webhooks/<slug:webhook_id>/resume", edit.resume, name="resume_webhook"),
    path("webhooks/<slug:webhook_id>/rotate", edit.rotate, name="rotate_webhook"),
    path("webhooks/<slug:webhook_id>/reveal", edit.reveal, name="reveal_webhook"),
    path("webhooks/<slug:webhook_id>/test", edit.test, name="test_webhook"),
    path("webhooks/<slug:webhook_id>/replay", edit.replay_failed, name="replay_failed"),
    path("webhooks/<slug:webhook_id>/deliveries/<slug:delivery_id>", webhooks.delivery, name="delivery"),
    path("webhooks/<slug:webhook_id>/deliveries/<slug:delivery_id>/replay", edit.replay, name="replay_delivery"),
]
