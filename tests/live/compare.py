"""The assertions. Each gives the disagreements it finds, in words; none found is the proof."""

import re

import network
from cases import POD_IN_MANIFEST
from product import SPOILED

PASSED = {"PASS": True, "FALSE_POSITIVE": True, "FAIL_CORRECT": False, "FALSE_NEGATIVE": False}
ALTERNATIVES = " || "
WARNING = "Readiness probe warning"
# Which of these comes first when the other side ends a connection inside of TLS is a race.
ENDED = re.compile(
    r'(Get "https://[^"]*": )(write tcp \S+: write: broken pipe|read tcp \S+: read: connection reset by peer'
    r"|remote error: tls: certificate required|unexpected EOF|EOF)$")
# So is which of the two clocks, the kubelet's or the agent's, runs out first.
TOO_SLOW = re.compile(r"(HTTP probe failed with statuscode: 500|Get \"http://[^\"]*/app-health/.*exceeded.*)$")
STAND_INS = (
    (re.compile(r"<node>:\w+->"), "<node>->"),
    (re.compile(r"/app-health/[^/]+/"), "/app-health/<container>/"),
    # Envoy says so of a port in no Service, where Istio has it try again.
    (re.compile("retried and the latest reset reason"), "reset reason"),
    (ENDED, r"\1<the connection ended>"),
    (TOO_SLOW, "<the agent's check failed>"),
)


def plain(text, address=POD_IN_MANIFEST):
    """A text of the kubelet without what differs from run to run."""
    text = " ".join(text.split())
    text = re.sub(rf"{re.escape(address)}(?=[:/\"])", "<pod>", text).replace(network.NODE, "<node>")
    for pattern, replacement in STAND_INS:
        text = pattern.sub(replacement, text)
    return text


def stand_ins(rows, cells):
    """(rows compared, disagreements): the rig against what was measured with Istio itself.

    `cells`: (case, policies, rewrite) -> (passed, plain text), for the state that was measured.
    """
    compared, wrong = 0, []
    for row in rows:
        key = row["case"], row["policies"], row["rewrite"]
        if key not in cells:
            continue
        compared += 1
        passed, text = cells[key]
        name = "/".join(key)
        if passed != PASSED[row["verdict"]]:
            wrong.append(f"{name}: measured {row['verdict']}, the rig says {_said(passed, text)}")
        elif not passed:
            known = [plain(one) for one in row["kubelet_text"].split(ALTERNATIVES)]
            if text not in known:
                wrong.append(f"{name}: measured {known}, the rig says {text}")
    return compared, wrong


def rewritten_is_no_mesh(pod, without, after, where):
    """A rewritten probe has the outcome of the original without a mesh."""
    if without[0] == after[0]:
        return []
    return [f"{pod.key}, {where}: rewritten {_said(*after)}, without a mesh {_said(*without)}"]


def races(rows):
    """(case, policies) of the originals that were measured with more than one text."""
    return {(row["case"], row["policies"]) for row in rows
            if row["rewrite"] == "off" and ALTERNATIVES in row["kubelet_text"]}


def predicted(name, states, outcome, text, where, is_race):
    """What `predict` says against what was seen.

    `states`: state -> (cell without a mesh, cell of the original in the mesh). Only where the text is a race
    `predict` may leave it open.
    """
    lost = [state for state, (without, within) in states.items() if without[0] and not within[0]]
    gained = [state for state, (without, within) in states.items() if not without[0] and within[0]]
    seen = "fails" if lost else "always-passes" if gained else "ok"
    if (outcome if outcome in SPOILED else "ok") != seen:
        return [f"{name}, {where}: predicted {outcome}, seen {seen} ({lost or gained or 'all states alike'})"]
    wrong = []
    for state in lost:
        is_open = text is None and is_race
        if not is_open and plain(text or "", "<pod>") != states[state][1][1]:
            wrong.append(f"{name}/{state}, {where}: predicted {text}, seen {states[state][1][1]}")
    return wrong


def reported(check, predict, judged, where):
    """`check` reports what `predict` calls spoiled, no more and no less."""
    spoiled = {name: outcome for name, (outcome, _) in predict.items() if outcome in SPOILED and name in judged}
    found = {name: outcome for name, outcome in check.items() if name in judged}
    return [f"{name}, {where}: check says {found.get(name)}, predict says {spoiled.get(name)}"
            for name in sorted(found.keys() | spoiled.keys()) if found.get(name) != spoiled.get(name)]


def _said(passed, text):
    return "pass" if passed else f"fail ({text})"
