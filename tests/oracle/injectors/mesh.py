"""What the comparison knows about a mesh."""

from dataclasses import dataclass, field

from namespaced import NamespacedGenerator


@dataclass(frozen=True)
class Mode:
    """A configuration in which pods are compared: options of meshprobe, and environment variables of the program."""

    title: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mesh:
    """A mesh whose injector is compared with meshprobe."""

    title: str
    # The value of --mesh, and the folder of fixtures.
    name: str
    # The containers that the injector adds.
    own: tuple[str, ...]
    generator: type[NamespacedGenerator]
    modes: tuple[Mode, ...]
    # Whether `rewrite --preview` shows the injector's rewrite.
    has_preview: bool
