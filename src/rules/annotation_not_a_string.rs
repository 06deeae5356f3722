//! Rule `annotation-not-a-string`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::yaml::{Change, Entry, NodeRef, Route, Scalar, Value};

declare_rule! {
    /// Finds labels and annotations that the API server refuses because they are no strings.
    ///
    /// ## What it checks
    /// Labels and annotations of Namespaces, workloads and pod templates whose value is a boolean or
    /// a number for Kubernetes tooling: `true`, `no`, `on`, `15020` without quotes.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object ("cannot unmarshal bool into Go struct field
    /// ObjectMeta ... of type string"). `istioctl kube-inject` turns the value into a string, so that
    /// a file may work there and fail when it is applied.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: false
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// Quoting what is written is safe for `true`, `false` and plain whole numbers. For other words
    /// and numbers it is unsafe: `no` may be meant as the word or as the boolean. On a pod that was
    /// rewritten ahead it is always unsafe.
    ///
    /// ## References
    /// - Kubernetes documentation: "Labels and Selectors", "Annotations"
    "annotation-not-a-string", Error, fix: Always, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let own = || Route::keys(&["metadata"]);
    let mut findings: Vec<Finding> = scene
        .namespaces()
        .flat_map(|namespace| report(namespace, namespace.metadata(), own, || true))
        .collect();
    for pod in scene.pods() {
        let object = &pod.workload.object;
        let template = &pod.workload.template;
        let plain = || !pod.is_rewritten_ahead();
        let within = || template.within.child("metadata");
        let metadata = template.node.get("metadata");
        findings.extend(report(object, metadata, within, plain));
        if template.node != object.node {
            findings.extend(report(object, object.metadata(), own, plain));
        }
        if object.kind == "CronJob" {
            let job = || Route::keys(&["spec", "jobTemplate", "metadata"]);
            findings.extend(report(object, object.node.at(&job()), job, plain));
        }
    }
    findings
}

/// Looks through metadata of an object; `route` leads there.
fn report(
    object: &Object<'_>,
    metadata: Option<NodeRef<'_>>,
    route: impl Fn() -> Route,
    plain: impl Fn() -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (holder, word) in [("labels", "label"), ("annotations", "annotation")] {
        let entries = metadata.and_then(|metadata| metadata.get(holder));
        let entries = entries.into_iter().flat_map(NodeRef::entries);
        for entry in entries.filter(is_no_string) {
            let route = route().child(holder);
            findings.extend(one(object, &route, entry, word, plain()));
        }
    }
    findings
}

fn is_no_string(entry: &Entry<'_>) -> bool {
    let scalar = entry.value.scalar();
    scalar.is_some_and(|scalar| !matches!(scalar, Scalar::Str(_) | Scalar::Null))
}

fn one(
    object: &Object<'_>,
    holder: &Route,
    entry: Entry<'_>,
    word: &str,
    plain: bool,
) -> Option<Finding> {
    let key = entry.key.text().filter(|_| !entry.key.is_merge_key())?;
    let scalar = entry.value.scalar()?;
    let text = entry.value.text()?;
    if quoted_by_kustomize(object, holder, text) {
        return None;
    }
    let message = format!(
        "the API server refuses {} `{}`: {word} `{key}` must be a string, and {text} is {}",
        object.kind,
        object.name(),
        scalar.type_name(),
    );
    let mut finding = scene::about_object(&RULE, object, entry.value.span(), message);
    let route = holder.child(key.to_owned());
    finding.field = Some(route.to_string());
    finding.help = Some(format!("write it in quotes: \"{text}\""));
    let is_plain = match scalar {
        Scalar::Bool(value) => value.to_string() == text,
        Scalar::Int(value) => value.to_string() == text,
        _ => false,
    };
    let degree = if is_plain && plain {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let change = Change::Set {
        route: object.route.join(&route),
        value: Value::from(text),
    };
    finding.fix = Some(scene::fix(
        object,
        format!("write \"{text}\""),
        degree,
        vec![change],
    ));
    Some(finding)
}

/// What kustomize (5.8, measured) writes in quotes by itself: all annotations of the object, though
/// not those of its pod template, and words that are booleans in YAML 1.1 only.
fn quoted_by_kustomize(object: &Object<'_>, holder: &Route, text: &str) -> bool {
    let of_object = *holder == Route::keys(&["metadata", "annotations"]);
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_boolean = matches!(text.to_ascii_lowercase().as_str(), "true" | "false");
    object.rendered_by.is_some() && (of_object || (is_word && !is_boolean))
}
