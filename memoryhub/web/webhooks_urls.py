"""The addresses of webhooks."""

from django.urls import path

from memoryhub.web import webhooks, webhooks_acts

_STORE = "stores/<slug:store_id>/webhooks"
_HUB = "settings/webhooks"
_WEBHOOK = "webhooks/<slug:webhook_id>"
_DELIVERY = _WEBHOOK + "/deliveries/<slug:delivery_id>"

urlpatterns = [
    path(_STORE, webhooks.of_store, name="store_webhooks"),
    path(_HUB, webhooks.of_hub, name="webhooks"),
    path(_STORE + "/new", webhooks_acts.new_of_store, name="new_store_webhook"),
    path(_HUB + "/new", webhooks_acts.new_of_hub, name="new_webhook"),
    path(_WEBHOOK, webhooks.page, name="webhook"),
    path(_WEBHOOK + "/edit", webhooks_acts.edit, name="edit_webhook"),
    path(_WEBHOOK + "/delete", webhooks_acts.delete, name="delete_webhook"),
    path(_WEBHOOK + "/pause", webhooks_acts.pause, name="pause_webhook"),
    path(_WEBHOOK + "/resume", webhooks_acts.resume, name="resume_webhook"),
    path(_WEBHOOK + "/rotate", webhooks_acts.rotate, name="rotate_webhook"),
    path(_WEBHOOK + "/reveal", webhooks_acts.reveal, name="reveal_webhook"),
    path(_WEBHOOK + "/test", webhooks_acts.test, name="test_webhook"),
    path(_WEBHOOK + "/replay", webhooks_acts.replay_failed, name="replay_failed"),
    path(_DELIVERY, webhooks.delivery, name="delivery"),
    path(_DELIVERY + "/replay", webhooks_acts.replay, name="replay_delivery"),
]
