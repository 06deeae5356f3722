//! The guards of `rewrite`: why a pod is left as it was, and what to know about one that was not.

use crate::finding::Severity;

use super::notices::Notice;

/// All guards and notes of `rewrite`, sorted by id.
pub const GUARDS: &[Notice] = &[
    refusal(
        "container-name",
        "\
The name of a container with a probe is no DNS label: lower-case letters, digits and `-`, at most
63 characters.

## Why it matters

The agent does not start on a prober of such a name, and the API server refuses the container.

## What to do

Give the container a name that is a DNS label.
",
    ),
    refusal(
        "context-only",
        "\
A kustomization to be rewritten takes the workload in from a file that is read as context only.

## Why it matters

Files outside of the paths of the run are read for facts, and never edited: other overlays may use
them, too.

## What to do

Name the file of the base among the paths: `meshprobe rewrite --write overlays/prod base`.
",
    ),
    refusal(
        "duplicate-container-name",
        "\
Two containers of a pod have the same name.

## Why it matters

The agent finds a probe by the name of its container: both would share one prober. The API server
refuses such a pod anyway.

## What to do

Name the two containers apart.
",
    ),
    refusal(
        "env-reference",
        "\
A path, header or gRPC service of a probe holds `$(` or `$$`.

## Why it matters

In a probe these characters mean themselves. In the env of the sidecar, where a rewrite puts them,
the kubelet expands `$(NAME)` and makes one `$` of two: another request would be sent.

## What to do

Write the value without them, or leave the rewrite to the webhook.
",
    ),
    refusal(
        "gateway-template",
        "\
The pod is injected with a template that brings a gateway or waypoint and no sidecar.

## Why it matters

Such a template does not hand `proxyMetadata` to a sidecar, so the probes would point at an agent
that does not know them.

## What to do

Nothing: leave the pod as it is.
",
    ),
    note(
        "hooks-left",
        "\
The pod was rewritten, but its lifecycle hooks (`postStart`, `preStop`) were left as they are, as
the release of the mesh is not known.

## Why it matters

An agent older than 1.25 does not start on the probers of hooks.

## What to do

Say the release: `--mesh-version 1.28`.
",
    ),
    refusal(
        "hooks-need-release",
        "\
A lifecycle hook would no longer work in the rewritten pod, and the release of the mesh is not known.

## Why it matters

From 1.25 on hooks are rewritten as probes are. An agent older than that does not start on their
probers, so without a release they cannot be rewritten along.

## What to do

Say the release: `--mesh-version 1.28`.
",
    ),
    refusal(
        "injection-unproven",
        "\
Nothing proves that the pod will be injected.

## Why it matters

A rewritten probe asks the agent. In a pod without sidecar nobody answers there, and a pod that
was healthy never becomes ready.

## What to do

Add the Namespace manifest to the run (`--context`), or say `--assume injection=all`.
",
    ),
    refusal(
        "invalid-handler",
        "\
The API server would refuse the handler: an unknown scheme, a value of the wrong type, a probe on
an init container that ends.

## Why it matters

What cannot be applied cannot be rewritten so that it keeps its meaning.

## What to do

Mend the handler; the message names the field.
",
    ),
    note(
        "job-immutable",
        "\
The pod template of a Job was rewritten.

## Why it matters

The pod template of a Job that exists cannot be changed: the API server refuses the new manifest.

## What to do

Delete the existing Job before the new manifest is applied. A Job that is created anew needs
nothing.
",
    ),
    refusal(
        "knative",
        "\
The workload belongs to Knative.

## Why it matters

Knative changes the probes of its revisions itself and puts its queue proxy in front of them.

## What to do

Leave it to Knative. Where you know better, `--allow knative` rewrites it.
",
    ),
    refusal(
        "kustomize-overlay",
        "\
A kustomization of the tree patches what a rewrite of its base would change too: a probe, or a setting
of the rewrite.

## Why it matters

The patch would be laid over the rewritten probe, and what comes out would ask the agent for something
it has no entry for.

## What to do

Rewrite what the overlay builds: `kustomize build DIR | meshprobe rewrite -`, or use the KRM function.
",
    ),
    note(
        "opt-out",
        "\
The pod is left as it is: its annotation, or a default of the mesh, switches the rewrite of probes
off.

## Why it matters

The opt-out without a prober env beside it is a decision of the owner, which a rewrite respects.

## What to do

Nothing, if it is meant. Else delete the annotation `sidecar.istio.io/rewriteAppHTTPProbers`.
",
    ),
    refusal(
        "placeholder",
        "\
A port or value of a probe is a placeholder that another tool fills in, such as `${PORT}`.

## Why it matters

The value that the agent needs is not in the manifest, and the tool that fills it in may not look
into the env of the sidecar.

## What to do

Rewrite the manifests after that tool has run.
",
    ),
    refusal(
        "port-range",
        "\
The port of a probe is no port from 1 to 65535.

## Why it matters

Nothing listens there, and the API server refuses it.

## What to do

Write the port that the application listens on.
",
    ),
    refusal(
        "port-unresolved",
        "\
The port of a probe is a name that its container does not declare, or a number in quotes.

## Why it matters

The injector points such a probe at the agent all the same, but records nothing for it: the agent
answers 400 for ever.

## What to do

Declare the name under `ports` of the same container, or write the number without quotes.
",
    ),
    refusal(
        "probe-host",
        "\
A probe names a `host`.

## Why it matters

In an `httpGet` the injector keeps it, and the kubelet asks that host on the agent's port. In a
`tcpSocket` it is lost, and the agent tests the pod itself.

## What to do

Delete `host` where the pod itself is meant, or test the other host in another way.
",
    ),
    refusal(
        "probe-path",
        "\
The path of a probe is a URL, or has a `%` that no two hex digits follow.

## Why it matters

The kubelet and the agent read such a path differently: the rewritten probe would ask for another
one.

## What to do

Write the path alone, from its `/` on, and a literal `%` as `%25`.
",
    ),
    refusal(
        "prober-env-conflict",
        "\
The pod has a prober env (`ISTIO_KUBE_APP_PROBERS`) that does not go with this rewrite: one entry
says something else, it does not hold all probes, or it stands in a second place.

## Why it matters

The sidecar would be given two envs of one name, or one that answers for another probe.

## What to do

Delete the old env and rewrite again.
",
    ),
    refusal(
        "prober-env-invalid",
        "\
The prober env (`ISTIO_KUBE_APP_PROBERS`) of the pod cannot be read.

## Why it matters

The agent does not start on an env that it cannot read.

## What to do

Delete the env and rewrite again, or mend its JSON.
",
    ),
    refusal(
        "proxy-config-invalid",
        "\
The annotation `proxy.istio.io/config` cannot be read or extended.

## Why it matters

It is where the sealed form keeps the prober env: what cannot be read cannot be extended.

## What to do

Mend the annotation: its value is a YAML mapping.
",
    ),
    refusal(
        "proxy-in-init-containers",
        "\
A partial container `istio-proxy` stands in `initContainers`, and nothing proves that the sidecar is
a native one.

## Why it matters

A classic sidecar does not take its env from there: the agent would not know the probes.

## What to do

Move the container to the end of `containers`, or say `--override native-sidecars=true`.
",
    ),
    refusal(
        "proxyless-template",
        "\
The pod is injected with a proxyless template (`grpc-agent`, `grpc-simple`), and the release is
older than 1.12.

## Why it matters

In such a release the template does not switch the rewrite off itself, and there is no sidecar
that would receive the env.

## What to do

Leave the pod as it is.
",
    ),
    refusal(
        "release-too-old",
        "\
The release of the mesh is older than 1.10.

## Why it matters

What its agent understands is not known; such pods are checked only.

## What to do

Nothing, or update the mesh.
",
    ),
    refusal(
        "rewritten-without-entry",
        "\
A probe asks the agent (`/app-health/…`), but no prober env has an entry for it.

## Why it matters

The agent answers 400 to a path that it does not know, so the probe always fails.

## What to do

Restore the original probe and rewrite again, or add the entry.
",
    ),
    refusal(
        "sops",
        "\
The document is encrypted with SOPS.

## Why it matters

SOPS keeps a checksum over all values: after an edit it can no longer be decrypted.

## What to do

Decrypt it, rewrite it, and encrypt it again.
",
    ),
    refusal(
        "status-port-in-use",
        "\
A probe names the port that the agent itself listens on.

## Why it matters

The injector takes it for one that was rewritten before: it points it at the agent but records
nothing for it, and the agent answers 400.

## What to do

Move the application to another port.
",
    ),
    refusal(
        "status-port-invalid",
        "\
The annotation `status.sidecar.istio.io/port` is no port.

## Why it matters

Injection fails, or the injector points the probes at port 0.

## What to do

Write a number from 1 to 65535, in quotes and without blanks.
",
    ),
    refusal(
        "status-port-mismatch",
        "\
The annotation `proxy.istio.io/config` moves the agent to another port than the one that the
injector points probes at.

## Why it matters

The rewritten probes would ask a port on which nobody listens.

## What to do

Use the annotation `status.sidecar.istio.io/port`, which both honour.
",
    ),
    refusal(
        "two-handlers",
        "\
A probe or hook has two handlers.

## Why it matters

The API server allows one and refuses the manifest.

## What to do

Delete all but the one that is meant.
",
    ),
    refusal(
        "unknown-template",
        "\
The pod is injected with a template that is not one of Istio's own.

## Why it matters

Injection fails where the mesh has no template of that name; what a template of your own does with
`proxyMetadata` is not known.

## What to do

Leave the rewrite to the webhook.
",
    ),
];

const fn refusal(id: &'static str, docs: &'static str) -> Notice {
    Notice {
        id,
        severity: Severity::Error,
        docs,
    }
}

const fn note(id: &'static str, docs: &'static str) -> Notice {
    Notice {
        id,
        severity: Severity::Note,
        docs,
    }
}

/// Tells whether an id is that of a guard or note of `rewrite`.
#[must_use]
pub fn is_guard(id: &str) -> bool {
    GUARDS.iter().any(|guard| guard.id == id)
}

#[cfg(test)]
mod tests {
    use super::GUARDS;
    use crate::engine::NOTICES;
    use crate::rules;

    #[test]
    fn guards_are_sorted_and_share_no_id() {
        assert!(GUARDS.is_sorted_by_key(|guard| guard.id));
        let others = NOTICES.iter().map(|notice| notice.id);
        let mut others = others.chain(rules::all().iter().map(|rule| rule.id));
        assert!(others.all(|id| !super::is_guard(id)));
    }
}
