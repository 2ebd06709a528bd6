"""The manifests of deploy/kubernetes keep every rule, and each rule sees what breaks it."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kproxy.settings import load_settings
from tests.deploy.manifest_rules import problems_of
from tests.deploy.manifests import CONTAINER_NAME, documents_in, kproxy_pods

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
SIDECAR, STANDALONE = "sidecar.yaml", "standalone.yaml"

Documents = list[dict[str, Any]]
Change = Callable[[Documents], object]


def documents_of(file: str) -> Documents:
    return [copy.deepcopy(dict(each)) for each in documents_in((FOLDER / file).read_text(encoding="utf-8"))]


def one(documents: Documents, kind: str) -> dict[str, Any]:
    (found,) = (each for each in documents if each["kind"] == kind)
    return found


def pod_of(documents: Documents) -> dict[str, Any]:
    found: dict[str, Any] = one(documents, "Deployment")["spec"]["template"]["spec"]
    return found


def kproxy_of(documents: Documents) -> dict[str, Any]:
    pod = pod_of(documents)
    found: dict[str, Any]
    (found,) = (
        each
        for each in [*pod.get("initContainers", ()), *pod["containers"]]
        if each["name"] == CONTAINER_NAME
    )
    return found


def say(line: str) -> Change:
    """Add a line to the configuration file: what comes last would contradict, so it takes the place of its key."""

    def change(documents: Documents) -> None:
        data = one(documents, "ConfigMap")["data"]
        key = line.partition("=")[0]
        kept = [each for each in data["kproxy.properties"].splitlines() if not each.startswith(f"{key}=")]
        data["kproxy.properties"] = "\n".join([*kept, line])

    return change


def without(line: str) -> Change:
    def change(documents: Documents) -> None:
        data = one(documents, "ConfigMap")["data"]
        data["kproxy.properties"] = data["kproxy.properties"].replace(line, "")

    return change


def all_but(kind: str) -> Change:
    return lambda documents: documents.remove(one(documents, kind))


@pytest.mark.parametrize("file", [SIDECAR, STANDALONE])
def test_the_manifests_keep_every_rule(file: str) -> None:
    assert problems_of(documents_of(file)) == []


def test_the_fleet_of_sidecars_and_the_one_behind_a_service_are_both_there() -> None:
    # When
    pods = {file: next(kproxy_pods(documents_of(file))) for file in (SIDECAR, STANDALONE)}

    # Then
    assert {file: pod.is_sidecar for file, pod in pods.items()} == {SIDECAR: True, STANDALONE: False}
    assert all(pod.workload["spec"]["replicas"] > 1 for pod in pods.values())


@pytest.mark.parametrize("file", [SIDECAR, STANDALONE])
def test_the_namespace_lets_only_restricted_pods_in(file: str) -> None:
    assert one(documents_of(file), "Namespace")["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }


def test_an_application_bootstraps_where_its_sidecar_listens(tmp_path: Path) -> None:
    # Given
    (pod,) = kproxy_pods(documents_of(SIDECAR))

    # When
    (application,) = pod.spec["containers"]

    # Then
    settings = pod.settings(tmp_path).settings
    assert {"name": "KAFKA_BOOTSTRAP_SERVERS", "value": str(settings.listen)} in application["env"]
    assert settings.advertised_host == settings.listen.host


BROKEN: Final[list[tuple[str, Change, str]]] = [
    (SIDECAR, say("kproxy.listne=127.0.0.1:19092"), "did you mean kproxy.listen?"),
    (SIDECAR, say("bootstrap.servers="), "bootstrap.servers is not set"),
    (SIDECAR, say("kproxy.listen=0.0.0.0:19092"), "kproxy.advertised.host"),
    (SIDECAR, say("kproxy.listen=10.0.0.1:19092"), "where others than its pod reach it"),
    (SIDECAR, say("kproxy.admin.listener=127.0.0.1:9644"), "the kubelet cannot reach"),
    (SIDECAR, say("kproxy.admin.listener=0.0.0.0:9645"), "the admin port is 9645"),
    (SIDECAR, say("kproxy.fleet.listener=127.0.0.1:19099"), "the pods cannot reach each other"),
    (SIDECAR, say("kproxy.fleet.listener=0.0.0.0:0"), "any free port"),
    (SIDECAR, say("kproxy.fleet.secret.file=/etc/kproxy/secret"), "in no volume of a Secret"),
    (SIDECAR, without("kproxy.fleet.secret.file=/run/secrets/kproxy/fleet-secret"), "lets everybody in"),
    (SIDECAR, say("kproxy.shutdown.grace.ms=60000"), "a drain may take 65 s"),
    (SIDECAR, lambda all_: kproxy_of(all_).pop("restartPolicy"), "has to end before the application"),
    (
        SIDECAR,
        lambda all_: kproxy_of(all_)["env"].append({"name": "KPROXY_LOG_LEVLE", "value": "x"}),
        "KPROXY_LOG_LEVEL",
    ),
    (SIDECAR, lambda all_: kproxy_of(all_)["env"][0].update(value="10.0.0.9"), "not the pod's own address"),
    (SIDECAR, lambda all_: kproxy_of(all_)["env"].pop(1), "kproxy.admin.token.file is not set"),
    (
        SIDECAR,
        lambda all_: kproxy_of(all_)["livenessProbe"]["httpGet"].update(path="/readyz"),
        "livenessProbe asks /readyz",
    ),
    (
        SIDECAR,
        lambda all_: kproxy_of(all_)["startupProbe"].update(failureThreshold=5),
        "startupProbe gives 5 s",
    ),
    (SIDECAR, lambda all_: kproxy_of(all_).pop("readinessProbe"), "readinessProbe asks None"),
    (SIDECAR, lambda all_: kproxy_of(all_)["resources"].pop("limits"), "resources.limits.memory"),
    (SIDECAR, lambda all_: kproxy_of(all_).update(image="registry.example:5000/kproxy"), "has no version"),
    (SIDECAR, lambda all_: kproxy_of(all_)["securityContext"].pop("readOnlyRootFilesystem"), "not read-only"),
    (SIDECAR, lambda all_: kproxy_of(all_)["securityContext"].pop("capabilities"), "not all capabilities"),
    (SIDECAR, lambda all_: kproxy_of(all_)["securityContext"].pop("runAsUser"), "no user of its own"),
    (SIDECAR, lambda all_: kproxy_of(all_)["ports"].pop(), "is no port of the container"),
    (SIDECAR, lambda all_: pod_of(all_).pop("enableServiceLinks"), "enableServiceLinks is not false"),
    (SIDECAR, lambda all_: pod_of(all_)["securityContext"].pop("runAsNonRoot"), "runAsNonRoot is not true"),
    (SIDECAR, lambda all_: pod_of(all_)["securityContext"].pop("seccompProfile"), "seccompProfile"),
    (
        SIDECAR,
        lambda all_: pod_of(all_)["containers"][0].update(
            volumeMounts=[{"name": "kproxy-secret", "mountPath": "/s"}]
        ),
        "is mounted by kproxy, workers",
    ),
    (SIDECAR, all_but("NetworkPolicy"), "no NetworkPolicy selects it"),
    (SIDECAR, all_but("PodDisruptionBudget"), "no PodDisruptionBudget selects it"),
    (
        SIDECAR,
        lambda all_: one(all_, "NetworkPolicy")["spec"]["ingress"].pop(0),
        "lets anybody in at fleet (19099)",
    ),
    (
        SIDECAR,
        lambda all_: all_.append({"kind": "Secret", "metadata": {"name": "s"}}),
        "Secret/s holds a secret",
    ),
    (STANDALONE, say("kproxy.listen=0.0.0.0:19094"), "is no port of the container"),
    (STANDALONE, say("kproxy.advertised.host=broker1"), "none of the Services ['kproxy.kproxy.svc']"),
    (STANDALONE, lambda all_: one(all_, "Service")["spec"]["ports"].pop(), "lacks port 19103 (broker-3)"),
    (
        STANDALONE,
        lambda all_: one(all_, "Service")["spec"]["ports"][1].update(port=9192),
        "leads from port 9192 to another one",
    ),
    (STANDALONE, lambda all_: kproxy_of(all_).pop("lifecycle"), "nothing waits before the stop"),
    (
        STANDALONE,
        lambda all_: one(all_, "NetworkPolicy")["spec"]["egress"].pop(),
        "lets kproxy out to port 9092",
    ),
    (STANDALONE, all_but("Deployment"), "no pod has a container named kproxy"),
]


@pytest.mark.parametrize(("file", "change", "problem"), BROKEN, ids=[problem for _, _, problem in BROKEN])
def test_each_rule_sees_what_breaks_it(file: str, change: Change, problem: str) -> None:
    # Given
    documents = documents_of(file)
    change(documents)

    # When
    found = problems_of(documents)

    # Then
    assert any(problem in each for each in found), found


def test_what_kubernetes_sets_for_these_services_changes_no_setting() -> None:
    # Given: the variables of each Service, as a pod beside it has them where enableServiceLinks is left at its default
    links: dict[str, str] = {}
    for service in (each for each in documents_of(STANDALONE) if each["kind"] == "Service"):
        prefix = service["metadata"]["name"].upper().replace("-", "_")
        links |= {
            f"{prefix}_SERVICE_HOST": "10.0.0.1",
            f"{prefix}_SERVICE_PORT": "19092",
            f"{prefix}_PORT": "tcp://10.0.0.1:19092",
        }
        for port in service["spec"]["ports"]:
            links[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
            of_port = f"{prefix}_PORT_{port['port']}_TCP"
            links |= {
                of_port: f"tcp://10.0.0.1:{port['port']}",
                f"{of_port}_PROTO": "tcp",
                f"{of_port}_ADDR": "10.0.0.1",
            }
            links[f"{of_port}_PORT"] = str(port["port"])

    # When
    loaded = load_settings(environment=links)

    # Then
    assert "KPROXY_PORT" in links
    assert loaded.settings == load_settings(environment={}).settings
