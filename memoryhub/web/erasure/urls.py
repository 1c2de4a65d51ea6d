"""URL patterns of redaction, erasure and receipts."""

from django.urls import path

from memoryhub.web.erasure import every_place, everywhere, letter, receipts, redact

urlpatterns = [
    path("erase", everywhere.erase_everywhere, name="erase_everywhere"),
    path("erase/letters/<slug:group>", letter.letter, name="erasure_letter"),
    path("stores/<str:store_id>/erase", every_place.every_place, name="erase"),
    path("stores/<str:store_id>/versions/<str:version_id>/redact", redact.redact_version, name="redact_version"),
    path("stores/<str:store_id>/receipts", receipts.receipts, name="receipts"),
    path("stores/<str:store_id>/receipts/<str:receipt_id>", receipts.receipt, name="receipt"),
    path(
        "stores/<str:store_id>/receipts/<str:receipt_id>/download", receipts.download_receipt, name="download_receipt"
    ),
]
