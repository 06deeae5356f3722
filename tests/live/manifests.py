"""Reads manifests."""

import yaml

from json_types import Json

# The loader in C if it is available, because a tree is read many times.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(text: str) -> list[Json]:
    """Returns the documents of a stream, without the empty ones."""
    return [document for document in yaml.load_all(text, LOADER) if document]


def templates(text: str) -> dict[str, Json]:
    """Returns name -> pod template for the Deployments of a stream."""
    return {document["metadata"]["name"]: document["spec"]["template"]
            for document in documents(text) if document["kind"] == "Deployment"}
