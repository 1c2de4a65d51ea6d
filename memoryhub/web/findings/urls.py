"""URL patterns of findings, rules and scans."""

from django.urls import path

from memoryhub.web.findings import decide, findings, removal, reveal, rules, scans

urlpatterns = [
    path("stores/<slug:store_id>/scans", scans.scans, name="scans"),
    path("stores/<slug:store_id>/scans/<slug:scan_id>", scans.scan, name="scan"),
    path("stores/<slug:store_id>/scans/<slug:scan_id>/cancel", scans.cancel_scan, name="cancel_scan"),
    path("findings", findings.findings, name="findings"),
    path("findings/decide", decide.decide_all_findings, name="decide_all_findings"),
    path("stores/<slug:store_id>/findings", findings.store_findings, name="store_findings"),
    path("stores/<slug:store_id>/findings/decide", decide.decide_findings, name="decide_findings"),
    path("stores/<slug:store_id>/findings/<slug:finding_id>/line", removal.take_out, name="take_out"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/reveal", reveal.reveal, name="reveal"),
    path("stores/<slug:store_id>/findings/rules", rules.rules, name="rules"),
    path("settings/findings/rules", rules.hub_rules, name="hub_rules"),
]
