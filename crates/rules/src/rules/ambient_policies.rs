//! Rules for policies and network plugins that treat pods in ambient mode differently.

use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::{Dataplane, HttpRule};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, FieldPath};

use crate::rules::RuleContext;

crate::rules::rule::rules! {
    CILIUM_CNI_EXCLUSIVE = "ambient-cilium-cni-exclusive", Warning, fix: None, scope: Tree, cilium_cni_exclusive;
    DISABLE_UNSUPPORTED = "ambient-disable-unsupported", Note, fix: Sometimes, scope: Tree, check_disable_unsupported;
    L7_POLICY = "ambient-l7-policy", Warning, fix: None, scope: Tree, check_l7_policy;
    PLUGIN_DROPS_PROBES = "ambient-plugin-drops-probes", Error, fix: None, scope: Workloads, check_plugin_drops_probes;
}

fn cilium_cni_exclusive(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let pods = cx.predictions.iter();
    pods.filter(|pod| pod.dataplane.value == Dataplane::Ambient)
        .filter_map(|pod| {
            let exclusive = cx.context.cluster_network(&pod.workload).exclusive_cilium()?;
            let mut places = exclusive.because.iter();
            let place = places.find_map(|reason| reason.place.as_ref())?;
            if !seen.insert((Arc::clone(&place.path), place.span)) {
                return None;
            }
            let object = &pod.workload.object;
            let message = format!(
                "{} may be enrolled in ambient mode too late: `cni.exclusive: true` of Cilium removes the \
                 configuration of `istio-cni`",
                pod.workload.title(),
            );
            let mut finding = CILIUM_CNI_EXCLUSIVE.finding_on_object(object, object.name_span(), message);
            finding.depend_on(&exclusive);
            finding.depend_on(&pod.dataplane);
            finding.help = Some("set `cni.exclusive: false` in the chart values of Cilium (`cni-exclusive: \"false\"` in `cilium-config`)".to_owned());
            Some(finding)
        })
        .collect()
}

fn check_disable_unsupported(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .peer_authentications
        .iter()
        .flat_map(|policy| disable_unsupported(cx, policy))
        .collect()
}

/// Returns the first pod with this dataplane.
fn first_of<'s, 't>(
    pods: &[&'s WorkloadPrediction<'t>],
    wanted: Dataplane,
) -> Option<&'s WorkloadPrediction<'t>> {
    let mut pods = pods.iter().copied();
    pods.find(|pod| pod.dataplane.value == wanted)
}

fn disable_unsupported<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Vec<Finding> {
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
    let reached = cx.workloads_of_policy(policy, policy_scope);
    let Some(pod) = first_of(&reached, Dataplane::Ambient) else {
        return Vec::new();
    };
    let is_ambient_only = first_of(&reached, Dataplane::Sidecar).is_none();
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
        own.filter(|mode| decides(mode, context.pod_facts(&pod.workload).mtls_of_other_ports()))
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
        if !decides(&mode, context.pod_facts(&pod.workload).mtls(port)) {
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
    let mut finding = DISABLE_UNSUPPORTED.finding_on_object(policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("set the mode to `PERMISSIVE`".to_owned());
    let change = Change::set(policy.route.join(route), "PERMISSIVE");
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

fn check_l7_policy(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let policies = cx.context.inventory.authorization_policies.iter();
    policies
        .filter_map(|policy| l7_policy(cx, policy))
        .collect()
}

fn l7_policy<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let view = cx.context.istio_policy(policy);
    let HttpRule { field, denies } = view.http_rule_at_ztunnel()?;
    let reached = cx.workloads_of_policy(policy, view.scope());
    let pod = first_of(&reached, Dataplane::Ambient)?;
    let title = pod.workload.title();
    let message = match denies {
        true => format!(
            "ztunnel ignores this HTTP condition of AuthorizationPolicy `{}`, so that it denies more connections to \
             {title} than the policy names",
            policy.name(),
        ),
        false => format!(
            "ztunnel cannot check this HTTP condition of AuthorizationPolicy `{}`: the rule allows no connection to \
             {title}",
            policy.name(),
        ),
    };
    let mut finding = L7_POLICY.finding_on_deployed(policy, field, message);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(
        "deploy a waypoint, and move the rule to a policy with `targetRefs`; probes are exempt from policies".to_owned(),
    );
    Some(finding)
}

fn check_plugin_drops_probes(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::NetworkPluginDrops)
        .filter_map(|(pod, handler)| {
            let network = cx.context.cluster_network(&pod.workload);
            let exclusive = network.exclusive_cilium();
            Some(plugin_drops_probes(
                pod,
                handler,
                network.dropping_plugin()?,
                exclusive,
            ))
        })
        .collect()
}

fn plugin_drops_probes(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    (plugin, cure): (&str, &str),
    exclusive: Option<Fact<()>>,
) -> Finding {
    // Cilium may delay the enrollment: the rule `ambient-cilium-cni-exclusive` reports that.
    let condition = exclusive.map_or("", |_| " once `istio-cni` has enrolled the pod");
    let sentence = Sentence::each(format!(
        "will fail{condition}: in ambient mode its source address is `{}`, and {} drops its packets",
        keys::HOST_PROBE_SNAT,
        plugin
    ));
    let span = handler.handler.key.span();
    let mut finding = PLUGIN_DROPS_PROBES.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some(cure.to_owned());
    finding
}
