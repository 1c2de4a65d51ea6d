"""URL patterns of redaction, erasure and receipts."""

from django.urls import path

from memoryhub.web.erasure import everywhere, letter, one_store, receipts, redact, whole

urlpatterns = [
    path("erase", everywhere.erase_everywhere, name="erase_everywhere"),
    path("erase/receipts", receipts.every_receipt, name="every_receipt"),
    path("erase/letters/<slug:group>", letter.letter, name="erasure_letter"),
    path("stores/<slug:store_id>/erase", one_store.page, name="erase"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/redact", redact.redact_version, name="redact_version"),
    path("stores/<slug:store_id>/remove", whole.remove, name="remove_memories"),
    path("stores/<slug:store_id>/receipts", receipts.receipts, name="receipts"),
    path("stores/<slug:store_id>/receipts/<slug:receipt_id>", receipts.receipt, name="receipt"),
    path(
        "stores/<slug:store_id>/receipts/<slug:receipt_id>/download", receipts.download_receipt, name="download_receipt"
    ),
]
