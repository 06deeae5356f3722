//! Rule `kuma-label-not-annotation`, documented in `docs/rules/kuma-label-not-annotation.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::kuma::{INJECTION, reads_annotation};
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "kuma-label-not-annotation", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter_map(|pod| {
        let template = &pod.workload.template;
        let entry = template.annotation(INJECTION)?;
        let label = template.label(INJECTION);
        report(cx, &pod.workload.object, &entry, label.is_some())
    });
    let namespaces = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.annotation(INJECTION)?;
        let label = namespace.label(INJECTION);
        report(cx, namespace, &entry, label.is_some())
    });
    pods.chain(namespaces).collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    object: &Object<'t>,
    entry: &Entry<'_>,
    has_label: bool,
) -> Option<Finding> {
    let release = cx.context.mesh_release(Mesh::KUMA, object);
    // If the label is present, the annotation is redundant but harmless.
    if has_label || reads_annotation(release.value) {
        return None;
    }
    let message =
        format!("annotation `{INJECTION}` has no effect: Kuma reads only the label since 2.2");
    let mut finding = RULE.finding_on_deployed(object, entry.key.span(), message);
    finding.help = Some("move it to `labels`".to_owned());
    finding.depend_on(&release);
    Some(finding)
}
