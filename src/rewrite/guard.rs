//! Guards of a whole pod: why it is left as it was. Their names are public ids.

use crate::context::{Context, Dataplane, ProberEnvPlace, proxy_container};
use crate::finding::{Certainty, Finding, Severity};
use crate::kube::{Action, ContainerList};
use crate::mesh::Version;
use crate::mesh::istio::install::NativeSidecars;
use crate::mesh::istio::keys;
use crate::mesh::istio::proxy_config::ProxyConfig;
use crate::mesh::istio::rewrite::{OLDEST_REWRITE, is_agent_path};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::settings::InjectionAssumption;
use crate::yaml::Span;

/// A guard that refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The public id.
    pub(super) guard: &'static str,
    /// The place that makes it refuse.
    pub(super) span: Span,
    /// Why, in one sentence.
    pub(super) message: String,
    /// What to do.
    pub(super) help: Option<String>,
}

impl Refusal {
    pub(super) fn new(guard: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            guard,
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Turns the refusal into a finding about the workload.
    pub(super) fn finding(self, pod: &WorkloadPrediction<'_>) -> Finding {
        let object = &pod.workload.object;
        let message = format!(
            "{} is not rewritten: {}",
            pod.workload.title(),
            self.message
        );
        let label = object.label_at(self.span, String::new());
        let mut finding = Finding::new(self.guard, Severity::Error, label, message);
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding.help = self.help;
        finding
    }
}

/// Guards whose refusal is a matter of judgement: `--allow` may pass them.
pub const ALLOWABLE: [&str; 1] = ["knative"];

/// Tells whether `--allow` may pass a guard.
#[must_use]
pub(super) fn may_allow(guard: &str) -> bool {
    ALLOWABLE.contains(&guard)
}

/// Returns the first guard that refuses a pod which holds handlers to rewrite.
pub(super) fn refusal<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Option<Refusal> {
    let allowed = |refusal: &Refusal| {
        may_allow(refusal.guard) && context.settings.allow.contains(refusal.guard)
    };
    if let Some(refusal) = init_proxy(context, pod) {
        return Some(refusal);
    }
    if pod.rewrite.certainty == Certainty::Unknown {
        let entry = pod.workload.template.annotation(keys::REWRITE_PROBERS);
        let span = entry.map_or_else(|| name_span(pod), |entry| entry.value.span());
        let said = format!("`{}` is filled in by another tool", keys::REWRITE_PROBERS);
        return Some(Refusal::new("placeholder", span, said));
    }
    let guards = [
        document,
        release,
        template,
        injection,
        knative,
        status_port,
        proxy_config,
    ];
    guards
        .iter()
        .filter_map(|guard| guard(context, pod))
        .find(|refusal| !allowed(refusal))
        .or_else(|| prober_env(pod))
}

fn name_span(pod: &WorkloadPrediction<'_>) -> Span {
    pod.workload.object.name_span()
}

fn document(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    pod.workload.object.document.encrypted.then(|| {
        let said = "the document is encrypted with SOPS, whose checksum an edit would break";
        Refusal::new("sops", name_span(pod), said)
            .with_help("decrypt it, rewrite it, and encrypt it again")
    })
}

fn release(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let version = context
        .version(&pod.workload)
        .value
        .filter(|&version| version < OLDEST_REWRITE)?;
    let said = format!("Istio {version} is only linted, rewriting starts at {OLDEST_REWRITE}");
    Some(Refusal::new("release-too-old", name_span(pod), said))
}

/// Injection must follow from the tree, or be assumed by option.
fn injection(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let given = context.given(&pod.workload.object);
    let facts = [&given.overrides, &given.assume];
    let by_option = facts
        .iter()
        .any(|facts| facts.injection == Some(InjectionAssumption::All));
    let proven = pod.dataplane.certainty >= Certainty::Default || by_option;
    // A template without redirect is for the template guard to judge.
    if pod.dataplane.value == Dataplane::Uncaptured {
        return None;
    }
    if pod.dataplane.value == Dataplane::Sidecar && proven {
        return None;
    }
    let because: Vec<&str> = pod
        .dataplane
        .because
        .iter()
        .map(|reason| reason.message.as_str())
        .collect();
    let settle = pod
        .dataplane
        .because
        .iter()
        .find_map(|reason| reason.settle);
    let said = format!(
        "nothing proves that it will be injected ({})",
        because.join("; ")
    );
    let help = format!(
        "add the Namespace manifest to the run (`--context`), or say `{}`",
        settle.map_or("--assume injection=all", |settle| settle
            .trim_end_matches("|none"))
    );
    Some(Refusal::new("injection-unproven", name_span(pod), said).with_help(help))
}

/// Templates of the charts of Istio 1.31 (`manifests/charts/istio-control/istio-discovery/files`).
const TEMPLATES: [&str; 8] = [
    "sidecar",
    "gateway",
    "grpc-simple",
    "grpc-agent",
    "waypoint",
    "kube-gateway",
    "agentgateway",
    "agentgateway-waypoint",
];

fn template(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let entry = pod.workload.template.annotation(keys::TEMPLATES)?;
    let span = entry.value.span();
    let names: Vec<&str> = entry.value.text()?.split(',').map(str::trim).collect();
    if let Some(name) = names.iter().find(|name| !TEMPLATES.contains(name)) {
        let said = format!("injection template `{name}` is not one of Istio's own");
        return Some(Refusal::new("unknown-template", span, said));
    }
    if names
        .iter()
        .any(|name| matches!(*name, "grpc-agent" | "grpc-simple"))
    {
        let said = "a proxyless template brings no sidecar that would receive the env";
        let old = context
            .version(&pod.workload)
            .value
            .is_some_and(|version| version < Version::new(1, 12));
        return old.then(|| Refusal::new("proxyless-template", span, said));
    }
    if names.iter().any(|name| *name != "sidecar") {
        let said = "a gateway template does not hand `proxyMetadata` to a sidecar";
        return Some(Refusal::new("gateway-template", span, said));
    }
    None
}

fn knative(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    (pod.workload.object.group() == "serving.knative.dev").then(|| {
        let said = "Knative owns the probes of its revisions and changes them itself";
        Refusal::new("knative", name_span(pod), said).with_help("`--allow knative` rewrites it")
    })
}

fn status_port(_: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let entry = pod.workload.template.annotation(keys::STATUS_PORT)?;
    let text = entry.value.text().unwrap_or_default();
    // The validator reads it as an unsigned number after trimming, the injector without trimming.
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain && text.parse::<u16>().is_ok_and(|port| port != 0) {
        return None;
    }
    let said = format!("`{}: \"{text}\"` is not a port", keys::STATUS_PORT);
    Some(Refusal::new(
        "status-port-invalid",
        entry.value.span(),
        said,
    ))
}

fn proxy_config(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::PROXY_CONFIG)?;
    let span = entry.key.span();
    if entry.value.text().is_none() {
        let said = format!(
            "`{}` is not a string, as annotations must be",
            keys::PROXY_CONFIG
        );
        return Some(Refusal::new("proxy-config-invalid", span, said));
    }
    let config = match ProxyConfig::parse(entry.value.text().unwrap_or_default()) {
        Ok(config) => config,
        Err(error) => {
            let said = format!("`{}` does not parse: {}", keys::PROXY_CONFIG, error.message);
            return Some(Refusal::new("proxy-config-invalid", span, said));
        }
    };
    let port = config.status_port()?;
    let mesh_port = context.mesh_status_port(&pod.workload).value;
    if template.annotation(keys::STATUS_PORT).is_some() || port == mesh_port {
        return None;
    }
    let said = format!(
        "`{}` moves the agent to port {port}, but the injector points probes at {mesh_port}",
        keys::PROXY_CONFIG,
    );
    let help = format!(
        "use the annotation `{}`, which both honour",
        keys::STATUS_PORT
    );
    Some(Refusal::new("status-port-mismatch", span, said).with_help(help))
}

/// A classic sidecar does not take the env of a partial `istio-proxy` among the init containers.
fn init_proxy<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Option<Refusal> {
    let proxy = proxy_container(&pod.workload)?;
    let is_partial = proxy.image().is_none_or(|image| image == "auto");
    let native = context.native_sidecars(&pod.workload);
    let is_native = native.value == NativeSidecars::On && native.certainty >= Certainty::Default;
    (proxy.list == ContainerList::Init && is_partial && !is_native).then(|| {
        let said = "its partial `istio-proxy` stands in `initContainers`, whose env a classic \
                    sidecar does not take";
        Refusal::new("proxy-in-init-containers", name_span(pod), said)
            .with_help("move it to the end of `containers`")
    })
}

/// An env that is there already must be readable.
pub(super) fn unreadable_env(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let error = env.probers.as_ref().err()?;
    let said = format!("its {} can't be read: {error}", keys::PROBERS_ENV);
    Some(Refusal::new("prober-env-invalid", env.span, said))
}

/// An env that is there already must be one that is extended on purpose.
fn prober_env(pod: &WorkloadPrediction<'_>) -> Option<Refusal> {
    let env = pod.prober_env.as_ref()?;
    let injected = pod.workload.template.annotation(keys::STATUS).is_some();
    let sealed = !pod.rewrite.value;
    if injected || sealed {
        return None;
    }
    let said = format!(
        "its {} does not hold all probes, so the injector would append a second one",
        keys::PROBERS_ENV
    );
    Some(Refusal::new("prober-env-conflict", env.span, said))
}

/// A probe that points at the agent must find its entry.
pub(super) fn lost_entry(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<Refusal> {
    let path = match &prediction.handler.action {
        Ok(Action::HttpGet(http)) if is_agent_path(&http.path) => http.path.as_str(),
        _ => return None,
    };
    let probers = pod
        .prober_env
        .as_ref()
        .and_then(|env| env.probers.as_ref().ok());
    let found = probers.is_some_and(|probers| probers.contains_key(path));
    (!found).then(|| {
        let said = format!(
            "{} asks the agent, but no prober env has {path}",
            prediction.title()
        );
        Refusal::new(
            "rewritten-without-entry",
            prediction.handler.field_span("path"),
            said,
        )
    })
}

/// Two places would carry an env: the sidecar container's own would be lost or doubled.
pub(super) fn two_carriers(pod: &WorkloadPrediction<'_>) -> bool {
    let in_annotation = pod
        .prober_env
        .as_ref()
        .is_some_and(|env| env.place == ProberEnvPlace::ProxyMetadata);
    in_annotation && proxy_container(&pod.workload).is_some()
}
