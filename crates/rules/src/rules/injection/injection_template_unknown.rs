//! Rule `injection-template-unknown`, documented in `docs/rules/injection-template-unknown.md`.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix, Severity};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::{keys, known_names};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::similar_names::is_close;

declare_rule! {
    "injection-template-unknown", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.injected_pods().flat_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::TEMPLATES) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    let install = cx.context.istio(workload).installation();
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
        .chain(known_names::TEMPLATES.iter().copied())
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
                &RULE,
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
            finding.fix = closest.map(|closest| fix(workload, list, name, closest));
            finding
        })
        .collect()
}

fn fix(workload: &Workload<'_>, list: &str, name: &str, closest: &str) -> Fix {
    let names: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .map(|listed| if listed == name { closest } else { listed })
        .collect();
    let change = Change::Set {
        route: workload.template.annotation_route(keys::TEMPLATES),
        value: Value::Str(names.join(",")),
    };
    let title = format!("replace `{name}` with `{closest}`");
    Fix::of_object(
        &workload.object,
        title,
        Applicability::unsafe_because(format!("another template than `{closest}` may be intended")),
        vec![change],
    )
}
