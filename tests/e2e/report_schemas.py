"""Validates reports against the schemas of the programs that read them: `report_schemas.py REPORTS SCHEMAS`.

REPORTS contains files named TREE.FORMAT, which must be valid. SCHEMAS contains the schemas that are not in the
repository. Then each of FAULTS is planted in a report of the tree `demo`, which must then be invalid.
"""

import json
import pathlib
import re
import sys

import jsonschema
import xmlschema

ROOT = pathlib.Path(__file__).parents[2]
FAULTS = [
    ("sarif", r'"startLine": \d+', '"startLine": 0'),
    ("sarif", '"level": "error"', '"level": "fatal"'),
    ("json", '"severity": "error"', '"severity": "fatal"'),
    ("json", '"certainty":', '"sureness":'),
    ("predict", '"outcome": "fails"', '"outcome": "fatal"'),
    ("predict", '"slot":', '"place":'),
    ("rules", '"kind": "guard"', '"kind": "dog"'),
    ("explain", '"same_text": false', '"same_text": null'),
    ("explain", '"id":', '"name":'),
    ("matrix", '"outcome":"fails"', '"outcome":"fatal"'),
    ("matrix", '"kind":"measured"', '"kind":"guessed"'),
    ("gitlab", '"critical"', '"fatal"'),
    ("junit", "<testcase ", '<testcase colour="red" '),
]


def json_errors(path):
    """Returns a function from the text of a document to the first error that the schema in `path` finds, or None."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)

    def first(text):
        error = next(validator.iter_errors(json.loads(text)), None)
        return error and f"{error.json_path}: {error.message}"

    return first


def xml_errors(path):
    """Returns a function from the text of a document to the first error of the XML schema in `path`, or None."""
    schema = xmlschema.XMLSchema(str(path))
    return lambda text: next((str(error.reason) for error in schema.iter_errors(text)), None)


def main():
    reports, schemas = map(pathlib.Path, sys.argv[1:])
    ours = ROOT / "docs" / "schema"
    checks = {
        "sarif": json_errors(schemas / "sarif-2.1.0.json"),
        "json": json_errors(ours / "check-v1.json"),
        "diff": json_errors(ours / "diff-v1.json"),
        "predict": json_errors(ours / "predict-v1.json"),
        "rules": json_errors(ours / "rules-v1.json"),
        "explain": json_errors(ours / "explain-v1.json"),
        "matrix": json_errors(ours / "matrix-v1.json"),
        "gitlab": json_errors(ROOT / "tests" / "e2e" / "gitlab-code-quality.schema.json"),
        "junit": xml_errors(schemas / "junit.xsd"),
    }
    wrong, count = [], 0
    for report in sorted(reports.iterdir()):
        check = checks.get(report.suffix[1:])
        if check:
            count += 1
            if error := check(report.read_text(encoding="utf-8")):
                wrong.append(f"{report.name}: {error[:300]}")
    for form, sound, broken in FAULTS:
        text = (reports / f"demo.{form}").read_text(encoding="utf-8")
        changed = re.sub(sound, lambda _, broken=broken: broken, text, count=1)
        if changed == text:
            wrong.append(f"demo.{form}: {sound} does not occur")
        elif not checks[form](changed):
            wrong.append(f"demo.{form}: {broken} is valid")
    print(f"{count} reports valid, {len(FAULTS)} faults found" if not wrong else "\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
