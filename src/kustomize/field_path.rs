//! Checks whether a field path of a kustomization affects the probes of a pod.
//!
//! Paths of replacements are split at dots, those of field specs at slashes. A backslash escapes the
//! next character, and text in brackets is a single step.

use crate::mesh::detect;
use crate::mesh::istio::keys;

/// Separator of the steps of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `spec.template.spec.containers.[name=web].image`
    Dots,
    /// `spec/template/spec/containers[]/image`
    Slashes,
}

/// Fields of a container that affect a handler or its rewrite.
const CONTAINER_FIELDS: [&str; 8] = [
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "restartPolicy",
    "startupProbe",
    "env",
];

/// Returns whether a value at `path` of an object of `kind` may change the predictions or the rewrite of the
/// probes of its pods. Returns `true` for unknown paths.
pub(crate) fn concerns_probes(path: &str, style: Style, kind: &str) -> bool {
    let steps = steps(path, style);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    if steps == ["metadata", "namespace"] {
        return true;
    }
    let root: &[&str] = match kind {
        "Pod" => &[],
        "PodTemplate" => &["template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        _ => &["spec", "template"],
    };
    match steps.strip_prefix(root) {
        Some(inner) => concerns_template(inner),
        // A path above the pod template replaces all of the template.
        None => root
            .iter()
            .zip(&steps)
            .all(|(key, step)| key == step || *step == "*"),
    }
}

fn concerns_template(inner: &[&str]) -> bool {
    match inner {
        [] | ["metadata" | "spec" | "*"] => true,
        ["metadata", "annotations" | "labels", rest @ ..] => is_mesh_key(rest),
        ["metadata", ..] => false,
        ["spec", "containers" | "initContainers", rest @ ..] => concerns_containers(rest),
        ["spec", field, ..] => matches!(*field, "hostNetwork" | "*"),
        _ => true,
    }
}

/// Returns whether the step may be a label or annotation of a mesh, except for those that affect only outbound traffic.
fn is_mesh_key(rest: &[&str]) -> bool {
    rest.first().is_none_or(|key| {
        let is_known =
            key.contains("istio.io") || detect::is_key_of_mesh(key.trim_matches(['[', ']']));
        (is_known && !key.contains("Outbound")) || key.contains('*')
    })
}

/// Returns whether a value at `path` of a pod's object is one that a rewrite may change.
pub(crate) fn is_rewritten(path: &str, style: Style, kind: &str) -> bool {
    const KEPT: [&str; 6] = [
        "hostNetwork",
        "labels",
        "name",
        "namespace",
        "ports",
        "restartPolicy",
    ];
    let is_kept = |step: &String| KEPT.contains(&step.as_str());
    concerns_probes(path, style, kind) && !steps(path, style).iter().any(is_kept)
}

/// Returns whether a value at `path` of a Namespace may decide about the pods in it.
pub(crate) fn concerns_namespace(path: &str, style: Style, _kind: &str) -> bool {
    let steps = steps(path, style);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        [] | ["metadata" | "*"] | ["metadata", "name" | "*", ..] => true,
        ["metadata", "annotations" | "labels", rest @ ..] => is_mesh_key(rest),
        _ => false,
    }
}

/// Returns whether a value at `path` of a policy may decide about the pods of its namespace.
pub(crate) fn concerns_policy(path: &str, style: Style, _kind: &str) -> bool {
    let steps = steps(path, style);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        [] | ["metadata"] => true,
        ["metadata", field, ..] => matches!(*field, "namespace" | "*"),
        [field, ..] => matches!(*field, "spec" | "*"),
    }
}

fn concerns_containers(rest: &[&str]) -> bool {
    let (chosen, field) = match rest {
        [item, field @ ..] if is_item(item) => (*item, field),
        field => ("*", field),
    };
    let [field, rest @ ..] = field else {
        return true;
    };
    if *field != "env" {
        return CONTAINER_FIELDS.contains(field) || *field == "*";
    }
    // The prober env of the sidecar is the only variable that matters.
    let is_other = |item: &str, name: &str| item.contains('=') && !item.contains(name);
    let variable = rest.first().copied().unwrap_or("*");
    !is_other(chosen, keys::PROXY_CONTAINER)
        && !is_other(variable, keys::PROBERS_ENV)
        && variable != "valueFrom"
}

/// Returns whether a step selects items of a list.
fn is_item(step: &str) -> bool {
    step == "*" || step == "-" || step.starts_with('[') || step.parse::<usize>().is_ok()
}

fn steps(path: &str, style: Style) -> Vec<String> {
    let separator = match style {
        Style::Dots => '.',
        Style::Slashes => '/',
    };
    let mut steps = vec![String::new()];
    let mut depth = 0_usize;
    let mut characters = path.chars();
    while let Some(c) = characters.next() {
        let c = match c {
            '\\' => characters.next().unwrap_or(c),
            c if c == separator && depth == 0 => {
                steps.push(String::new());
                continue;
            }
            c => {
                match c {
                    '[' => depth += 1,
                    ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                c
            }
        };
        if let Some(last) = steps.last_mut() {
            last.push(c);
        }
    }
    let bare = steps.into_iter().map(|step| match step.strip_suffix("[]") {
        Some(list) => list.to_owned(),
        None => step,
    });
    bare.filter(|step| !step.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use crate::kustomize::field_path::{Style, concerns_probes};

    fn dots(path: &str) -> bool {
        concerns_probes(path, Style::Dots, "Deployment")
    }

    #[test]
    fn paths_to_probe_settings_are_distinguished_from_other_paths() {
        for path in [
            "spec",
            "spec.template",
            "spec.template.spec.containers",
            "spec.template.spec.containers.0",
            "spec.template.spec.containers.[name=web].readinessProbe.httpGet.path",
            "spec.template.spec.containers.*.ports.0.containerPort",
            "spec.template.spec.containers.[name=istio-proxy].env",
            "spec.template.spec.containers.0.env.[name=ISTIO_KUBE_APP_PROBERS].value",
            "spec.template.metadata.annotations",
            "spec.template.metadata.annotations.proxy\\.istio\\.io/config",
            "spec.template.spec.hostNetwork",
            "metadata.namespace",
            "*",
        ] {
            assert!(dots(path), "{path}");
        }
        for path in [
            "metadata.name",
            "metadata.annotations.a",
            "spec.replicas",
            "spec.template.spec.containers.[name=web].image",
            "spec.template.spec.containers.[name=web].env.[name=A].value",
            "spec.template.spec.containers.*.env.[name=A].value",
            "spec.template.metadata.annotations.example\\.test/a",
            "spec.template.metadata.annotations.[traffic.sidecar.istio.io/excludeOutboundPorts]",
            "spec.template.spec.volumes.0.name",
        ] {
            assert!(!dots(path), "{path}");
        }
    }

    #[test]
    fn the_path_of_the_template_depends_on_the_kind() {
        let slashes = |path: &str, kind: &str| concerns_probes(path, Style::Slashes, kind);
        assert!(slashes("metadata/annotations", "Pod"));
        assert!(!slashes("metadata/annotations", "Deployment"));
        assert!(slashes(
            "spec/jobTemplate/spec/template/spec/containers[]/name",
            "CronJob"
        ));
        assert!(!slashes(
            "spec/template/spec/containers[]/image",
            "Deployment"
        ));
        assert!(!slashes(
            "spec/template/spec/containers/env/valueFrom/configMapKeyRef/name",
            "Deployment"
        ));
    }
}
