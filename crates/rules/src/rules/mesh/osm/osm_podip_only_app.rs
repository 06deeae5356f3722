//! Rule `osm-podip-only-app`, documented in `docs/rules/osm-podip-only-app.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Container;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "osm-podip-only-app", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::OSM);
    if !is_osm
        || !matches!(
            handler.verdict.cause,
            Cause::ForwardedByProxy | Cause::CheckedByHelper
        )
    {
        return None;
    }
    let argument = listens_on_pod(&handler.container)?;
    let text = argument.text().unwrap_or_default();
    let message = format!(
        "{} will target 127.0.0.1, but the application may listen only on the address of the pod \
         (`{text}`)",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    let listener = "this looks like the address to listen on";
    let place = pod.workload.object.label_at(argument.span(), listener);
    finding.related.insert(0, place);
    finding.help = Some("make the application listen on 0.0.0.0, or also on 127.0.0.1".to_owned());
    Some(finding)
}

/// Returns the argument that looks like the address of a listener and contains the address of the pod.
fn listens_on_pod<'t>(container: &Container<'t>) -> Option<NodeRef<'t>> {
    let items = |key: &str| container.node.get(key).into_iter().flat_map(NodeRef::items);
    let variables = items("env").filter_map(|variable| {
        let field = variable
            .get("valueFrom")?
            .get("fieldRef")?
            .get("fieldPath")?;
        (field.text() == Some("status.podIP")).then(|| variable.get("name")?.text())?
    });
    let references: Vec<String> = variables.map(|name| format!("$({name})")).collect();
    let mut arguments = items("command").chain(items("args"));
    arguments.find(|argument| {
        let text = argument.text().unwrap_or_default();
        let lower = text.to_lowercase();
        let names_listener = ["listen", "bind", "addr"]
            .iter()
            .any(|word| lower.contains(word));
        references.iter().any(|reference| {
            text.contains(reference.as_str())
                && (names_listener || text.contains(&format!("{reference}:")))
        })
    })
}
