//! Rule `exclude-ignored-with-include-list`, documented in `docs/rules/exclude-ignored-with-include-list.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "exclude-ignored-with-include-list", Warning, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .filter_map(report)
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let include = template.annotation(keys::INCLUDE_INBOUND_PORTS)?;
    let exclude = template.annotation(keys::EXCLUDE_INBOUND_PORTS)?;
    let list = include.value.text()?;
    let included: Vec<i64> = annotations::ports(list).collect();
    let in_both_lists: Vec<i64> = annotations::ports(exclude.value.text()?)
        .filter(|port| included.contains(port))
        .collect();
    let first = in_both_lists.first()?;
    let message = format!(
        "port {first} is still captured: Istio ignores `excludeInboundPorts` if \
         `includeInboundPorts` lists ports"
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, exclude, message);
    finding.related.push(workload.object.label_at(
        pod_metadata::value_span(include),
        "exactly these ports are captured",
    ));
    finding.depend_on(&pod.dataplane);
    let remaining = in_both_lists
        .iter()
        .fold(list.to_owned(), |remaining, port| {
            pod_metadata::without_port(&remaining, *port)
        });
    let help = format!("remove {first} from `includeInboundPorts` or from this annotation");
    finding.help = Some(help);
    let change = Change::Set {
        route: template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        value: Value::Str(remaining),
    };
    let title = "remove the excluded ports from `includeInboundPorts`";
    finding.fix = Some(Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because("the sidecar then no longer captures these ports"),
        vec![change],
    ));
    Some(finding)
}
