//! Rules about the APIs that PeerAuthentication replaced.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Severity};
use meshprobe_mesh::kube::{Object, integer};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::predict::Cause;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::keeping_comment;

crate::rules::rule::rules! {
    LEGACY_AUTH_ANNOTATION = "legacy-auth-annotation", Warning, fix: Always, scope: Tree, check_legacy_auth_annotation;
    LEGACY_AUTHENTICATION_API = "legacy-authentication-api", Error, fix: Sometimes, scope: Tree,
        |cx| cx.context.inventory.legacy_policies.iter().filter(|_| cx.may_have_mesh())
            .filter_map(|policy| legacy_authentication_api(cx, policy)).collect();
}

/// The prefix of the annotation; the port follows.
const PREFIX: &str = "auth.istio.io/";

/// The first release that ignores the annotation.
const IGNORED_SINCE: Version = Version::new(1, 6);

fn check_legacy_auth_annotation(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .services
        .iter()
        .filter(|_| cx.may_have_mesh())
        .flat_map(|service| {
            entries(service)
                .filter_map(|(entry, port)| legacy_auth_annotation(cx, service, entry, port))
        })
        .collect()
}

/// Returns the first annotation `auth.istio.io/PORT` of a Service.
pub(super) fn first_legacy_annotation<'t>(service: &Object<'t>) -> Option<Entry<'t>> {
    entries(service).next().map(|(entry, _)| entry)
}

/// Iterates over the annotations `auth.istio.io/PORT` of a Service, with their ports.
fn entries<'t>(service: &Object<'t>) -> impl Iterator<Item = (Entry<'t>, i64)> + use<'t> {
    let annotations = service
        .metadata()
        .and_then(|metadata| metadata.get("annotations"));
    annotations
        .into_iter()
        .flat_map(NodeRef::entries)
        .filter_map(|entry| {
            let port = entry
                .key
                .text()?
                .strip_prefix(PREFIX)?
                .parse::<u16>()
                .ok()?;
            Some((entry, i64::from(port)))
        })
}

fn legacy_auth_annotation<'t>(
    cx: &RuleContext<'_, 't>,
    service: &Object<'t>,
    entry: Entry<'t>,
    port: i64,
) -> Option<Finding> {
    let release = cx.context.istio_near(service).version();
    if release.is_some_and(|release| release < IGNORED_SINCE) {
        return None;
    }
    let behind = cx.pods_of_service_port(service, port);
    let failing = behind.iter().find_map(|(pod, target)| {
        let mut handlers = pod.handlers.iter();
        handlers
            .find(|handler| {
                handler.port == Some(*target) && handler.verdict.cause == Cause::PlaintextAtStrict
            })
            .map(|handler| (*pod, handler))
    });
    let message = format!(
        "annotation `{PREFIX}{port}` on Service `{}` has been ignored since Istio {IGNORED_SINCE}; \
         port {port} is not exempt from mutual TLS",
        service.name(),
    );
    let mut finding = LEGACY_AUTH_ANNOTATION.finding_on_object(service, entry.key.span(), message);
    let key = entry.key.text().unwrap_or_default().to_owned();
    let route = FieldPath::keys(&["metadata", "annotations"]).child(key);
    finding.field = Some(route.to_string());
    if let Some((pod, handler)) = failing {
        finding.severity = Severity::Error;
        let message = format!("{} fails", handler.title());
        let object = &pod.workload.object;
        finding.relate(object.label_at(handler.handler.key.span(), message));
    }
    let strict = behind.iter().find(|(pod, target)| {
        let mode = cx.context.pod_facts(&pod.workload).mtls(*target);
        mode.value == MtlsMode::Strict
    });
    let target = behind.first().map(|(_, target)| *target);
    finding.help = Some(help(service, target, failing.is_some()));
    if let Some((pod, target)) = strict {
        finding.cite(&cx.context.pod_facts(&pod.workload).mtls(*target));
    }
    finding.fix = Some(removal(service, entry, release.is_some()));
    Some(finding)
}

fn help(service: &Object<'_>, target: Option<i64>, fails: bool) -> String {
    let action = if fails {
        "remove it and turn the probe rewrite on"
    } else {
        "remove it, as probes are rewritten"
    };
    let port = target.map_or_else(|| "the port".to_owned(), |target| target.to_string());
    format!(
        "{action}; for other clients without mutual TLS, add a PeerAuthentication with the \
         selector of `{}` and `portLevelMtls` mode `DISABLE` for {port}, the port of the pods",
        service.name(),
    )
}

fn removal(service: &Object<'_>, entry: Entry<'_>, is_known: bool) -> Fix {
    let wanted = if is_known {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(format!(
            "the release is not known, and Istio before {IGNORED_SINCE} reads the annotation"
        ))
    };
    let degree = keeping_comment(entry, wanted);
    let annotations = FieldPath::keys(&["metadata", "annotations"]);
    let route = service.route.join(&annotations);
    let all = service.node.at(&annotations).map(NodeRef::entries);
    let is_last = all.is_some_and(|mut entries| entries.len() == 1 && entries.next().is_some());
    let key = entry.key.text().unwrap_or_default();
    let route = if is_last {
        route
    } else {
        route.child(key.to_owned())
    };
    let title = "remove the annotation, which Istio ignores";
    Fix::of_object(service, title, degree, vec![Change::Remove { route }])
}

fn legacy_authentication_api<'t>(cx: &RuleContext<'_, 't>, policy: &Object<'t>) -> Option<Finding> {
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
    let mut finding = LEGACY_AUTHENTICATION_API.finding_on_object(policy, span, message);
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
    Change::set(policy.route.join(&FieldPath::keys(path)), value)
}

/// Returns a mapping with one entry.
fn map(key: &str, value: Value) -> Value {
    Value::Map(vec![(key.to_owned(), value)])
}

/// Returns the entry `selector` of a policy for the pods of a Service; `None` if the Service has no selector of texts.
fn selector_of_service(service: &Object<'_>) -> Option<(String, Value)> {
    let selector = service.node.get("spec")?.get("selector")?;
    let labels: Option<Vec<(String, Value)>> = selector
        .effective_entries()
        .into_iter()
        .map(|label| {
            Some((
                label.key.text()?.to_owned(),
                Value::from(label.value.text()?),
            ))
        })
        .collect();
    let labels = map("matchLabels", Value::Map(labels?));
    Some(("selector".to_owned(), labels))
}

/// The release since which the mesh serves version `v1` of PeerAuthentication.
///
/// Source: Istio 1.22.0, release notes ("v1 APIs"), and `manifests/charts/base/crds/crd-all.gen.yaml`.
const SECURITY_V1: Version = Version::new(1, 22);

/// Returns the API version of a PeerAuthentication that a release serves. The newest release is assumed if it is not
/// known.
fn security_api(release: Option<Version>) -> &'static str {
    match release {
        Some(release) if release < SECURITY_V1 => "security.istio.io/v1beta1",
        _ => "security.istio.io/v1",
    }
}
