//! Rule `late-injected-container`, documented in `docs/rules/late-injected-container.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "late-injected-container", Warning, fix: None, scope: Tree
}

/// The label of a Namespace that makes the Open Policy Agent's injector add the agent to its pods.
const OPA_INJECTION: &str = "opa-istio-injection";
/// The first release in which a second injection keeps the probes of both injections.
const KEEPS_ENV: Version = Version::new(1, 27);
/// The port of the agent's health probes (Istio issue 53786).
const OPA_PORT: i64 = 8282;

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let candidates = cx
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .filter_map(|pod| report(cx, pod));
    let mut findings: Vec<Finding> = Vec::new();
    for finding in candidates {
        // One finding for each Namespace of each environment.
        let is_new = |known: &Finding| {
            known.primary != finding.primary || known.overlays != finding.overlays
        };
        if findings.iter().all(is_new) {
            findings.push(finding);
        }
    }
    findings
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let entry = namespace.label(OPA_INJECTION)?;
    let enabled = entry.value.text() == Some("enabled");
    let mtls = cx.context.istio(workload).mtls(OPA_PORT);
    let captured = cx.context.istio(workload).ports().capture(OPA_PORT).value;
    if !enabled || !captured || mtls.value != MtlsMode::Strict {
        return None;
    }
    let install = cx.context.istio(workload).installation();
    let policy = install.fact("--context PATH", |plane| plane.reinvocation_policy.as_ref());
    // A second injection loses the prober env in older releases (istio#56102).
    let keeps_env = pod.release.value.is_none_or(|release| release >= KEEPS_ENV);
    if keeps_env && policy.is_some_and(|policy| policy.value == "IfNeeded") {
        return None;
    }
    let message = format!(
        "the probes of the container that the Open Policy Agent adds to pods of namespace `{}` will \
         fail: it is injected after Istio's sidecar, so the probes of port {OPA_PORT} are not \
         rewritten, and `STRICT` mutual TLS refuses them",
        namespace.name(),
    );
    let mut finding = RULE.finding_on_deployed(namespace, entry.value.span(), message);
    finding.depend_on(&mtls);
    finding.help = Some(format!(
        "set `sidecarInjectorWebhook.reinvocationPolicy: IfNeeded` (Istio 1.27 or later), or add \
         {OPA_PORT} to `{}`",
        keys::EXCLUDE_INBOUND_PORTS,
    ));
    Some(finding)
}
