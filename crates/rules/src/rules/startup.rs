//! Rules about the start order of containers.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{ContainerList, ProbeHandler, Slot, integer};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{Dataplane, proxy_container};
use meshprobe_predict::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::Change;

use crate::rules::RuleContext;

crate::rules::rule::rules! {
    NATIVE_SIDECAR_STARTUP_DEADLOCK = "native-sidecar-startup-deadlock", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_with(Cause::BeforeSidecar, native_sidecar_startup_deadlock);
    POSTSTART_HTTP_BEFORE_SIDECAR = "poststart-http-before-sidecar", Warning, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| poststart_http_before_sidecar(cx, pod, handler));
    SIDECAR_BOOT_KILLS_APP = "sidecar-boot-kills-app", Note, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| sidecar_boot_kills_app(cx, pod, handler));
}

/// The first release in which an annotation of the pod decides whether the sidecar is native.
const SUPPORTS_ANNOTATION: Version = Version::new(1, 24);

fn native_sidecar_startup_deadlock(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let target = if handler.rewritten || handler.agent_path().is_some() {
        "targets the agent in the sidecar"
    } else {
        "is redirected to the sidecar"
    };
    let sentence = Sentence::each(format!(
        "never succeeds: it {target}, which starts only after this init container, so the pod stays in Init"
    ));
    let span = handler.handler.key.span();
    let mut finding =
        NATIVE_SIDECAR_STARTUP_DEADLOCK.finding_on_handler(pod, handler, span, sentence);
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
    let change = Change::set(
        pod.workload.template.annotation_route(keys::NATIVE_SIDECAR),
        "true",
    );
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

fn poststart_http_before_sidecar<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let is_hook = handler.handler.slot == Slot::PostStart;
    let in_mesh = pod.dataplane.value == Dataplane::Sidecar;
    if !is_hook || !in_mesh || handler.verdict.outcome != Outcome::Ok || !needs_sidecar(handler) {
        return None;
    }
    let first = if handler.container.list == ContainerList::Init {
        // `holdApplicationUntilProxyStarts` does not delay init containers.
        cx.context.pod_facts(&pod.workload).sidecar_is_native()
    } else {
        cx.context.pod_facts(&pod.workload).sidecar_starts_first()
    };
    if first.value {
        return None;
    }
    let sentence = Sentence::each(
        "runs before the sidecar is up: its first call is refused, and every new pod starts the container twice",
    );
    let span = handler.handler.key.span();
    let mut finding =
        POSTSTART_HTTP_BEFORE_SIDECAR.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    finding.depend_on(&first);
    finding.help = Some("wait for the sidecar, or use an `exec` hook".to_owned());
    if handler.container.list == ContainerList::Main {
        add_hold_fix(cx, pod, &mut finding);
    }
    Some(finding)
}

/// Returns whether the agent or the sidecar receives the call.
fn needs_sidecar(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let captured = handler
        .captured
        .as_ref()
        .is_some_and(|captured| captured.value);
    let is_http = matches!(action, Some(ProbeHandler::HttpGet(http)) if http.host.is_none());
    handler.rewritten || handler.agent_path().is_some() || is_http && captured
}

/// The boot time of the sidecar, in seconds, that a liveness probe has to tolerate. A sidecar that takes
/// longer is a fault of its own.
const BOOT_SECONDS: i64 = 10;

fn sidecar_boot_kills_app<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let container = &handler.container;
    let is_liveness = handler.handler.slot == Slot::Liveness;
    let by_agent = handler.verdict.cause == Cause::Rewritten;
    if !is_liveness || !by_agent || container.list != ContainerList::Main {
        return None;
    }
    if container.has_handler(Slot::Startup) {
        return None;
    }
    let seconds = seconds_until_kill(handler);
    if seconds >= BOOT_SECONDS {
        return None;
    }
    let first = cx.context.pod_facts(&pod.workload).sidecar_starts_first();
    // A note that applies only to old nodes has no value if the versions of the nodes are not known.
    if first.value || cx.context.pod_facts(&pod.workload).nodes_decide_order() {
        return None;
    }
    let sentence = Sentence::each(format!(
        "gives up after {seconds} s: it is refused until the sidecar is up, so a slow start of the sidecar kills the application"
    ));
    let span = handler.handler.key.span();
    let mut finding = SIDECAR_BOOT_KILLS_APP.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    finding.depend_on(&first);
    finding.help = Some("add a `startupProbe`, or wait for the sidecar".to_owned());
    add_hold_fix(cx, pod, &mut finding);
    Some(finding)
}

/// Returns how many seconds the kubelet waits before it kills the container. Missing fields have the defaults
/// of the API server.
fn seconds_until_kill(handler: &HandlerPrediction<'_>) -> i64 {
    let number = |key: &str, default: i64| {
        let written = handler.handler.node.get(key).and_then(integer);
        written.filter(|&number| number > 0).unwrap_or(default)
    };
    let tries = number("periodSeconds", 10).saturating_mul(number("failureThreshold", 3));
    number("initialDelaySeconds", 0).saturating_add(tries)
}

/// Adds the fix that delays the application until the sidecar is up to a finding, unless the pod already has a
/// proxy configuration, because the annotation contains it as text, or the installation makes the setting ineffective.
fn add_hold_fix<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>, finding: &mut Finding) {
    let template = &pod.workload.template;
    let startup = cx.context.pod_facts(&pod.workload);
    if template.annotation(keys::PROXY_CONFIG).is_some() || startup.replaced_hold().is_some() {
        return;
    }
    let change = Change::set(
        template.annotation_route(keys::PROXY_CONFIG),
        "{holdApplicationUntilProxyStarts: true}",
    );
    let title = format!(
        "set `holdApplicationUntilProxyStarts: true` in `{}`: the application then waits for the sidecar",
        keys::PROXY_CONFIG
    );
    let object = &pod.workload.object;
    let applicability = Applicability::unsafe_because(
        "it changes the start order of the containers and delays the start of the application",
    );
    let fix = Fix::of_object(object, title, applicability, vec![change]);
    finding.fix = Some(fix);
}
