"""The live proof:  run.py --meshprobe BINARY

Uses a real Envoy, a real redirect and real probes. Probes the original manifests and the output of
`meshprobe rewrite`, without a mesh and in each mode of mutual TLS. See docs/live-proof.md.

Exit codes: 0 proved; 1 a disagreement; 2 the rig did not work or was stopped; 77 this machine cannot run it.
"""

import argparse
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import leftovers
import network
import processes
from evidence import publish
from modes import MODES
from plants import OSM_PORT, PLANTS

# Folders that a user's PATH often lacks.
FOLDERS = ("/usr/sbin", "/sbin")
COMMANDS = ("ip", "iptables", "iptables-restore", "openssl", "kustomize")
PACKAGES = ("envoy", "h2", "yaml")
PROVED, DISAGREES, BROKEN, SKIPPED = 0, 1, 2, 77


def main() -> int:
    arguments = parse()
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS])
    if reason := missing() or network.missing_privilege():
        print(f"skip live: the live proof cannot run here: {reason}")
        return SKIPPED
    leftovers.sweep()
    hurry()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        with tempfile.TemporaryDirectory(prefix=f"{leftovers.PREFIX}{os.getpid()}-") as folder:
            # The application and Envoy read files there as other users.
            os.chmod(folder, 0o711)
            wrong = prove(arguments, Path(folder))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return BROKEN
    except (RuntimeError, OSError, ValueError) as error:
        print(f"the rig did not work: {error}", file=sys.stderr)
        return BROKEN
    for line in wrong:
        print(f"DISAGREE {line}")
    return DISAGREES if wrong else PROVED


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshprobe", required=True, help="the binary")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="only these")
    parser.add_argument("--cases", nargs="+", metavar="WORKLOAD", default=[], help="only these")
    parser.add_argument("--plant", choices=PLANTS, help="an error that must be found: " + "; ".join(
        f"{name}: {effect}" for name, effect in PLANTS.items()))
    parser.add_argument("--prober", metavar="PROGRAM",
                        help="the prober of the kubelet, with which the stand-in is compared; "
                             "tests/oracle/kubernetes.sh --prober builds it")
    parser.add_argument("--update", action="store_true", help="write the tables of docs/evidence")
    return parser.parse_args()


def missing() -> str | None:
    """Returns the names of missing programs and packages, or None."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux, for network namespaces and iptables"
    lacking = [name for name in COMMANDS if not shutil.which(name)]
    lacking += [f"the Python package {name}" for name in PACKAGES if not importlib.util.find_spec(name)]
    return f"{', '.join(lacking)} missing" if lacking else None


def hurry() -> None:
    """Raises the priority, so that other work on this machine does not make probes time out."""
    with contextlib.suppress(OSError):
        os.nice(-10)


def stop(*_: object) -> None:
    processes.stop_all()
    raise KeyboardInterrupt


def prove(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Prints the results, and returns all differences."""
    # These need the packages.
    from kubelet import Prober
    from osm import OsmProof
    from product import Meshprobe
    from proof import TREE, Proof
    from rig import make_certificate

    meshprobe = Meshprobe(str(Path(arguments.meshprobe).resolve()), TREE, arguments.plant)
    certificate = make_certificate(folder)
    prober = Prober(str(Path(arguments.prober).resolve()) if arguments.prober else None)
    proof = Proof(meshprobe, folder, certificate, prober, arguments.modes, arguments.cases)
    osm = OsmProof(meshprobe, folder, certificate, prober)
    is_whole = not (arguments.plant or arguments.cases) and arguments.modes == list(MODES)
    proofs: list[Proof | OsmProof] = [osm] if arguments.plant == OSM_PORT else [proof]
    if is_whole:
        proofs.append(osm)
    with alone() if is_whole else contextlib.nullcontext():
        start, again = time.monotonic(), 0
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(each.measure) for each in proofs]:
                done.result()
        wrong = [line for each in proofs for line in each.judge()] + prober.differences()
        if wrong and not arguments.plant:
            # On a busy machine our own processes may take longer than a probe waits.
            again = sum(each.measure_again() for each in proofs)
            wrong = [line for each in proofs for line in each.judge()] + prober.differences()
        seconds = time.monotonic() - start
    tables = [table for each in proofs for table in each.tables()]
    # A whole run is compared with the published tables, so its sums are enough.
    print("\n".join(table.text() for table in tables if not is_whole or table.name == "live-proof-counts"))
    if arguments.prober:
        print(f"\nprober of the kubelet and stand-in: {prober.summary()}")
    print(f"\n{len(wrong)} disagreements, {seconds:.1f} s; {again} pods timed out and were measured again")
    if is_whole:
        wrong += proof.tally.short()
        wrong += publish(tables, arguments.update)
    return wrong


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Waits for another complete run on this machine, because two runs would make each other's probes time out."""
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                # An abstract name: it needs no file, and the kernel removes it with the process.
                lock.bind(f"\0{leftovers.PREFIX}lock")
                break
            except OSError:
                time.sleep(0.5)
        yield


if __name__ == "__main__":
    sys.exit(main())
