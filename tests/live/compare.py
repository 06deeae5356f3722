"""The assertions. Each returns the differences that it finds, as text. The proof passes if there are none."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import network
from cases import POD_IN_MANIFEST, Pod
from product import SPOILED, Said

PASSED = {"PASS": True, "FALSE_POSITIVE": True, "FAIL_CORRECT": False, "FALSE_NEGATIVE": False}
ALTERNATIVES = " || "
# When Envoy requires a certificate, it is a race which of these errors the kubelet reports.
REFUSED = re.compile(
    r'(Get "https://[^"]*": )'
    r"(write tcp \S+: write: broken pipe|remote error: tls: certificate required|unexpected EOF)$")
EOF = re.compile(r'(Get "https://[^"]*": )EOF$')
CERTIFICATE = r"\1<a certificate is required>"
# It is also a race whether the timeout of the kubelet or that of the agent expires first.
KUBELETS_CLOCK = re.compile(r"Client\.Timeout exceeded")
OUT_OF_TIME = re.compile(r"Client\.Timeout exceeded|within \d+s|i/o timeout")
AGENTS_CLOCK = "Readiness probe failed: HTTP probe failed with statuscode: 500"
STAND_INS = (
    (re.compile(r"<node>:\w+->"), "<node>->"),
    (re.compile(r"/app-health/[^/]+/"), "/app-health/<container>/"),
    # Envoy's message for a port in no Service, where Istio configures a retry.
    (re.compile("retried and the latest reset reason"), "reset reason"),
    (REFUSED, CERTIFICATE),
    # A server that closes with unread data resets the connection. The client then reports what it meets first.
    (re.compile(r"(?<=error reading from server: )(read tcp \S+ read: )?connection reset by peer$"), "EOF"),
)

# Texts of which it is a race which one the kubelet reports, as in the measured rows with several texts.
RACES = (
    re.compile(rf"^{AGENTS_CLOCK}$|{KUBELETS_CLOCK.pattern}"),
    re.compile(r'Get "https://[^"]*": (EOF|<a certificate is required>|read tcp \S+ read: connection reset by peer)$'),
    re.compile(r"code = Unavailable desc = .*EOF|timeout: failed to connect service"),
)


@dataclass(frozen=True)
class Cell:
    """Result of one probe, with the normalized text of the kubelet."""

    passed: bool
    text: str

    @property
    def is_late(self) -> bool:
        """Returns whether it timed out."""
        return OUT_OF_TIME.search(self.text) is not None

    def __str__(self) -> str:
        return "pass" if self.passed else f"fail ({self.text})"


# A measured row: column -> value.
Row = dict[str, str]
# (case or pod, policies, "off" or "on")
Key = tuple[str, str, str]


def plain(text: str, address: str = POD_IN_MANIFEST) -> str:
    """Returns a text of the kubelet without the parts that differ from run to run."""
    text = " ".join(text.split())
    text = re.sub(rf"{re.escape(address)}(?=[:/\"])", "<pod>", text).replace(network.NODE, "<node>")
    for pattern, replacement in STAND_INS:
        text = pattern.sub(replacement, text)
    return text


def key_of(row: Row) -> Key:
    return row["case"], row["policies"], row["rewrite"]


def stand_in(row: Row, cell: Cell) -> list[str]:
    """Compares the rig with one row that was measured with Istio itself."""
    name = "/".join(key_of(row))
    if cell.passed != PASSED[row["verdict"]]:
        return [f"{name}: measured {row['verdict']}, the rig reports {cell}"]
    known = [plain(text) for text in row["kubelet_text"].split(ALTERNATIVES)]
    if row["rewrite"] == "on" and any(KUBELETS_CLOCK.search(text) for text in known):
        known.append(AGENTS_CLOCK)
    if cell.passed or _same(cell.text, known):
        return []
    return [f"{name}: measured {known}, the rig reports {cell.text}"]


def rewritten_is_no_mesh(pod: Pod, without: Cell, after: Cell, where: str) -> list[str]:
    """Checks that a rewritten probe has the outcome of the original without a mesh."""
    if without.passed == after.passed:
        return []
    return [f"{pod.key}, {where}: rewritten {after}, without a mesh {without}"]


def same_workloads(kind: str, expected: Iterable[str], found: Iterable[str]) -> list[str]:
    """Compares two sets of workloads that must be equal."""
    expected, found = set(expected), set(found)
    return [f"{name}: {kind} {'unexpectedly' if name in found else 'no longer'}" for name in sorted(expected ^ found)]


def lost_in(states: dict[str, tuple[Cell, Cell]]) -> list[str]:
    """Returns the states in which the probe fails only because of the mesh."""
    return [state for state, (without, within) in states.items() if without.passed and not within.passed]


def outcome(name: str, states: dict[str, tuple[Cell, Cell]], predicted: Said, where: str) -> list[str]:
    """Compares the predicted outcome of a probe with the observed outcome.

    `states`: state -> (cell without a mesh, cell in the mesh).
    """
    lost = lost_in(states)
    gained = [state for state, (without, within) in states.items() if not without.passed and within.passed]
    seen = "both" if lost and gained else "fails" if lost else "always-passes" if gained else "ok"
    if (predicted.outcome if predicted.outcome in SPOILED else "ok") == seen:
        return []
    return [f"{name}, {where}: predicted {predicted.outcome}, seen {seen} ({lost or gained or 'all states alike'})"]


def texts(name: str, states: dict[str, tuple[Cell, Cell]], predicted: Said, where: str, is_race: bool) -> list[str]:
    """Compares the predicted text with the observed text. The prediction may be open only for a race."""
    wrong = []
    for state in lost_in(states):
        seen = states[state][1].text
        is_open = predicted.text is None and is_race
        if not is_open and not _same(seen, [plain(predicted.text or "", "<pod>")]):
            wrong.append(f"{name}/{state}, {where}: predicted {predicted.text}, seen {seen}")
    return wrong


def reported(name: str, found: list[Said], predicted: Said, where: str) -> list[str]:
    """Checks that `check` reports each bad prediction once, with the same text, and nothing else."""
    spoiled = [predicted] if predicted.outcome in SPOILED else []
    if found == spoiled:
        return []
    outcomes, texts_found = [result.outcome for result in found], [result.text for result in found]
    return [f"{name}, {where}: check reports {outcomes}, predict reports {predicted.outcome}"
            + (f"; texts {texts_found} and {predicted.text}" if len(found) == 1 else "")]


def alike(kubelet: Cell, stand_in: Cell) -> bool:
    """Compares the results of two probers for the same probe, which they run one after the other."""
    if kubelet.passed != stand_in.passed:
        return False
    is_race = any(race.search(kubelet.text) and race.search(stand_in.text) for race in RACES)
    return is_race or kubelet.text == stand_in.text


def _same(seen: str, known: list[str]) -> bool:
    """Returns whether a text is among the known ones. Python reports some refusals as an EOF."""
    return seen in known or EOF.sub(CERTIFICATE, seen) in known
