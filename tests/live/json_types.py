"""The data that the processes of the rig exchange."""

from typing import Any

# An object as JSON knows it: a manifest or a part of one, a configuration, a result.
Json = dict[str, Any]
