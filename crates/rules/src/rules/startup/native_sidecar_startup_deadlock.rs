//! Rule `native-sidecar-startup-deadlock`, documented in `docs/rules/native-sidecar-startup-deadlock.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::proxy_container;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "native-sidecar-startup-deadlock", Error, fix: Sometimes, scope: Workloads
}

/// The first release in which an annotation of the pod decides whether the sidecar is native.
const SUPPORTS_ANNOTATION: Version = Version::new(1, 24);

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::BeforeSidecar)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let target = if handler.rewritten || handler.agent_path().is_some() {
        "targets the agent in the sidecar"
    } else {
        "is redirected to the sidecar"
    };
    let message = format!(
        "{} never succeeds: it {target}, which starts only after this init container, so the pod \
         stays in Init",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let brings_sidecar =
        proxy_container(&pod.workload).is_some_and(|proxy| proxy.image() != Some("auto"));
    let supports_annotation = pod
        .release
        .value
        .is_none_or(|release| release >= SUPPORTS_ANNOTATION);
    if brings_sidecar || !supports_annotation {
        finding.help = Some("use an `exec` probe, which is not rewritten".to_owned());
        return finding;
    }
    finding.help = Some("alternatively, use an `exec` probe, which is not rewritten".to_owned());
    let title = format!(
        "set `{}` to \"true\": the sidecar then starts before all other containers",
        keys::NATIVE_SIDECAR
    );
    let change = Change::Set {
        route: pod.workload.template.annotation_route(keys::NATIVE_SIDECAR),
        value: Value::from("true"),
    };
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(
            "it changes the start order of all containers of the pod, and requires Istio 1.24 and Kubernetes 1.29",
        ),
        vec![change],
    ));
    finding
}
