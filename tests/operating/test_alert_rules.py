"""The alert rules in the documentation name metrics, labels and values that the hub has."""

import re
from typing import Any

import pytest
import yaml
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from memoryhub.actions import figures
from memoryhub.actions.core.hub import background
from memoryhub.actions.core.hub.background import Outcome
from memoryhub.models import HubSettings, MemoryStore
from tests.operating.test_metrics import load
from tests.support.write_guard import arranging

pytestmark = pytest.mark.django_db
BLOCK = re.compile(r"```yaml\n(groups:.*?)```", re.DOTALL)


def rules() -> list[dict[str, Any]]:
    (block,) = BLOCK.findall((django_settings.BASE_DIR / "docs/metrics.md").read_text())
    (group,) = yaml.safe_load(block)["groups"]
    return list(group["rules"])


@pytest.mark.both_databases
def test_each_metric_and_label_of_the_alert_rules_is_on_the_page_of_metrics(
    store: MemoryStore, key: str, settings: Any
) -> None:
    settings.MEMORYHUB_SENDS_MAIL = True
    load(store, key, 1)
    figures.catch_up()
    background.note(Outcome("figures", timezone.now()), "here")
    row = HubSettings.current()
    row.backup_last = {"at": timezone.now().isoformat()}
    with arranging():
        row.save()
    there: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(Client().get("/metrics").content.decode()):
        for sample in family.samples:
            values = there.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                values.setdefault(label, set()).add(value)
    assert len(rules()) >= 10 and len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["annotations"]["summary"] and set(rule) <= {"alert", "expr", "for", "annotations"}
        named = re.findall(r"\b(memoryhub_\w+)(?:\{([^}]*)\})?", rule["expr"])
        assert named or rule["expr"].startswith("up{"), rule
        for name, chosen in named:
            assert name in there, name
            for label, sign, value in re.findall(r'(\w+)(=|!~)"([^"]*)"', chosen):
                assert label in there[name], (name, label)
                assert sign == "!~" or value in there[name][label], (name, value)
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            assert label in there[re.findall(r"memoryhub_\w+", rule["expr"])[0]]
