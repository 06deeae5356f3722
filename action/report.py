"""Turns the JSON report of `meshprobe check` into what a workflow run shows.

    report.py log FILE           one paragraph per finding, then a count
    report.py annotations FILE   workflow commands
    report.py outputs FILE       name=value lines; fails if there is no report
    report.py words TEXT         the words of a shell-quoted text, NUL-terminated
    report.py lines TEXT         its lines without blanks around them, likewise

Standard library only: it runs on whatever Python the runner has.
"""

import json
import os
import shlex
import sys

# The runner keeps this many annotations of each type and step and drops the
# rest without a word (actions/runner, src/Runner.Worker/ExecutionContext.cs).
PER_TYPE = 10

SEVERITIES = ["error", "warning", "note"]
COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
CERTAINTIES = ["known", "default", "assumed", "unknown"]


def main(verb, argument):
    if verb == "words":
        terminated(shlex.split(argument))
    elif verb == "lines":
        terminated(line.strip() for line in argument.splitlines() if line.strip())
    elif verb == "log":
        report = load(argument)
        if report is not None:
            log(active(report), report)
    elif verb == "annotations":
        annotations(active(load(argument)))
    elif verb == "outputs":
        report = load(argument)
        if report is None:
            sys.exit(1)
        findings = active(report)
        print(f"findings={len(findings)}")
        print(f"errors={sum(f['severity'] == 'error' for f in findings)}")
    else:
        sys.exit(f"report.py: unknown verb {verb}")


def load(path):
    """The report, or None where the tool stopped before it could write one."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except ValueError:
        return None
    return report if isinstance(report, dict) and "findings" in report else None


def active(report):
    """The findings that are not suppressed, worst first; the tool's order within."""
    findings = [f for f in (report or {}).get("findings", []) if not f.get("suppressed")]
    return sorted(findings, key=lambda f: (rank(SEVERITIES, f["severity"]), rank(CERTAINTIES, f.get("certainty"))))


def rank(order, value):
    return order.index(value) if value in order else len(order)


def log(findings, report):
    for finding in findings:
        print(f"{place(finding)}: {finding['severity']}[{finding['rule']}] {one_line(finding['message'])}")
        for related in finding.get("related") or []:
            print(f"    {place(related)}: {one_line(related.get('message') or '')}")
        for assumption in finding.get("assumptions") or []:
            print(f"    assumed: {one_line(str(assumption))}")
    counts = [(sum(f["severity"] == s for f in findings), s) for s in SEVERITIES]
    text = ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for n, s in counts)
    suppressed = len(report["findings"]) - len(findings)
    print(text + (f" ({suppressed} suppressed)" if suppressed else ""))


def place(item):
    parts = [item.get("path") or "?", item.get("line"), item.get("column")]
    return one_line(":".join(str(part) for part in parts if part is not None))


def one_line(text):
    return " ".join(text.split())


def annotations(findings):
    for severity in SEVERITIES:
        group = [f for f in findings if f["severity"] == severity]
        for finding in group[:PER_TYPE]:
            print(annotation(finding))
        if len(group) > PER_TYPE:
            more = len(group) - PER_TYPE
            print(f"{more} more {severity}{'' if more == 1 else 's'} without annotation, see above")


def annotation(finding):
    properties = {"file": from_workspace(finding.get("path") or "")}
    line, end_line = finding.get("line"), finding.get("end_line")
    if line is not None:
        properties["line"] = line
        if end_line is not None:
            properties["endLine"] = end_line
        # Columns are only understood within one line.
        if end_line in (None, line) and finding.get("column") is not None:
            properties["col"] = finding["column"]
            if finding.get("end_column") is not None:
                properties["endColumn"] = finding["end_column"]
    properties["title"] = f"meshprobe: {finding['rule']}"
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties.items())
    text = finding["message"]
    for related in finding.get("related") or []:
        text += f"\n{place(related)}: {related.get('message') or ''}"
    return f"::{COMMANDS[finding['severity']]} {listed}::{escape_message(text)}"


def from_workspace(path):
    """Paths in the report start at the working directory, those of annotations at the workspace."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if not workspace or not path:
        return path
    full = os.path.join(os.path.realpath(os.getcwd()), path)
    return os.path.relpath(full, os.path.realpath(workspace)).replace(os.sep, "/")


def escape_message(text):
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text):
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")


def terminated(words):
    for word in words:
        sys.stdout.write(word + "\0")


if __name__ == "__main__":
    # The log may hold any character of a manifest, whatever the runner's locale.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    main(*sys.argv[1:])
