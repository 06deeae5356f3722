"""Records a release as proven: record.py FILE TREE REF COMMIT PODS. tests/oracle/istio.sh --record calls it."""

import re
import sys
from pathlib import Path

from proven import upsert


def main() -> int:
    file, tree, ref, commit, pods = sys.argv[1:]
    # The version of a branch such as master is that of the next release, which does not exist yet.
    release = re.match(r"(?:release-)?(\d+\.\d+)", ref)
    version = Path(tree, "VERSION").read_text().strip()
    if not release or not version.startswith(release[1]):
        print(f"   not recorded: `{ref}` is not a release")
        return 0
    upsert(Path(file), [release[1], ref, commit, Path(pods).read_text().strip()])
    print(f"   recorded: Istio {release[1]} in {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
