"""Compares SARIF reports with the JSON reports of the same runs, and with the files that they describe.

    reports.py ROOT MESHPROBE [OPTION...]

Run from the folder that is checked; paths in SARIF start at ROOT. This program uses a report like other programs,
and does not share code with meshprobe: it cuts regions out of the files, and applies fixes by line and column.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse


def main(root, meshprobe, *options):
    checked = json.loads(output(meshprobe, "json", options))
    run, = json.loads(output(meshprobe, "sarif", ("--report-root", root, *options)))["runs"]
    findings, results = checked["findings"], run["results"]
    assert len(findings) == len(results), (len(findings), len(results))
    assert run["columnKind"] == "unicodeCodePoints"
    counts = {"regions": 0, "fixes": 0}
    for finding, result in zip(findings, results, strict=True):
        assert finding["rule"] == result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
        location, = result["locations"]
        place = location["physicalLocation"]
        assert file_of(root, place) == os.path.realpath(finding["path"]), (place, finding["path"])
        counts["regions"] += same_region(root, place, finding)
        related = [location["physicalLocation"] for location in result["relatedLocations"]]
        assert len(related) == len(finding["related"])
        for location, expected in zip(related, finding["related"], strict=True):
            assert location["region"]["startLine"] == (expected["line"] or 1), (location, expected)
            counts["regions"] += expected["line"] is not None
        counts["fixes"] += same_fix(root, finding, result)
    print(len(findings), *counts.values())


def output(meshprobe, output_format, options):
    command = [meshprobe, "check", "--isolated", "--no-context", "--fail-on", "never"]
    command += ["--output-format", output_format, *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def file_of(root, place):
    artifact = place["artifactLocation"]
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", artifact["uri"]), artifact
    assert artifact["uriBaseId"] == "%SRCROOT%" and not artifact["uri"].startswith("/"), artifact
    return os.path.realpath(os.path.join(root, urllib.parse.unquote(artifact["uri"], errors="strict")))


def same_region(root, place, finding):
    region = place["region"]
    assert set(region) == {"startLine", "startColumn", "endLine", "endColumn"}, region
    assert region["startLine"] == region["endLine"] and region["startColumn"] <= region["endColumn"], region
    if finding["line"] is None:
        assert list(region.values()).count(1) == 4, region
        return 0
    assert (region["startLine"], region["startColumn"]) == (finding["line"], finding["column"])
    lines = lines_of(file_of(root, place))
    assert region["endColumn"] <= len(lines[region["startLine"] - 1]) + 1, (region, finding["path"])
    if finding["end_line"] == finding["line"]:
        assert region["endColumn"] == finding["end_column"], (region, finding)
    return 1


def text_of(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", errors="replace")


def lines_of(path):
    return re.split(r"\r\n|\n|\r", text_of(path))


def same_fix(root, finding, result):
    """Checks that a fix by line and column has the same result as the same fix by offsets."""
    fix = finding["fix"]
    can = fix and fix["edits"] and fix["applicability"] != "display-only" and "rendered" not in finding
    if not can:
        assert "fixes" not in result, result
        return 0
    written, = result["fixes"]
    changes = {file_of(root, change): change["replacements"] for change in written["artifactChanges"]}
    edits = {}
    for edit in fix["edits"]:
        edits.setdefault(os.path.realpath(edit["path"]), []).append(edit)
    assert set(changes) == set(edits), (changes, edits)
    for path, replacements in changes.items():
        assert by_columns(path, replacements) == by_offsets(path, edits[path]), (path, finding["rule"])
    return 1


def by_offsets(path, edits):
    with open(path, "rb") as file:
        data = file.read()
    for edit in sorted(edits, key=lambda edit: edit["start"], reverse=True):
        data = data[: edit["start"]] + edit["text"].encode() + data[edit["end"] :]
    return data


def by_columns(path, replacements):
    text = text_of(path)
    starts = [0] + [found.end() for found in re.finditer(r"\r\n|\n|\r", text)]
    spans = []
    for replacement in replacements:
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        spans.append((start, end, replacement["insertedContent"]["text"]))
    for start, end, inserted in sorted(spans, reverse=True):
        text = text[:start] + inserted + text[end:]
    return text.encode()


if __name__ == "__main__":
    main(*sys.argv[1:])
