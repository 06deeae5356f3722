//! Rule `legacy-authentication-api`, documented in `docs/rules/legacy-authentication-api.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, integer};
use meshprobe_mesh::mesh::Version;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::policy_values::{map, security_api, selector_of_service};

declare_rule! {
    "legacy-authentication-api", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .legacy_policies
        .iter()
        .filter(|_| cx.may_have_mesh())
        .filter_map(|policy| report(cx, policy))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
    let release = cx.context.istio_near(policy).version();
    let is_read = release.is_some_and(|release| release < Version::new(1, 6));
    if is_read || !matches!(policy.kind, "MeshPolicy" | "Policy") {
        return None;
    }
    let is_about_tokens = checks_only_tokens(policy);
    let effect = if is_about_tokens {
        "it does not check tokens"
    } else {
        "it does not enforce mutual TLS"
    };
    let message = format!(
        "{} `{}` has been ignored since Istio 1.6: {effect}",
        policy.kind,
        policy.name(),
    );
    let span = policy
        .node
        .get("apiVersion")
        .map_or_else(|| policy.name_span(), NodeRef::span);
    let mut finding = RULE.finding_on_object(policy, span, message);
    finding.field = Some("apiVersion".to_owned());
    let place = if policy.kind == "MeshPolicy" {
        let root = cx.context.istio_near(policy).root_namespace().value;
        format!("in the root namespace `{root}`")
    } else {
        "instead".to_owned()
    };
    finding.help = Some(if is_about_tokens {
        format!(
            "use a RequestAuthentication of `security.istio.io` {place}, and an AuthorizationPolicy to require a token"
        )
    } else {
        format!("use a PeerAuthentication of `security.istio.io` {place}")
    });
    finding.fix = conversion(cx, policy);
    Some(finding)
}

/// Returns whether a policy only authenticates end users, with tokens, and says nothing about mutual TLS.
fn checks_only_tokens(policy: &Object<'_>) -> bool {
    let field = |name| policy.node.get("spec").and_then(|spec| spec.get(name));
    field("origins").is_some() && field("peers").is_none()
}

fn conversion<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Fix> {
    let spec = policy.node.get("spec")?;
    let known = |entry: Entry<'_>| matches!(entry.key.text(), Some("peers" | "targets"));
    let mode =
        mode(spec.get("peers")?).filter(|_| spec.effective_entries().into_iter().all(known))?;
    let mode = map("mode", Value::from(mode));
    let release = cx.context.istio_near(policy).version();
    let mut changes = vec![
        set(policy, &["apiVersion"], Value::from(security_api(release))),
        set(policy, &["kind"], Value::from("PeerAuthentication")),
    ];
    let new = match spec.get("targets") {
        None if policy.kind == "MeshPolicy" => {
            let root = cx.context.istio_near(policy).root_namespace().value;
            changes.push(set(policy, &["metadata", "namespace"], Value::Str(root)));
            map("mtls", mode)
        }
        None => map("mtls", mode),
        Some(targets) => spec_for_target(cx, policy, targets, mode)?,
    };
    changes.push(set(policy, &["spec"], new));
    let degree = if spec.source().contains('#') {
        Applicability::display_only_because("the comments in `spec` would be lost")
    } else {
        Applicability::unsafe_because(
            "the new policy takes effect at once, and may refuse clients that the old one admits",
        )
    };
    let title = "convert it to a PeerAuthentication";
    Some(Fix::of_object(policy, title, degree, changes))
}

/// Returns the mode of a list of peers that contains `mtls` and nothing else; `None` for other lists.
fn mode(peers: NodeRef<'_>) -> Option<&'static str> {
    let mut items = peers.items();
    let (peer, None) = (items.next()?, items.next()) else {
        return None;
    };
    let mut methods = peer.effective_entries().into_iter();
    let (method, None) = (methods.next()?, methods.next()) else {
        return None;
    };
    let only_mode = |entry: Entry<'_>| entry.key.text() == Some("mode");
    let settings = method.value.effective_entries();
    if method.key.text() != Some("mtls") || !settings.into_iter().all(only_mode) {
        return None;
    }
    match method.value.get("mode").map(NodeRef::text) {
        None => Some("STRICT"),
        Some(Some("STRICT")) => Some("STRICT"),
        Some(Some("PERMISSIVE")) => Some("PERMISSIVE"),
        Some(_) => None,
    }
}

/// Returns the new `spec` of a policy for one Service: the labels of its pods, and the target ports of its
/// ports.
fn spec_for_target<'t>(
    cx: &RuleContext<'_, 't>,
    policy: &Object<'t>,
    targets: NodeRef<'t>,
    mode: Value,
) -> Option<Value> {
    let mut items = targets.items();
    let (target, None) = (items.next()?, items.next()) else {
        return None;
    };
    let name = target.get("name")?.text()?;
    let context = cx.context;
    let mut services = context.inventory.services.iter();
    let namespace = context.namespace_of(policy).name;
    let service = services.find(|service| {
        service.name() == name && context.namespace_of(service).name == namespace
    })?;
    let mut spec = vec![selector_of_service(service)?];
    let Some(ports) = target.get("ports") else {
        spec.push(("mtls".to_owned(), mode));
        return Some(Value::Map(spec));
    };
    let ports: Option<Vec<(String, Value)>> = ports
        .items()
        .map(|port| {
            let number = integer(port.get("number")?)?;
            let behind = cx.pods_of_service_port(service, number);
            let (_, target) = behind.first()?;
            Some((target.to_string(), mode.clone()))
        })
        .collect();
    spec.push(("portLevelMtls".to_owned(), Value::Map(ports?)));
    Some(Value::Map(spec))
}

fn set(policy: &Object<'_>, path: &[&'static str], value: Value) -> Change {
    Change::Set {
        route: policy.route.join(&FieldPath::keys(path)),
        value,
    }
}
