"""Writes values as block YAML."""

import json
import re
from typing import Any

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9/._-]*")
KEYWORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}


def to_yaml(value: Any, indent: int = 0) -> str:
    """Returns a value as block YAML. Strings that are not plain words are quoted as in JSON."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(pad + _entry(f"{_scalar(key)}:", item, indent) for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(pad + _item(item, indent) for item in value)
    return f"{pad}{_scalar(value)}\n"


def _entry(key: str, value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return f"{key}\n{to_yaml(value, indent + 1)}"
    if isinstance(value, str) and _is_block(value):
        lines = "".join("  " * (indent + 1) + line + "\n" for line in value.splitlines())
        return f"{key} |\n{lines}"
    return f"{key} {_scalar(value)}\n"


def _item(value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "- " + to_yaml(value, indent + 1).lstrip(" ")
    return f"- {_scalar(value)}\n"


def _is_block(text: str) -> bool:
    return text.endswith("\n") and text.isascii() and text.isprintable() is False and not text.startswith((" ", "\n"))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in KEYWORDS:
        return value
    return json.dumps(value)
