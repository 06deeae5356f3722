//! Rule `invalid-traffic-annotation`, documented in `docs/rules/invalid-traffic-annotation.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Container, Workload};
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "invalid-traffic-annotation", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.injected_pods().flat_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    annotations::rejections_in(&workload.template, pod.release.value)
        .filter_map(|rejected| {
            let (entry, why) = (rejected.entry, rejected.reason);
            let (key, value) = (entry.key.text()?, entry.value.as_str()?);
            let message = format!(
                "annotation `{key}` is invalid ({why}): Istio refuses the pod, so {}",
                pod_metadata::not_created(workload),
            );
            let mut finding = pod_metadata::finding_on_entry(
                &RULE,
                workload,
                MetadataMap::Annotation,
                entry,
                message,
            );
            if let Some(change) = rejected.since {
                finding.depend_on(&cx.context.istio(workload).has(change));
            }
            finding.depend_on(&pod.dataplane);
            finding.help = Some(help(key, value));
            finding.fix = fix(workload, key, value);
            Some(finding)
        })
        .collect()
}

fn help(key: &str, value: &str) -> String {
    if key == keys::EXCLUDE_INBOUND_PORTS && value.trim() == "*" {
        let include = keys::INCLUDE_INBOUND_PORTS;
        return format!("to capture no ports, set `{include}: \"\"`");
    }
    if key.ends_with("Ports") {
        return "list port numbers, separated by commas".to_owned();
    }
    "set a value that Istio accepts, or remove the annotation".to_owned()
}

fn fix(workload: &Workload<'_>, key: &str, value: &str) -> Option<Fix> {
    let template = &workload.template;
    let route = pod_metadata::route(template, MetadataMap::Annotation, key);
    if key == keys::EXCLUDE_INBOUND_PORTS && value.trim() == "*" {
        let include = keys::INCLUDE_INBOUND_PORTS;
        if template.annotation(include).is_some() {
            return None;
        }
        let change = Change::Replace {
            route,
            key: include.to_owned(),
            value: Value::from(""),
        };
        let title = format!("replace it with `{include}: \"\"`, which captures no ports");
        return Some(Fix::of_object(
            &workload.object,
            title,
            Applicability::unsafe_because(
                "pods that are refused now then start, and the sidecar captures none of their ports",
            ),
            vec![change],
        ));
    }
    let numbers = port_numbers(workload, value).filter(|_| key.ends_with("Ports"))?;
    let title = format!("replace port names with numbers: `\"{numbers}\"`");
    let value = Value::Str(numbers);
    let change = Change::Set { route, value };
    Some(Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because("pods that are refused now then start with these ports"),
        vec![change],
    ))
}

/// Replaces the names of declared ports in a list with their numbers. Returns `None` if a name is not declared.
fn port_numbers(workload: &Workload<'_>, list: &str) -> Option<String> {
    let containers = workload.template.containers();
    let number = |entry: &str| {
        let name = entry.trim();
        if name.parse::<u16>().is_ok() {
            return Some(name.to_owned());
        }
        let mut ports = containers.iter().flat_map(Container::ports);
        let port = ports.find(|port| port.name == Some(name))?;
        Some(port.number?.to_string())
    };
    let entries: Option<Vec<String>> = list.split(',').map(number).collect();
    Some(entries?.join(","))
}
