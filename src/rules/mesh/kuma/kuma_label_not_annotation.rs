//! Rule `kuma-label-not-annotation`, documented in `docs/rules/kuma-label-not-annotation.md`.

use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::kuma::INJECTION;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::yaml::Entry;

declare_rule! {
    "kuma-label-not-annotation", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter_map(|pod| {
        let template = &pod.workload.template;
        let entry = template.annotation(INJECTION)?;
        // If the label is present, the annotation is redundant but harmless.
        let has_label = template.label(INJECTION).is_some();
        (!has_label).then(|| report(&pod.workload.object, &entry))
    });
    let namespaces = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.annotation(INJECTION)?;
        let has_label = namespace.label(INJECTION).is_some();
        (!has_label).then(|| report(namespace, &entry))
    });
    pods.chain(namespaces).collect()
}

fn report(object: &Object<'_>, entry: &Entry<'_>) -> Finding {
    let message = format!("annotation `{INJECTION}` has no effect: Kuma reads only the label");
    let mut finding = RULE.finding_on_deployed(object, entry.key.span(), message);
    finding.help = Some("move it to `labels`".to_owned());
    finding
}
