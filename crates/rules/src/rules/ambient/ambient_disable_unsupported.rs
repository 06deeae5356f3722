//! Rule `ambient-disable-unsupported`, documented in `docs/rules/ambient-disable-unsupported.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Entry, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::policy_pods::PolicyPodsCache;

declare_rule! {
    "ambient-disable-unsupported", Note, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut cache = PolicyPodsCache::default();
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .flat_map(|policy| report(cx, policy, &mut cache))
        .collect()
}

fn report<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &Object<'t>,
    cache: &mut PolicyPodsCache<'s, 't>,
) -> Vec<Finding> {
    let view = PeerAuthentication::of(policy);
    let disabled =
        |mode: Option<Entry<'t>>| mode.filter(|mode| mode.value.text() == Some("DISABLE"));
    let own = disabled(view.mode());
    let ports: Vec<_> = view
        .ports()
        .filter(|port| disabled(port.mode).is_some())
        .collect();
    let context = cx.context;
    if own.is_none() && ports.is_empty() {
        return Vec::new();
    }
    let policy_scope = context.istio_policy(policy).scope();
    let reached = cache.of(cx, policy, policy_scope);
    let Some(pod) = reached.first_of(Dataplane::Ambient) else {
        return Vec::new();
    };
    let is_ambient_only = reached.first_of(Dataplane::Sidecar).is_none();
    let spec = FieldPath::keys(&["spec"]);
    let decides = |mode: &Entry<'t>, fact: Fact<MtlsMode>| {
        let mode_label = policy.label_at(mode.value.span(), "");
        fact.because
            .iter()
            .filter_map(|reason| reason.place.as_ref())
            .any(|place| place.is_at(&mode_label))
    };
    let title = pod.workload.title();
    let mut findings = Vec::new();
    if let Some(mode) =
        own.filter(|mode| decides(mode, context.istio(&pod.workload).mtls_of_other_ports()))
    {
        let message = format!(
            "mode `DISABLE` acts as `PERMISSIVE` for {title}: ztunnel always offers mutual TLS"
        );
        let route = spec.child("mtls").child("mode");
        findings.push(finding(policy, mode, &route, message, pod, is_ambient_only));
    }
    for port_mode in ports {
        let (Some(mode), Some(port)) = (disabled(port_mode.mode), port_mode.port) else {
            continue;
        };
        if !decides(&mode, context.istio(&pod.workload).mtls(port)) {
            continue;
        }
        let sets = |mode: Entry<'_>| mode.value.text() != Some("UNSET") && !mode.value.is_null();
        let inherits = !view.mode().is_some_and(sets);
        let inherited = context.istio_policy(policy).inherited_mtls(policy_scope);
        let strict = inherits && inherited.value == MtlsMode::Strict;
        let message = if strict {
            format!(
                "port {port} of {title} stays `STRICT`: in ambient mode, only `PERMISSIVE` exempts \
                 a port from an inherited `STRICT` mode"
            )
        } else {
            format!(
                "mode `DISABLE` of port {port} acts as `PERMISSIVE` for {title}: ztunnel always \
                 offers mutual TLS"
            )
        };
        let key = port_mode.entry.key.text().unwrap_or_default().to_owned();
        let route = spec.child("portLevelMtls").child(key).child("mode");
        let mut port_finding = finding(policy, mode, &route, message, pod, is_ambient_only);
        if strict {
            port_finding.depend_on(&inherited);
        }
        findings.push(port_finding);
    }
    findings
}

fn finding<'t>(
    policy: &Object<'t>,
    mode: Entry<'t>,
    route: &FieldPath,
    message: String,
    pod: &WorkloadPrediction<'t>,
    is_ambient_only: bool,
) -> Finding {
    let mut finding = RULE.finding_on_object(policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("set the mode to `PERMISSIVE`".to_owned());
    let change = Change::Set {
        route: policy.route.join(route),
        value: Value::from("PERMISSIVE"),
    };
    finding.fix = (is_ambient_only && !mode.merged).then(|| {
        let title = "set the mode to `PERMISSIVE`";
        Fix::of_object(
            policy,
            title,
            Applicability::unsafe_because(
                "pods that are not in the tree may have sidecars, for which the two modes differ",
            ),
            vec![change],
        )
    });
    finding
}
