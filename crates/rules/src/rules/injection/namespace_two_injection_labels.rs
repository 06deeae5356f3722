//! Rule `namespace-two-injection-labels`, documented in `docs/rules/namespace-two-injection-labels.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, FieldPath};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::keeping_comment;

declare_rule! {
    "namespace-two-injection-labels", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    cx.namespaces().filter_map(report).collect()
}

fn report(namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION)?;
    let revision = namespace.label(keys::REVISION)?;
    let (word, name) = (injection.value.text()?, revision.value.text()?);
    let has_placeholder = placeholder::contains(word) || placeholder::contains(name);
    let enabled = word == "enabled";
    if has_placeholder || name.is_empty() || (enabled && name == "default") {
        return None;
    }
    let instead = if enabled {
        "the default control plane injects instead, if it exists"
    } else {
        "no control plane injects"
    };
    let message = format!(
        "label `{}={name}` on namespace `{}` is ignored because `{}={word}` takes precedence: \
         {instead}",
        keys::REVISION,
        namespace.name(),
        keys::NAMESPACE_INJECTION,
    );
    let mut finding = RULE.finding_on_deployed(namespace, revision.value.span(), message);
    if !enabled {
        // Injection may be disabled intentionally.
        finding.severity = finding.severity.lowered();
    }
    let labels = FieldPath::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(keys::REVISION).to_string());
    finding.related.push(namespace.label_at(
        injection.value.span(),
        "this label takes precedence over revisions",
    ));
    finding.help = Some("remove one of the two labels".to_owned());
    finding.fix = enabled.then(|| {
        let wanted = Applicability::unsafe_because(format!(
            "the control plane of revision `{name}` then injects the pods, instead of the default one"
        ));
        let degree = keeping_comment(injection, wanted);
        let route = namespace
            .route
            .join(&labels)
            .child(keys::NAMESPACE_INJECTION);
        let title = format!(
            "remove `{}`, so that the revision applies",
            keys::NAMESPACE_INJECTION
        );
        Fix::of_object(namespace, title, degree, vec![Change::Remove { route }])
    });
    Some(finding)
}
