"""URL patterns of webhooks."""

from django.urls import path

from memoryhub.web.webhooks import deliveries, manage, webhooks

urlpatterns = [
    path("stores/<slug:store_id>/webhooks", webhooks.of_store, name="store_webhooks"),
    path("settings/webhooks", webhooks.of_hub, name="webhooks"),
    path("stores/<slug:store_id>/webhooks/new", manage.new_of_store, name="new_store_webhook"),
    path("settings/webhooks/new", manage.new_of_hub, name="new_webhook"),
    path("webhooks/<slug:webhook_id>", webhooks.page, name="webhook"),
    path("webhooks/<slug:webhook_id>/edit", manage.edit, name="edit_webhook"),
    path("webhooks/<slug:webhook_id>/delete", manage.delete, name="delete_webhook"),
    path("webhooks/<slug:webhook_id>/pause", manage.pause, name="pause_webhook"),
    path("webhooks/<slug:webhook_id>/resume", manage.resume, name="resume_webhook"),
    path("webhooks/<slug:webhook_id>/rotate", manage.rotate, name="rotate_webhook"),
    path("webhooks/<slug:webhook_id>/reveal", manage.reveal, name="reveal_webhook"),
    path("webhooks/<slug:webhook_id>/test", deliveries.test, name="test_webhook"),
    path("webhooks/<slug:webhook_id>/replay", deliveries.replay_failed, name="replay_failed"),
    path("webhooks/<slug:webhook_id>/deliveries/<slug:delivery_id>", deliveries.delivery, name="delivery"),
    path("webhooks/<slug:webhook_id>/deliveries/<slug:delivery_id>/replay", deliveries.replay, name="replay_delivery"),
]
