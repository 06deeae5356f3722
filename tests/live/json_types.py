"""The data that the processes of the rig exchange."""

from typing import Any

# A JSON object: a manifest or a part of one, a configuration, or a result.
Json = dict[str, Any]
