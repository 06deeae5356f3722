"""Compares meshprobe with the injector of one release of a mesh. tests/oracle/injector.sh calls it."""

import argparse
import sys
from pathlib import Path
from typing import Any

from comparison import Comparison, manifest
from consul import CONSUL
from kuma import KUMA
from linkerd import LINKERD
from mesh import Mesh
from minimize import minimize
from program import read
from proven import upsert
from report import Difference, print_counts, write_cases

Json = dict[str, Any]
MESHES = {mesh.name: mesh for mesh in (KUMA, CONSUL, LINKERD)}
ROOT = Path(__file__).resolve().parents[3]


def fixtures(mesh: Mesh) -> list[dict[str, str]]:
    """Returns the fixtures, each on its own, because their Namespaces have the same name."""
    found = sorted(Path(ROOT, "fixtures", mesh.name).glob("*/input.yaml"))
    return [{f"{path.parent.name}.yaml": read(path)} for path in found]


def generated(mesh: Mesh, seed: int, count: int) -> dict[str, list[Json]]:
    """Returns the documents of each generated file."""
    generator = mesh.generator(seed)
    return {f"pod-{index:05}.yaml": generator.documents(index) for index in range(count)}


def compare(arguments: argparse.Namespace, mesh: Mesh) -> tuple[list[Difference], int]:
    """Compares in all modes, prints the counts, and returns the differences and the number of pods."""
    recorded = fixtures(mesh)
    documents = generated(mesh, arguments.seed, arguments.count)
    pods = len(recorded) + len(documents)
    found: list[Difference] = []
    for mode in mesh.modes:
        comparison = Comparison(mesh, arguments.release, arguments.program, arguments.meshprobe, mode)
        for manifests in recorded:
            comparison.run(manifests)
        comparison.run_generated(documents)
        comparison.injector.process.kill()
        print_counts(f"{mode.title}, {pods} manifests", comparison.counts)
        found += comparison.differences
    return found, pods


def minimized(arguments: argparse.Namespace, mesh: Mesh, difference: Difference) -> str:
    """Returns a smaller manifest with the same difference."""
    mode = next(mode for mode in mesh.modes if mode.title == difference.mode)
    comparison = Comparison(mesh, arguments.release, arguments.program, arguments.meshprobe, mode)

    def holds(documents: list[Json]) -> bool:
        comparison.differences.clear()
        # The namespace of a workload exists.
        if len(documents) < len(difference.workload):
            return False
        comparison.run_generated({"case.yaml": documents}, difference.check)
        return any(found.signature() == difference.signature() for found in comparison.differences)

    try:
        documents = difference.workload
        return manifest(minimize(documents, holds) if holds(documents) else documents)
    finally:
        comparison.injector.process.kill()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mesh", required=True, choices=MESHES)
    for option in ("--release", "--program", "--meshprobe", "--output"):
        parser.add_argument(option, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--record", nargs=2, metavar=("REF", "COMMIT"))
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    arguments.meshprobe, arguments.program = (
        str(Path(program).resolve()) for program in (arguments.meshprobe, arguments.program)
    )
    mesh = MESHES[arguments.mesh]
    found, pods = compare(arguments, mesh)
    title = f"{mesh.title} {arguments.release}"
    code = write_cases(Path(arguments.output), title, found, lambda case: minimized(arguments, mesh, case))
    if arguments.record and code == 0:
        file = ROOT / "crates" / "mesh" / "src" / "mesh" / mesh.name / "proven.csv"
        upsert(file, [arguments.release, *arguments.record, str(pods)])
        print(f"   recorded: {title} in {file.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
