"""Kubernetes manifests, as far as the rules ask: which pods run kproxy, what it is told there, and who selects whom."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from kproxy.settings import LoadedSettings
from tests.deploy.commands import settings_of_run

Document = Mapping[str, Any]
CONTAINER_NAME: Final = "kproxy"
POD_ADDRESS: Final = "10.42.0.7"
"""Stands for what the downward API tells."""
WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def documents_in(text: str) -> list[Document]:
    """Return the documents of a file, without those that are empty."""
    return [document for document in yaml.safe_load_all(text) if document]


@dataclass(frozen=True, slots=True)
class KproxyPod:
    """The pod of a workload that has a container named kproxy; `around` is all that is deployed with it."""

    workload: Document
    around: Sequence[Document]

    @property
    def name(self) -> str:
        return f"{self.workload['kind']}/{self.workload['metadata']['name']}"

    @property
    def namespace(self) -> str:
        return str(self.workload["metadata"].get("namespace", "default"))

    @property
    def labels(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.workload["spec"]["template"]["metadata"]["labels"]
        return found

    @property
    def spec(self) -> Document:
        found: Document = self.workload["spec"]["template"]["spec"]
        return found

    @property
    def containers(self) -> list[Document]:
        """All of them, those that begin first before the others."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]

    @property
    def container(self) -> Document:
        return next(each for each in self.containers if each["name"] == CONTAINER_NAME)

    @property
    def is_sidecar(self) -> bool:
        return self.container in self.spec.get("initContainers", ())

    @property
    def port_numbers(self) -> Mapping[str, int]:
        """The container's ports by name."""
        return {port["name"]: port["containerPort"] for port in self.container.get("ports", ())}

    def port_number(self, port: str | int) -> int | None:
        """Return the number of a port that is named, or is a number already; None if there is none of that name."""
        return self.port_numbers.get(port) if isinstance(port, str) else port

    def of_kind(self, kind: str) -> list[Document]:
        return [each for each in self.around if each["kind"] == kind]

    def beside(self, kind: str) -> list[Document]:
        """Return those of a kind that are in the pod's namespace."""
        return [
            each
            for each in self.of_kind(kind)
            if each["metadata"].get("namespace", "default") == self.namespace
        ]

    def volume_at(self, path: str) -> Document | None:
        """Return the volume that holds a path in kproxy's container."""
        for mount in self.container.get("volumeMounts", ()):
            if path.startswith(mount["mountPath"].rstrip("/") + "/"):
                volumes = self.spec.get("volumes", ())
                return next((each for each in volumes if each["name"] == mount["name"]), None)
        return None

    def environment(self) -> dict[str, str]:
        """What the container is given, with a stand-in for what is known only where it runs."""
        return {each["name"]: each.get("value", POD_ADDRESS) for each in self.container.get("env", ())}

    def settings(self, folder: Path) -> LoadedSettings:
        """Return what kproxy makes of its arguments, its environment and the file in its ConfigMap.

        Raises:
            SettingsError: kproxy would not start with them.
        """
        return settings_of_run(self.container["args"], self.environment(), self._text_of_mounted, folder)

    def _text_of_mounted(self, file: str) -> str:
        volume = self.volume_at(file)
        assert volume is not None, f"{file} is mounted from nowhere"
        name = volume["configMap"]["name"]
        (found,) = (each for each in self.beside("ConfigMap") if each["metadata"]["name"] == name)
        return str(found["data"][Path(file).name])


def kproxy_pods(documents: Sequence[Document]) -> Iterator[KproxyPod]:
    """Yield the pods that run kproxy."""
    for document in documents:
        if document["kind"] in WORKLOADS:
            pod = KproxyPod(document, documents)
            if any(each["name"] == CONTAINER_NAME for each in pod.containers):
                yield pod


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Tell whether labels are what a selector asks for; one that asks for nothing selects everything."""
    return selector.items() <= labels.items()
