"""The mode of mutual TLS and the allowed callers, from the same files that meshprobe reads."""

from dataclasses import dataclass, field

import envoy_config
import manifests

PROTOCOLS = {"http": "http", "https": "tcp", "tcp": "tcp", "grpc": "http2", "http2": "http2"}


@dataclass
class Policy:
    """The policy that applies to the tested pods."""

    mode: str = envoy_config.DEFAULT_MODE
    ports: dict[int, str] = field(default_factory=dict)
    principals: list[str] = field(default_factory=list)


def read(text: str) -> Policy:
    """Returns the policy that results from the objects of one file of fixtures/live/policies."""
    policy = Policy()
    for document in manifests.documents(text):
        spec = document["spec"]
        if document["kind"] == "PeerAuthentication":
            policy.mode = spec["mtls"]["mode"]
            policy.ports |= {port: mtls["mode"] for port, mtls in spec.get("portLevelMtls", {}).items()}
        elif document["kind"] == "AuthorizationPolicy":
            policy.principals += [name for rule in spec["rules"] for source in rule["from"]
                                  for name in source["source"]["principals"]]
        else:
            raise ValueError(f"the rig cannot enforce a {document['kind']}")
    return policy


def prefixes(text: str) -> dict[int, str]:
    """Returns port -> the prefix of the name of the Service port if it is a protocol, else ""."""
    found: dict[int, str] = {}
    for document in manifests.documents(text):
        if document["kind"] == "Service":
            for port in document["spec"]["ports"]:
                prefix = port["name"].split("-")[0]
                found[port["targetPort"]] = prefix if prefix in PROTOCOLS else ""
    return found


def protocols(text: str) -> dict[int, str]:
    """Returns port -> protocol, as the Service declares it."""
    return {port: PROTOCOLS.get(prefix, "auto") for port, prefix in prefixes(text).items()}
