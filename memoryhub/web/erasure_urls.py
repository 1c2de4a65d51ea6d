"""The addresses of redaction, erasure, receipts and scans."""

from django.urls import path

from memoryhub.web import erasure, erasure_receipts, erasure_redact, scans

urlpatterns = [
    path("stores/<str:store_id>/erase", erasure.erase, name="erase"),
    path(
        "stores/<str:store_id>/versions/<str:version_id>/redact", erasure_redact.redact_version, name="redact_version"
    ),
    path("stores/<str:store_id>/receipts", erasure_receipts.receipts, name="receipts"),
    path("stores/<str:store_id>/receipts/<str:receipt_id>", erasure_receipts.receipt, name="receipt"),
    path(
        "stores/<str:store_id>/receipts/<str:receipt_id>/download",
        erasure_receipts.download_receipt,
        name="download_receipt",
    ),
    path("stores/<str:store_id>/scans", scans.scans, name="scans"),
    path("stores/<str:store_id>/scans/<str:scan_id>", scans.scan, name="scan"),
    path("stores/<str:store_id>/scans/<str:scan_id>/cancel", scans.cancel_scan, name="cancel_scan"),
]
