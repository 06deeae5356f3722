//! Rules for annotations with which Istio refuses the pod.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix, Severity};
use meshprobe_mesh::kube::{Container, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::{annotations, keys, known_keys};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::similar_names::is_close;

crate::rules::rule::rules! {
    INJECTION_TEMPLATE_UNKNOWN = "injection-template-unknown", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.injected_pods().flat_map(|pod| injection_template_unknown(cx, pod)).collect();
    PROMETHEUS_PORT_REFUSED = "prometheus-port-refused", Error, fix: None, scope: Workloads,
        |cx| cx.injected_pods().filter_map(|pod| prometheus_port_refused(cx, pod)).collect();
    INVALID_TRAFFIC_ANNOTATION = "invalid-traffic-annotation", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.injected_pods().flat_map(|pod| invalid_traffic_annotation(cx, pod)).collect();
}

fn injection_template_unknown<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::TEMPLATES) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    let install = cx.context.pod_facts(workload).installation();
    let known: Vec<&str> = install
        .candidates
        .iter()
        .flat_map(|plane| {
            let aliases = plane
                .template_aliases
                .iter()
                .map(|alias| alias.value.0.as_str());
            plane
                .custom_templates
                .iter()
                .map(|template| template.value.as_str())
                .chain(aliases)
        })
        .chain(known_keys::TEMPLATES.iter().copied())
        .collect();
    let is_unknown =
        |name: &&str| !name.is_empty() && !known.contains(name) && !placeholder::contains(name);
    list.split(',')
        .map(str::trim)
        .filter(is_unknown)
        .map(|name| {
            let message = format!(
                "unknown injection template `{name}`: Istio refuses the pod, so {}",
                pod_metadata::not_created(workload),
            );
            let mut finding = pod_metadata::finding_on_entry(
                &INJECTION_TEMPLATE_UNKNOWN,
                workload,
                MetadataMap::Annotation,
                entry,
                message,
            );
            let closest = known
                .iter()
                .find(|template| is_close(name, template))
                .copied();
            finding.depend_on(&pod.dataplane);
            if install.candidates.is_empty() {
                let assumption = format!(
                    "the mesh does not define a template `{name}` (no installation in scope)"
                );
                finding.depend_on(&Fact::assumed((), assumption, Some("--context PATH")));
            }
            if let Some(unread) = install.unread() {
                finding.depend_on(&unread);
            }
            // A template that the mesh defines itself is more likely than an error.
            if closest.is_none() && finding.certainty <= Certainty::Assumed {
                finding.severity = Severity::Note;
            }
            finding.help = Some(match closest {
                Some(closest) => format!("did you mean `{closest}`?"),
                None => format!("use one of these templates: {}", known.join(", ")),
            });
            finding.fix = closest
                .map(|closest| fix_injection_template_unknown(workload, list, name, closest));
            finding
        })
        .collect()
}

fn fix_injection_template_unknown(
    workload: &Workload<'_>,
    list: &str,
    name: &str,
    closest: &str,
) -> Fix {
    let names: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .map(|listed| if listed == name { closest } else { listed })
        .collect();
    let change = Change::set(
        workload.template.annotation_route(keys::TEMPLATES),
        names.join(","),
    );
    let title = format!("replace `{name}` with `{closest}`");
    Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because(format!("another template than `{closest}` may be intended")),
        vec![change],
    )
}

fn prometheus_port_refused<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let fact = cx.context.pod_facts(workload).scrape_fault()?;
    let fault = &fact.value;
    let message = format!(
        "annotation `{}` is invalid ({}): Istio refuses the pod since 1.31, so {}",
        fault.entry.key.text().unwrap_or_default(),
        fault.reason,
        pod_metadata::not_created(workload),
    );
    let place = MetadataMap::Annotation;
    let mut finding = pod_metadata::finding_on_entry(
        &PROMETHEUS_PORT_REFUSED,
        workload,
        place,
        fault.entry,
        message,
    );
    // The first reason is the place of the finding.
    let mut basis = fact.clone().map(|_| ());
    basis.because = basis.because.split_off(basis.because.len().min(1));
    finding.depend_on(&basis);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(format!(
        "set the number of the port on which the application serves metrics, or `{}: \"false\"`",
        keys::MERGE_METRICS
    ));
    Some(finding)
}

fn invalid_traffic_annotation<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Finding> {
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
                &INVALID_TRAFFIC_ANNOTATION,
                workload,
                MetadataMap::Annotation,
                entry,
                message,
            );
            if let Some(change) = rejected.since {
                finding.depend_on(&cx.context.pod_facts(workload).has(change));
            }
            finding.depend_on(&pod.dataplane);
            finding.help = Some(help(key, value));
            finding.fix = fix_invalid_traffic_annotation(workload, key, value);
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

fn fix_invalid_traffic_annotation(workload: &Workload<'_>, key: &str, value: &str) -> Option<Fix> {
    let template = &workload.template;
    let route = pod_metadata::route(template, MetadataMap::Annotation, key);
    if key == keys::EXCLUDE_INBOUND_PORTS && value.trim() == "*" {
        let include = keys::INCLUDE_INBOUND_PORTS;
        if template.annotation(include).is_some() {
            return None;
        }
        let change = Change::replace(route, include.to_owned(), "");
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
