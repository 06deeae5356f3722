"""Compares the predictions and previews of meshprobe with injected pods."""

from collections import Counter
from typing import Any

from injector import Injector
from mesh import Mesh, Mode
from pods import first_difference, handlers
from program import Program, predicted_handlers
from report import Difference
from yaml_writer import to_yaml

Json = dict[str, Any]
GROUPS = ("initContainers", "containers")
ACTIONS = ("httpGet", "tcpSocket", "grpc", "exec", "sleep")
DENIED = "the webhook rejects the pod"


class Comparison:
    """Compares in one mode."""

    def __init__(self, mesh: Mesh, release: str, program: str, meshprobe: str, mode: Mode) -> None:
        self.mesh = mesh
        self.mode = mode
        self.injector = Injector([program], mode.environment)
        self.meshprobe = Program(meshprobe, [f"--mesh={mesh.name}", f"--mesh-version={release}", *mode.options])
        self.counts: dict[str, Counter[str]] = {}
        self.differences: list[Difference] = []
        self.documents: dict[str, list[Json]] = {}

    def count(self, check: str, outcome: str) -> None:
        self.counts.setdefault(check, Counter())[outcome] += 1

    def judge(self, file: str, check: str, part: str, detail: str, answer: Json, outcome: str = "equal") -> None:
        """Counts a comparison, and records a difference unless the detail is empty."""
        self.count(check, "different" if detail else outcome)
        if detail:
            self.differences.append(Difference(file, check, part, detail, self.mode.title, self.case(file, answer)))

    def case(self, file: str, answer: Json) -> list[Json]:
        """Returns the documents of a file; only the workload if the file is not generated."""
        return self.documents.get(file) or [answer["object"]]

    def run_generated(self, documents: dict[str, list[Json]], check: str = "") -> None:
        """Compares generated files, given as their documents."""
        self.documents = documents
        self.run({file: manifest(parts) for file, parts in documents.items()}, check)

    def run(self, manifests: dict[str, str], check: str = "") -> None:
        """Compares files whose Namespaces have different names; with `check`, for this check only."""
        answers = {file: self.injector.admit(text) for file, text in manifests.items()}
        if not check.startswith("preview"):
            self.compare_predictions(manifests, answers)
        if self.mesh.has_preview and check in ("", "preview", "preview injected"):
            self.compare_previews(manifests, answers)

    def compare_predictions(self, manifests: dict[str, str], answers: dict[str, list[Json]]) -> None:
        workloads = self.meshprobe.workloads(manifests)
        for file, results in answers.items():
            for answer in results:
                if is_valid(answer):
                    self.compare_workload(file, answer, workloads[file, answer["name"]])
                else:
                    self.count("injection", "invalid")

    def compare_workload(self, file: str, answer: Json, workload: Json) -> None:
        actual, predicted = outcome_of(answer), predicted_outcome(workload)
        detail = "" if actual == predicted else f"expected '{actual}' {answer.get('denied', '')}, got '{predicted}'"
        self.judge(file, "injection", f"{actual}, not {predicted}", detail, answer, actual)
        if answer.get("denied"):
            return
        predictions = predicted_handlers(workload)
        after = self.injected_handlers(answer)
        for slot, handler in handlers(answer["before"], self.mesh.own).items():
            if slot not in predictions:
                self.count("prediction", "not predicted")
                continue
            expected = predicted_handler(handler, predictions[slot])
            changed = "equal" if predictions[slot]["becomes"] else "unchanged"
            difference = first_difference(after.get(slot), expected)
            self.judge(file, "prediction", predictions[slot]["kind"], difference, answer, changed)

    def injected_handlers(self, answer: Json) -> Json:
        """Returns the handlers of the injected pod, without those of containers that the injector adds."""
        own = set(self.mesh.own) | set(container_names(answer["pod"])) - set(container_names(answer["before"]))
        return handlers(answer["pod"], tuple(own))

    def compare_previews(self, manifests: dict[str, str], answers: dict[str, list[Json]]) -> None:
        """Compares the probes of the preview with those of the injected pod."""
        output, refused = self.meshprobe.rewrite(manifests, "--preview")
        for file, results in answers.items():
            changed = output[file] != manifests[file]
            previews = self.injector.admit(output[file]) if changed else results
            for answer, preview in zip(results, previews, strict=True):
                if not is_valid(answer) or answer.get("denied"):
                    continue
                if not changed and refused.get(file):
                    self.count("preview", "refused")
                    for guard in refused[file]:
                        self.count("preview guards", guard)
                    continue
                self.compare_preview(file, answer, preview, "equal" if changed else "unchanged")

    def compare_preview(self, file: str, answer: Json, preview: Json, outcome: str) -> None:
        shown = handlers(preview["before"], self.mesh.own)
        expected = self.injected_handlers(answer)
        self.judge(file, "preview", "probes", first_difference(expected, shown), answer, outcome)
        if outcome == "equal":
            detail = preview.get("denied") or first_difference(shown, self.injected_handlers(preview))
            self.judge(file, "preview injected", "probes", detail, answer)


def manifest(documents: list[Json]) -> str:
    """Returns documents as the text of a file."""
    return "---\n".join(map(to_yaml, documents))


def is_valid(answer: Json) -> bool:
    """Returns whether the API server accepts the containers of a pod; its validation follows the webhooks."""
    if answer.get("undecoded"):
        return False
    before = answer["before"]
    plain = [item for item in before["spec"].get("initContainers") or [] if "restartPolicy" not in item]
    return (
        has_unique_names(before)
        and has_unique_names(answer.get("pod") or before)
        and not handlers({"spec": {"initContainers": plain}}, ())
        and all(is_valid_handler(handler) for handler in handlers(before, ()).values())
    )


def is_valid_handler(handler: Json) -> bool:
    actions = [handler[action] for action in ACTIONS if action in handler]
    port = actions[0].get("port", 1) if actions else 0
    return len(actions) == 1 and (isinstance(port, str) or 0 < port < 65536)


def has_unique_names(pod: Json) -> bool:
    names = container_names(pod)
    return len(names) == len(set(names))


def container_names(pod: Json) -> list[str]:
    return [container["name"] for group in GROUPS for container in pod["spec"].get(group) or []]


def outcome_of(answer: Json) -> str:
    """Returns what the injector does to a pod."""
    if answer.get("denied"):
        return "denied"
    return "injected" if answer["injected"] else "left alone"


def predicted_outcome(workload: Json) -> str:
    """Returns what meshprobe predicts for a pod."""
    dataplane = workload["dataplane"]
    if dataplane["value"] == "sidecar":
        return "injected"
    if any(DENIED in reason["message"] for reason in dataplane["because"]):
        return "denied"
    return "left alone" if dataplane["value"] == "none" else str(dataplane["value"])


def predicted_handler(handler: Json, prediction: Json) -> Json:
    """Returns the handler that the injected pod has if the prediction is right."""
    becomes = prediction["becomes"]
    if not becomes:
        return handler
    kept = {key: value for key, value in handler.items() if key not in ACTIONS}
    return {**kept, "httpGet": {"scheme": "HTTP", **becomes["httpGet"]}}
