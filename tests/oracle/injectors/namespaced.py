"""Generates workloads with a Namespace each."""

from generate import Generator, Json


class NamespacedGenerator(Generator):
    """Builds a Namespace and a workload, so that many manifests can be read together."""

    def documents(self, index: int) -> list[Json]:
        workload = self.workload(index)
        name = f"ns-{index:05}"
        workload["metadata"]["namespace"] = name
        metadata = {"name": name, **self.namespace_metadata()}
        return [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, workload]

    def namespace_metadata(self) -> Json:
        """Returns the labels and annotations of a Namespace."""
        return {}
