//! Rule `revision-not-installed`, documented in `docs/rules/revision-not-installed.md`.

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_tree::source::paths::folder;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, FieldPath};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::similar_names::is_close;

/// The maximum number of control planes that a finding shows.
const MAX_SHOWN: usize = 3;

/// The revision that `istio-injection: enabled` selects.
const DEFAULT: &str = "default";

/// The option that names revisions and tags outside of the tree.
const SETTLE: &str = "--assume revision=NAME";

declare_rule! {
    "revision-not-installed", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    let context = cx.context;
    let served: Vec<(&str, &Label)> = context.installations().served_names();
    let has_more_names = context
        .control_planes
        .iter()
        .any(|plane| plane.more_names.is_some() || !plane.unread.is_empty());
    if served.is_empty() || has_more_names {
        return Vec::new();
    }
    let settings = &context.settings;
    let set_by_user: Vec<&str> = [&settings.assume.revisions, &settings.overrides.revisions]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let has_default_role = context.installations().may_have_default_role();
    let is_served = |name: &str| {
        served.iter().any(|(served, _)| *served == name)
            || set_by_user.contains(&name)
            || name == DEFAULT && has_default_role
    };
    let namespace_labels = cx.namespaces().filter_map(|namespace| {
        let entry = deciding_label(namespace)?;
        Some((namespace, entry, FieldPath::keys(&["metadata", "labels"])))
    });
    let pod_labels = cx.pods().filter_map(|pod| {
        let entry = pod.workload.template.label(keys::REVISION)?;
        let object = &pod.workload.object;
        let namespace = context.namespace_of(object).manifest()?;
        let is_read = [keys::NAMESPACE_INJECTION, keys::REVISION]
            .iter()
            .all(|key| namespace.label(key).is_none());
        let opts_out = pod
            .workload
            .template
            .label(keys::INJECT)
            .is_some_and(|entry| entry.value.text() == Some("false"));
        let route = pod
            .workload
            .template
            .within
            .child("metadata")
            .child("labels");
        (is_read && !opts_out).then_some((object, entry, route))
    });
    namespace_labels
        .chain(pod_labels)
        .filter(|(object, entry, _)| {
            let name = revision_of(entry);
            let is_final = !placeholder::contains(name) && !is_set_by_kpt(entry);
            !name.is_empty() && is_final && !object.document.patch && !is_served(name)
        })
        .map(|(object, entry, route)| report(object, entry, &route, &served))
        .collect()
}

/// Returns the label of a Namespace that selects a revision: `istio-injection` takes precedence, and its value `enabled`
/// selects the revision `default`.
fn deciding_label<'t>(namespace: &Object<'t>) -> Option<Entry<'t>> {
    match namespace.label(keys::NAMESPACE_INJECTION) {
        Some(entry) => (entry.value.text() == Some("enabled")).then_some(entry),
        None => namespace.label(keys::REVISION),
    }
}

/// Returns the revision that a label selects.
fn revision_of<'t>(entry: &Entry<'t>) -> &'t str {
    match entry.key.text() {
        Some(keys::NAMESPACE_INJECTION) => DEFAULT,
        _ => entry.value.text().unwrap_or_default(),
    }
}

fn report(
    object: &Object<'_>,
    entry: Entry<'_>,
    labels: &FieldPath,
    served: &[(&str, &Label)],
) -> Finding {
    let name = revision_of(&entry);
    let subject = match object.kind {
        "Namespace" => format!("the pods of namespace `{}` get", object.name()),
        kind => format!("{kind}/{} gets", object.name()),
    };
    let message =
        format!("{subject} no sidecar: no control plane in the tree serves revision `{name}`");
    let mut finding = RULE.finding_on_deployed(object, entry.value.span(), message);
    let key = entry.key.text().unwrap_or(keys::REVISION).to_owned();
    finding.field = Some(labels.child(key).to_string());
    for (served, place) in served.iter().take(MAX_SHOWN) {
        finding.related.push(Label {
            message: format!("serves `{served}`"),
            ..(*place).clone()
        });
    }
    // The name of another release is not a typo.
    let is_release = name.starts_with(|c: char| c.is_ascii_digit());
    let closest = served
        .iter()
        .find(|(served, _)| is_close(name, served))
        .filter(|_| !is_release);
    // `istioctl tag set` creates tags that Git may not contain. A similar name, or an installation next to the object,
    // shows which one is meant.
    let severity = finding.severity;
    finding.depend_on(&Fact::assumed(
        (),
        format!("no tag `{name}` was created outside of the tree"),
        Some(SETTLE),
    ));
    let is_next = |(_, place): &(&str, &Label)| folder(&place.path) == folder(object.path());
    if closest.is_some() || served.iter().any(is_next) {
        finding.severity = severity;
    }
    finding.help = Some(match closest {
        Some((closest, _)) => format!("did you mean `{closest}`?"),
        None => "use a revision or tag that is installed".to_owned(),
    });
    finding
}

/// Returns whether a setter of kpt sets the value before it is deployed: `name: value # kpt-set: ${setter}`.
///
/// Source: kpt functions catalog, `apply-setters` (`functions/go/apply-setters/applysetters/apply_setters.go`).
fn is_set_by_kpt(entry: &Entry<'_>) -> bool {
    let text = entry.key.tree().text();
    let rest = text.get(entry.value.span().end..).unwrap_or_default();
    let comment = rest.lines().next().and_then(|rest| rest.split_once('#'));
    comment.is_some_and(|(_, comment)| comment.trim_start().starts_with("kpt-set:"))
}
