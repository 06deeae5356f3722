"""What goes from one process of the rig to another."""

from typing import Any

# An object as JSON knows it: a manifest or a part of one, a configuration, a result.
Json = dict[str, Any]
