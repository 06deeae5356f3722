//! Rule `legacy-auth-annotation`.

use super::pod_key::has_comment;
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding, Fix, Severity};
use crate::kube::Object;
use crate::mesh::Version;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::Cause;
use crate::yaml::{Change, Entry, NodeRef, Route, Value};

declare_rule! {
    /// Finds annotations of Services that exempted a port from mutual TLS in the first years of Istio.
    ///
    /// ## What it checks
    /// An annotation `auth.istio.io/PORT` on a Service, unless the mesh is known to be older than
    /// 1.6.
    ///
    /// ## Why it matters
    /// The annotation made an exception for the port of health checks when Istio did not rewrite
    /// probes. No current release reads it: the port has the mode of mutual TLS of all others, and
    /// whoever calls it in plain text under STRICT is refused.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     auth.istio.io/8001: NONE
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: http-health
    ///       port: 8001
    ///       targetPort: 9001
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 9001
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: http-health
    ///       port: 8001
    ///       targetPort: 9001
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 9001
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe while the release is not known, safe from 1.6 on: the annotation is deleted, which
    /// nobody reads. Where mutual TLS is demanded, the exception is written as what it is today, a
    /// `PeerAuthentication` with `portLevelMtls` for the port of the pods: unsafe, since it opens
    /// the port to everybody.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    /// - Istio documentation: "Health Checking of Istio Services"
    "legacy-auth-annotation", Warning, fix: Always, scope: Tree
}

/// What the annotation of a port starts with.
const PREFIX: &str = "auth.istio.io/";

/// Since this release nobody reads it.
const GONE_SINCE: Version = Version::new(1, 6);

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let services = scene.context.inventory.services.iter();
    services
        .filter(|_| scene.may_have_mesh())
        .flat_map(|service| {
            let entries = entries(service);
            entries.filter_map(|(entry, port)| report(scene, service, entry, port))
        })
        .collect()
}

/// Returns the first such annotation of a Service.
pub(super) fn first<'t>(service: &Object<'t>) -> Option<Entry<'t>> {
    entries(service).next().map(|(entry, _)| entry)
}

fn entries<'t>(service: &Object<'t>) -> impl Iterator<Item = (Entry<'t>, i64)> + use<'t> {
    let annotations = service
        .metadata()
        .and_then(|metadata| metadata.get("annotations"));
    let entries = annotations.into_iter().flat_map(NodeRef::entries);
    entries.filter_map(|entry| {
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
    scene: &Scene<'_, 't>,
    service: &Object<'t>,
    entry: Entry<'t>,
    port: i64,
) -> Option<Finding> {
    let release = scene.context.version_near(service);
    if release.is_some_and(|release| release < GONE_SINCE) {
        return None;
    }
    let behind = scene.pods_behind(service, port);
    let failing = behind.iter().find_map(|(pod, target)| {
        let mut handlers = pod.handlers.iter();
        handlers
            .find(|one| one.port == Some(*target) && one.verdict.cause == Cause::PlaintextAtStrict)
            .map(|one| (*pod, one))
    });
    let message = format!(
        "`{PREFIX}{port}` of Service `{}` is read by no Istio since {GONE_SINCE}: the port is no \
         exception to mutual TLS",
        service.name(),
    );
    let mut finding = scene::about_object(&RULE, service, entry.key.span(), message);
    let key = entry.key.text().unwrap_or_default().to_owned();
    let route = Route::keys(&["metadata", "annotations"]).child(key);
    finding.field = Some(route.to_string());
    if let Some((pod, one)) = failing {
        finding.severity = Severity::Error;
        let said = format!("{} fails", one.title());
        let object = &pod.workload.object;
        finding
            .related
            .push(object.label_at(one.handler.key.span(), said));
    }
    let strict = behind.iter().find(|(pod, target)| {
        let mode = scene.context.mtls(&pod.workload, *target);
        mode.value == MtlsMode::Strict
    });
    let target = behind.first().map(|(_, target)| *target);
    finding.help = Some(help(service, target, failing.is_some()));
    let mut fix = removal(service, entry, release.is_some());
    if let Some((pod, target)) = strict
        && let Some(exception) = exception(scene, service, *target)
    {
        scene::mention(&mut finding, &scene.context.mtls(&pod.workload, *target));
        fix.title = "write the exception as a PeerAuthentication".to_owned();
        fix.applicability = fix.applicability.max(Applicability::Unsafe);
        fix.adds = Some(exception);
    }
    finding.fix = Some(fix);
    Some(finding)
}

fn help(service: &Object<'_>, target: Option<i64>, fails: bool) -> String {
    let probes = if fails {
        "have the probe rewritten"
    } else {
        "probes are rewritten"
    };
    let port = target.map_or_else(|| "the port".to_owned(), |target| target.to_string());
    format!(
        "delete it: {probes}; for other callers without mutual TLS write a \
         PeerAuthentication with the selector of `{}` and `portLevelMtls` DISABLE for {port}, the \
         port of the pods",
        service.name(),
    )
}

fn removal(service: &Object<'_>, entry: Entry<'_>, is_known: bool) -> Fix {
    let degree = match (has_comment(entry), is_known) {
        (true, _) => Applicability::DisplayOnly,
        (false, true) => Applicability::Safe,
        (false, false) => Applicability::Unsafe,
    };
    let annotations = Route::keys(&["metadata", "annotations"]);
    let route = service.route.join(&annotations);
    let held = service.node.at(&annotations).map(NodeRef::entries);
    let is_last = held.is_some_and(|mut entries| entries.len() == 1 && entries.next().is_some());
    let key = entry.key.text().unwrap_or_default();
    let route = if is_last {
        route
    } else {
        route.child(key.to_owned())
    };
    let title = "delete the annotation, which nobody reads";
    scene::fix(service, title, degree, vec![Change::Remove { route }])
}

/// What the annotation was for, in the words of today.
fn exception<'t>(scene: &Scene<'_, 't>, service: &Object<'t>, target: i64) -> Option<Value> {
    let map = |key: &str, value: Value| Value::Map(vec![(key.to_owned(), value)]);
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
    let name = format!("{}-port-{target}", service.name());
    let mut metadata = vec![("name".to_owned(), Value::Str(name))];
    let (namespace, is_written) = scene.context.namespace_of(service);
    if is_written {
        metadata.push(("namespace".to_owned(), Value::from(namespace)));
    }
    let mode = map("mode", Value::from("DISABLE"));
    let ports = map(&target.to_string(), mode);
    let spec = vec![
        (
            "selector".to_owned(),
            map("matchLabels", Value::Map(labels?)),
        ),
        ("portLevelMtls".to_owned(), ports),
    ];
    Some(Value::Map(vec![
        ("apiVersion".to_owned(), Value::from("security.istio.io/v1")),
        ("kind".to_owned(), Value::from("PeerAuthentication")),
        ("metadata".to_owned(), Value::Map(metadata)),
        ("spec".to_owned(), Value::Map(spec)),
    ]))
}
