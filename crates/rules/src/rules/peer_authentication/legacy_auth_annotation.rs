//! Rule `legacy-auth-annotation`, documented in `docs/rules/legacy-auth-annotation.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::predict::Cause;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::keeping_comment;
use crate::rules::support::policy_values::{map, security_api, selector_of_service};

declare_rule! {
    "legacy-auth-annotation", Warning, fix: Always, scope: Tree
}

/// The prefix of the annotation; the port follows.
const PREFIX: &str = "auth.istio.io/";

/// The first release that ignores the annotation.
const IGNORED_SINCE: Version = Version::new(1, 6);

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .services
        .iter()
        .filter(|_| cx.may_have_mesh())
        .flat_map(|service| {
            entries(service).filter_map(|(entry, port)| report(cx, service, entry, port))
        })
        .collect()
}

/// Returns the first annotation `auth.istio.io/PORT` of a Service.
pub(in crate::rules) fn first<'t>(service: &Object<'t>) -> Option<Entry<'t>> {
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

fn report<'t>(
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
    let mut finding = RULE.finding_on_object(service, entry.key.span(), message);
    let key = entry.key.text().unwrap_or_default().to_owned();
    let route = FieldPath::keys(&["metadata", "annotations"]).child(key);
    finding.field = Some(route.to_string());
    if let Some((pod, handler)) = failing {
        finding.severity = Severity::Error;
        let message = format!("{} fails", handler.title());
        let object = &pod.workload.object;
        finding
            .related
            .push(object.label_at(handler.handler.key.span(), message));
    }
    let strict = behind.iter().find(|(pod, target)| {
        let mode = cx.context.istio(&pod.workload).mtls(*target);
        mode.value == MtlsMode::Strict
    });
    let target = behind.first().map(|(_, target)| *target);
    finding.help = Some(help(service, target, failing.is_some()));
    let mut fix = removal(service, entry, release.is_some());
    if let Some((pod, target)) = strict
        && let Some(exception) = exception(cx, service, *target)
    {
        finding.cite(&cx.context.istio(&pod.workload).mtls(*target));
        fix.title = "replace the annotation by a PeerAuthentication".to_owned();
        let removal = std::mem::replace(&mut fix.applicability, Applicability::Safe);
        fix.applicability = Applicability::unsafe_because(format!(
            "the added policy opens port {target} of the pods to clients without mutual TLS"
        ))
        .limited_to(removal);
        fix.added_document = Some(exception);
    }
    finding.fix = Some(fix);
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

/// Returns the `PeerAuthentication` that has the effect that the annotation had; `None` if the Service has no
/// selector of texts.
fn exception<'t>(cx: &RuleContext<'_, 't>, service: &Object<'t>, target: i64) -> Option<Value> {
    let selector = selector_of_service(service)?;
    let name = format!("{}-port-{target}", service.name());
    let mut metadata = vec![("name".to_owned(), Value::Str(name))];
    if let Some(namespace) = cx.context.namespace_of(service).written_name() {
        metadata.push(("namespace".to_owned(), Value::from(namespace)));
    }
    let mode = map("mode", Value::from("DISABLE"));
    let release = cx.context.istio_near(service).version();
    let ports = map(&target.to_string(), mode);
    let spec = vec![selector, ("portLevelMtls".to_owned(), ports)];
    Some(Value::Map(vec![
        ("apiVersion".to_owned(), Value::from(security_api(release))),
        ("kind".to_owned(), Value::from("PeerAuthentication")),
        ("metadata".to_owned(), Value::Map(metadata)),
        ("spec".to_owned(), Value::Map(spec)),
    ]))
}
