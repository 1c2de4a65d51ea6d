"""The addresses of the findings and of the rules for sensitive text."""

from django.urls import path

from memoryhub.web.findings import findings, store_findings
from memoryhub.web.findings_decide import decide_all_findings, decide_findings
from memoryhub.web.findings_reveal import reveal
from memoryhub.web.rules import hub_rules, rules

urlpatterns = [
    path("findings", findings, name="findings"),
    path("findings/decide", decide_all_findings, name="decide_all_findings"),
    path("stores/<slug:store_id>/findings", store_findings, name="store_findings"),
    path("stores/<slug:store_id>/findings/decide", decide_findings, name="decide_findings"),
    path("stores/<slug:store_id>/versions/<slug:version_id>/reveal", reveal, name="reveal"),
    path("stores/<slug:store_id>/rules", rules, name="rules"),
    path("settings/rules", hub_rules, name="hub_rules"),
]
