"""The live proof:  run.py --meshprobe BINARY

A real Envoy, a real redirect and real probes: the original manifests, and what `meshprobe rewrite` makes
of them, without a mesh and in each mode of mutual TLS. See docs/live-proof.md.

Exit codes: 0 proved; 1 a disagreement; 2 the rig did not work; 77 this machine cannot run it.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import network
from modes import MODES

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "live-proof.md"
# Tables in the document, by name.
BLOCK = r"(<!-- {} -->\n).*?(\n<!-- end -->)"
SKIPPED = 77
PLANTS = {
    "wrong-port": "the prober env names a port where nothing listens",
    "no-redirect": "the rule that redirects to Envoy is missing",
    "rule-off": "the rule strict-probe-not-rewritten is switched off",
}


def main():
    arguments = parse()
    if reason := network.missing_privilege():
        print(f"skipped, the live proof cannot run here: {reason}")
        return SKIPPED
    network.sweep()
    # Only what runs needs the packages.
    from osm import OsmProof
    from proof import Proof

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    is_whole = not (arguments.plant or arguments.cases) and arguments.modes == list(MODES)
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="mp-live-") as folder:
            os.chmod(folder, 0o711)
            proof = Proof(arguments, Path(folder))
            wrong = proof.run()
            osm = OsmProof(proof.product, Path(folder))
            if is_whole:
                wrong += osm.run()
    except (RuntimeError, OSError, ValueError) as error:
        print(f"the rig did not work: {error}", file=sys.stderr)
        return 2
    print(proof.summary(wrong, time.monotonic() - start))
    if is_whole:
        print(osm.table())
        wrong += document("matrix", proof.matrix(), arguments.update) + document("osm", osm.table(), arguments.update)
    for line in wrong:
        print(f"DISAGREE {line}")
    return 1 if wrong else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshprobe", required=True, help="the binary")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="only these")
    parser.add_argument("--cases", nargs="+", metavar="WORKLOAD", help="only these")
    parser.add_argument("--plant", choices=PLANTS, help="an error that has to be found")
    parser.add_argument("--update", action="store_true", help="write the matrix into docs/live-proof.md")
    return parser.parse_args()


def document(name, table, update):
    """Puts a table into the document, or compares it with the one that is there."""
    text = DOCUMENT.read_text(encoding="utf-8")
    new = re.sub(BLOCK.format(name), lambda match: match[1] + table + match[2], text, flags=re.DOTALL)
    if update:
        DOCUMENT.write_text(new, encoding="utf-8")
    elif new != text:
        return [f"the table {name} of {DOCUMENT.relative_to(ROOT)} is not what was seen; run with --update and review"]
    return []


if __name__ == "__main__":
    sys.exit(main())
