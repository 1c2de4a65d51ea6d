"""The manifests for Kubernetes: what they name exists, and the hub is as confined as in the rest of `deploy/`."""

import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.house.test_docs import all_environment_names

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
OBJECTS: list[dict[str, Any]] = [
    found for path in sorted(DEPLOY.glob("kubernetes/*.yaml")) for found in yaml.safe_load_all(path.read_text())
]
BY_NAME = {(one["kind"], one["metadata"]["name"]): one for one in OBJECTS}
HUB = BY_NAME["Deployment", "memoryhub"]["spec"]["template"]
CHECK = BY_NAME["CronJob", "memoryhub-check"]["spec"]["jobTemplate"]["spec"]["template"]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_every_pod_is_confined_and_runs_the_image_of_this_version() -> None:
    for pod in (HUB["spec"], CHECK["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
        assert not pod["automountServiceAccountToken"]
        (container,) = pod["containers"]
        assert container["image"].endswith(f"/memoryhub:{VERSION}")
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
        }  # fmt: skip
        assert {variable["name"] for variable in container["env"]} <= all_environment_names()
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted == {"data": "/var/lib/memoryhub", "backups": "/backups", "scratch": "/tmp"}
        assert {volume["name"] for volume in pod["volumes"]} == set(mounted)
        claims = [volume["persistentVolumeClaim"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
        assert all(("PersistentVolumeClaim", claim["claimName"]) in BY_NAME for claim in claims)


def test_what_the_manifests_name_fits_together() -> None:
    hub, service = HUB["spec"]["containers"][0], BY_NAME["Service", "memoryhub"]["spec"]
    deployment = BY_NAME["Deployment", "memoryhub"]["spec"]
    assert deployment["replicas"] == 1 and deployment["strategy"] == {"type": "Recreate"}
    assert service["selector"] == HUB["metadata"]["labels"] == deployment["selector"]["matchLabels"]
    near = CHECK["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert near[0]["labelSelector"]["matchLabels"] == HUB["metadata"]["labels"]
    assert hub["ports"] == [{"name": "http", "containerPort": 8000}]
    probes = [hub[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert probes == ["/livez", "/livez", "/readyz"]
    ingress = BY_NAME["Ingress", "memoryhub"]
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": "memoryhub", "port": {"name": service["ports"][0]["name"]}}
    values = ingress["metadata"]["annotations"].values()
    assert sorted(values) == ["256m", "330"], "as in nginx.conf"
    assert HUB["spec"]["hostname"], "else each new pod is another node, and doctor finds the last one silent"
