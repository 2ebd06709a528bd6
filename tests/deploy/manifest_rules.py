"""What manifests that deploy kproxy have to keep, and no schema can say.

Each rule looks at one pod that runs kproxy, and yields a sentence for each thing that is wrong. For files:
`python -m tests.deploy.manifest_rules FILE…`.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kproxy.errors import SettingsError
from kproxy.settings import HostPort, Settings
from tests.deploy.manifests import (
    CONTAINER_NAME,
    POD_ADDRESS,
    Document,
    KproxyPod,
    documents_in,
    kproxy_pods,
    selects,
)

PROBES: Final = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
"""What each probe asks. What restarts kproxy must not depend on the cluster, nor on the other processes."""
LEAST_START_SECONDS: Final = 60
"""Given for the start: a process on a machine with work to do takes a while to import its modules."""
SPARE_SECONDS: Final = 5
"""Between the end of a drain and the kill."""
WAITING_COMMAND: Final = "sleep"

Rule = Callable[[KproxyPod, Settings], Iterator[str]]


def problems_of(documents: Sequence[Document]) -> list[str]:
    """Return a sentence for each rule that is broken; at least one pod has to run kproxy."""
    pods = list(kproxy_pods(documents))
    if not pods:
        return [f"no pod has a container named {CONTAINER_NAME}"]
    found = [problem for document in documents for problem in _secrets_in(document)]
    for pod in pods:
        found += [f"{pod.name}: {problem}" for problem in _problems_of_pod(pod)]
    return found


def _problems_of_pod(pod: KproxyPod) -> Iterator[str]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = pod.settings(Path(folder)).settings
    except SettingsError as error:
        yield f"kproxy would not start: {error}"
        return
    for rule in RULES:
        yield from rule(pod, settings)


def _secrets_in(document: Document) -> Iterator[str]:
    if document["kind"] == "Secret":
        yield f"Secret/{document['metadata']['name']} holds a secret for everybody who reads the manifest"


# ------------------------------------------------ the pod


def _links_and_tokens(pod: KproxyPod, _settings: Settings) -> Iterator[str]:
    for field in ("enableServiceLinks", "automountServiceAccountToken"):
        if pod.spec.get(field) is not False:
            yield f"{field} is not false"


def _restricted(pod: KproxyPod, _settings: Settings) -> Iterator[str]:
    of_pod = pod.spec.get("securityContext", {})
    if of_pod.get("runAsNonRoot") is not True:
        yield "runAsNonRoot is not true for the whole pod"
    if of_pod.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "seccompProfile is not RuntimeDefault"
    for container in pod.containers:
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"container {container['name']}: allowPrivilegeEscalation is not false"
        if own.get("capabilities") != {"drop": ["ALL"]}:
            yield f"container {container['name']}: not all capabilities are dropped"
    if pod.container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
        yield "kproxy's root file system is not read-only"
    user = pod.container.get("securityContext", {}).get("runAsUser", of_pod.get("runAsUser"))
    if not user:
        yield "kproxy has no user of its own (runAsUser)"


def _resources(pod: KproxyPod, _settings: Settings) -> Iterator[str]:
    resources = pod.container.get("resources", {})
    for kind, name in (("requests", "cpu"), ("requests", "memory"), ("limits", "memory")):
        if name not in resources.get(kind, {}):
            yield f"kproxy has no resources.{kind}.{name}"


def _images(pod: KproxyPod, _settings: Settings) -> Iterator[str]:
    for container in pod.containers:
        image = container["image"]
        _, separator, tag = image.rpartition("/")[2].partition(":")
        if "@sha256:" not in image and (not separator or tag == "latest"):
            yield f"container {container['name']}: image {image} has no version"


def _sidecars(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    if not pod.is_sidecar:
        return
    if pod.container.get("restartPolicy") != "Always":
        yield "an init container without restartPolicy: Always has to end before the application starts"
    if not settings.listen.is_loopback:
        yield f"a sidecar listens on {settings.listen}, where others than its pod reach it"


# ------------------------------------------------ health and the end


def _probes(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    admin = settings.admin_listener
    if admin is None or admin.is_loopback:
        yield f"the kubelet cannot reach kproxy.admin.listener = {admin}"
        return
    for name, path in PROBES.items():
        asked = pod.container.get(name, {}).get("httpGet", {})
        if asked.get("path") != path:
            yield f"{name} asks {asked.get('path')}, expected {path}"
        if pod.port_number(asked.get("port", 0)) != admin.port:
            yield f"{name} asks port {asked.get('port')}, and the admin port is {admin.port}"
    starting = pod.container.get("startupProbe", {})
    seconds = starting.get("periodSeconds", 10) * starting.get("failureThreshold", 3)
    if seconds < LEAST_START_SECONDS:
        yield f"startupProbe gives {seconds} s, expected {LEAST_START_SECONDS} or more"


def _end(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    waits = pod.container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ())
    before = int(waits[1]) if waits and waits[0] == WAITING_COMMAND else 0
    needed = before + settings.shutdown_grace_ms // 1000 + SPARE_SECONDS
    given = pod.spec.get("terminationGracePeriodSeconds", 30)
    if given < needed:
        yield f"terminationGracePeriodSeconds is {given}, and a drain may take {needed} s"
    is_served = any(selects(each["spec"]["selector"], pod.labels) for each in pod.beside("Service"))
    if is_served and not before:
        yield "nothing waits before the stop until the Service sends nobody here any more (lifecycle.preStop)"


# ------------------------------------------------ ports


def _container_ports(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    numbers = set(pod.port_numbers.values())
    listening = {
        "kproxy.admin.listener": settings.admin_listener,
        "kproxy.fleet.listener": settings.fleet_listener,
    }
    if not pod.is_sidecar:
        listening["kproxy.listen"] = settings.listen
    for key, address in listening.items():
        if address and not address.is_loopback and address.port not in numbers:
            yield f"{key} = {address} is no port of the container"


def _services(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    if pod.is_sidecar:
        return
    leading = [each for each in pod.beside("Service") if selects(each["spec"]["selector"], pod.labels)]
    hosts = {f"{each['metadata']['name']}.{pod.namespace}.svc" for each in leading}
    is_reached_from_outside = any(each["spec"].get("type") == "LoadBalancer" for each in leading)
    if settings.advertised_host not in hosts and not is_reached_from_outside:
        yield f"kproxy.advertised.host = {settings.advertised_host} is none of the Services {sorted(hosts)}"
    for service in leading:
        for problem in _service_ports(pod, settings, service["spec"]["ports"]):
            yield f"Service/{service['metadata']['name']} {problem}"


def _service_ports(pod: KproxyPod, settings: Settings, ports: Sequence[Document]) -> Iterator[str]:
    for port in ports:
        if pod.port_number(port.get("targetPort", port["port"])) != port["port"]:
            yield f"leads from port {port['port']} to another one, and clients are told one number"
    numbers = {port["port"] for port in ports}
    for name, number in pod.port_numbers.items():
        if name not in {"admin", "fleet"} and number not in numbers:
            yield f"lacks port {number} ({name})"
    if settings.listen.port not in numbers:
        yield f"lacks the port of kproxy.listen = {settings.listen}"


def _disruptions(pod: KproxyPod, _settings: Settings) -> Iterator[str]:
    budgets = pod.beside("PodDisruptionBudget")
    if not any(selects(each["spec"]["selector"]["matchLabels"], pod.labels) for each in budgets):
        yield "no PodDisruptionBudget selects it"


def _network(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    policies = [
        each
        for each in pod.beside("NetworkPolicy")
        if selects(each["spec"]["podSelector"].get("matchLabels", {}), pod.labels)
    ]
    if not policies:
        yield "no NetworkPolicy selects it"
        return
    opened = [
        port
        for each in policies
        for rule in each["spec"].get("ingress", ())
        for port in rule.get("ports", ())
    ]
    for name, number in pod.port_numbers.items():
        if not any(_is_opened_by(port, number) for port in opened):
            yield f"no NetworkPolicy lets anybody in at {name} ({number})"
    if any("Egress" in each["spec"]["policyTypes"] for each in policies):
        yield from _ways_out(policies, settings)


def _ways_out(policies: Sequence[Document], settings: Settings) -> Iterator[str]:
    leaving = [
        port for each in policies for rule in each["spec"].get("egress", ()) for port in rule.get("ports", ())
    ]
    brokers = {address.port for address in settings.bootstrap_servers}
    for number in sorted(brokers | {settings.fleet_listener.port, 53}):
        if not any(_is_opened_by(port, number) for port in leaving):
            yield f"no NetworkPolicy lets kproxy out to port {number}"


def _is_opened_by(port: Document, number: int) -> bool:
    first: int = port["port"]
    return first <= number <= int(port.get("endPort", first))


# ------------------------------------------------ the fleet


def _fleet(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    listener: HostPort = settings.fleet_listener
    is_alone = pod.workload["kind"] == "Deployment" and pod.workload["spec"].get("replicas", 1) == 1
    if listener.is_loopback:
        if not is_alone:
            yield f"the pods cannot reach each other at kproxy.fleet.listener = {listener}"
        return
    if not listener.port:
        yield "kproxy.fleet.listener has any free port, which no policy can let in"
    if settings.fleet_advertised_host != POD_ADDRESS:
        yield f"kproxy.fleet.advertised.host is {settings.fleet_advertised_host}, and not the pod's own address"


def _secret_files(pod: KproxyPod, settings: Settings) -> Iterator[str]:
    named = {
        "kproxy.fleet.secret.file": settings.fleet_secret_file,
        "kproxy.admin.token.file": settings.admin_token_file,
    }
    for key, path in named.items():
        if not path:
            if key == "kproxy.admin.token.file":
                yield f"{key} is not set: kproxy status is answered to nobody"
            continue
        volume: dict[str, Any] = dict(pod.volume_at(path) or {})
        if "secret" not in volume:
            yield f"{key} = {path} is in no volume of a Secret"
            continue
        mounting = [
            each["name"]
            for each in pod.containers
            if any(mount["name"] == volume["name"] for mount in each.get("volumeMounts", ()))
        ]
        if mounting != [CONTAINER_NAME]:
            yield f"the volume {volume['name']} of {key} is mounted by {', '.join(mounting)}"


RULES: Final[tuple[Rule, ...]] = (
    _links_and_tokens,
    _restricted,
    _resources,
    _images,
    _sidecars,
    _probes,
    _end,
    _container_ports,
    _services,
    _disruptions,
    _network,
    _fleet,
    _secret_files,
)


def main(files: Sequence[str]) -> int:
    """Print what is wrong with each file; return how a shell hears of it."""
    found = [
        f"{file}: {problem}"
        for file in files
        for problem in problems_of(documents_in(Path(file).read_text(encoding="utf-8")))
    ]
    print("\n".join(found) if found else f"{len(files)} rendered, every rule kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
