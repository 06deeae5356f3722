//! The admission of Istio's own policies: the schemas with which the API server validates them, and the validation of
//! istiod's webhook.
//!
//! Source: Istio 1.31, `manifests/charts/base/files/crd-all.gen.yaml`, `pkg/config/validation/validation.go` and
//! `pkg/config/security/security.go`. `tests/oracle/istio.sh` compares them.
//!
//! istiod's validation of AuthorizationPolicies.
//!
//! Source: Istio 1.31, `ValidateAuthorizationPolicy` in `pkg/config/validation/validation.go`.

mod authorization_values;
mod schema;

use authorization_values::{self as values, has_field};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{FieldPath, NodeRef, Span};
use schema::{Authority, Reader, Schema};

use crate::kube::Object;
use crate::mesh::Version;

pub use schema::Rejection;

/// Returns why a PeerAuthentication cannot be created, in the order of its fields. A mode that does not exist and ports
/// without a selector are reported by rules of their own.
#[must_use]
pub fn peer_authentication(policy: &Object<'_>) -> Vec<Rejection> {
    against(policy, &schema::PEER_AUTHENTICATION)
}

/// Returns why an AuthorizationPolicy cannot be created. `release` is the release of the control plane, if known.
#[must_use]
pub fn authorization_policy(policy: &Object<'_>, release: Option<Version>) -> Vec<Rejection> {
    let rejections = against(policy, &authorization_values::AUTHORIZATION_POLICY);
    // The webhook is called for objects that match the schema.
    if rejections.is_empty() {
        webhook_rejections(policy, release)
    } else {
        rejections
    }
}

/// Returns whether an object is a control plane of OpenShift Service Mesh 2.
pub fn is_control_plane(object: &Object<'_>) -> bool {
    object.kind == "ServiceMeshControlPlane" && object.api_version == "maistra.io/v2"
}

/// Returns why a control plane of OpenShift Service Mesh 2 cannot be created, in the order of its fields.
#[must_use]
pub fn control_plane(plane: &Object<'_>) -> Vec<Rejection> {
    against(plane, &schema::CONTROL_PLANE)
}

/// Returns why a WorkloadGroup cannot be created because of its metadata or its template.
#[must_use]
pub(crate) fn workload_template(group: &Object<'_>) -> Vec<Rejection> {
    against(group, &schema::WORKLOAD_GROUP)
}

/// Returns why istioctl cannot read the metadata or the template of a WorkloadGroup. It reads without schemas.
#[must_use]
pub(crate) fn unreadable_template(group: &Object<'_>) -> Option<Rejection> {
    let found = read(group, &schema::WORKLOAD_GROUP, Reader::Istioctl);
    found.into_iter().next()
}

fn against(object: &Object<'_>, spec: &'static Schema) -> Vec<Rejection> {
    read(object, spec, Reader::ApiServer)
}

fn read(object: &Object<'_>, spec: &'static Schema, reader: Reader) -> Vec<Rejection> {
    let route = FieldPath::keys(&["spec"]);
    let node = object.node.get_set("spec");
    node.map_or_else(Vec::new, |node| reader.rejections(node, spec, &route))
}

/// Fields of `source` that the action CUSTOM does not support.
const NOT_FOR_CUSTOM: [&str; 10] = [
    "namespaces",
    "notNamespaces",
    "serviceAccounts",
    "notServiceAccounts",
    "trustDomains",
    "notTrustDomains",
    "principals",
    "notPrincipals",
    "requestPrincipals",
    "notRequestPrincipals",
];
/// Conditions that the action CUSTOM does not support, in addition to `request.auth.*`.
const NO_CUSTOM_CONDITIONS: [&str; 4] = [
    "source.namespace",
    "source.serviceAccount",
    "source.trustDomain",
    "source.principal",
];
/// Kinds of target references with their groups: `allowedTargetRefs`.
const TARGETS: [(&str, &str); 5] = [
    ("", "Service"),
    ("core", "Service"),
    ("gateway.networking.k8s.io", "Gateway"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("networking.istio.io", "ServiceEntry"),
];

/// Returns why istiod rejects a policy that matches the schema. `release` is the release of the control plane.
fn webhook_rejections(policy: &Object<'_>, release: Option<Version>) -> Vec<Rejection> {
    let mut found = Validator {
        action: "ALLOW",
        release,
        rejections: Vec::new(),
    };
    if let Some(spec) = policy.node.get_set("spec") {
        found.spec(spec, policy.name_span());
    }
    found.rejections
}

struct Validator<'t> {
    action: &'t str,
    release: Option<Version>,
    rejections: Vec<Rejection>,
}

impl<'t> Validator<'t> {
    fn reject(&mut self, by: Authority, span: Span, route: &FieldPath, reason: impl Into<String>) {
        self.rejections.push(Rejection {
            by,
            span,
            route: route.clone(),
            reason: reason.into(),
        });
    }

    fn spec(&mut self, spec: NodeRef<'t>, name: Span) {
        let route = FieldPath::keys(&["spec"]);
        self.scope(spec, &route);
        let action = spec.get_set("action").and_then(NodeRef::text);
        self.action = action.unwrap_or("ALLOW");
        if placeholder::contains(self.action) {
            return;
        }
        self.provider(spec, &route);
        // An empty list is read as no list.
        let rules = spec
            .get_set("rules")
            .filter(|rules| rules.items().len() > 0);
        let span = spec.get_set("action").map_or(name, NodeRef::span);
        if rules.is_none() && matches!(self.action, "DENY" | "CUSTOM") {
            let reason = format!("has action {} and requires `rules`", self.action);
            self.reject(Authority::Istiod, span, &route, reason);
        }
        let rules = rules.into_iter().flat_map(NodeRef::items);
        let rules_route = route.child("rules");
        for (index, rule) in rules.enumerate() {
            self.rule(rule, &rules_route.child(index));
        }
    }

    /// Checks what the policy applies to.
    fn scope(&mut self, spec: NodeRef<'t>, route: &FieldPath) {
        let scopes = ["selector", "targetRef", "targetRefs"];
        let mut set = scopes.iter().filter_map(|key| spec.set_entry(key));
        if let (Some(_), Some(second)) = (set.next(), set.next()) {
            let route = route.child(second.key.text().unwrap_or_default().to_owned());
            let reason = "is not allowed together with another selector or target";
            self.reject(Authority::ApiServer, second.key.span(), &route, reason);
        }
        if let Some(target) = spec.get_set("targetRef") {
            self.target(target, &route.child("targetRef"));
        }
        let targets = spec
            .get_set("targetRefs")
            .into_iter()
            .flat_map(NodeRef::items);
        let route = route.child("targetRefs");
        for (index, target) in targets.enumerate() {
            self.target(target, &route.child(index));
        }
    }

    fn target(&mut self, target: NodeRef<'t>, route: &FieldPath) {
        let text = |key| {
            target
                .get_set(key)
                .and_then(NodeRef::text)
                .unwrap_or_default()
        };
        let (group, kind) = (text("group"), text("kind"));
        let is_open = placeholder::contains(group) || placeholder::contains(kind);
        if !is_open && !TARGETS.contains(&(group, kind)) {
            let reason = format!("refers to `{group}/{kind}`, which a policy cannot target");
            self.reject(Authority::Istiod, target.span(), route, reason);
        }
    }

    fn provider(&mut self, spec: NodeRef<'t>, route: &FieldPath) {
        let provider = spec.set_entry("provider");
        let name = provider.and_then(|provider| provider.value.get_set("name")?.text());
        let is_custom = self.action == "CUSTOM";
        let route = route.child("provider");
        match (
            provider,
            spec.set_entry("rules")
                .filter(|rules| rules.value.items().len() > 0),
        ) {
            (Some(provider), _) if !is_custom => {
                let reason = format!("is not allowed with action {}", self.action);
                self.reject(Authority::Istiod, provider.key.span(), &route, reason);
            }
            (_, Some(rules)) if is_custom && name.unwrap_or_default().is_empty() => {
                let span = provider.unwrap_or(rules).key.span();
                let reason = "requires the field `name` with action CUSTOM";
                self.reject(Authority::Istiod, span, &route, reason);
            }
            _ => {}
        }
    }

    fn rule(&mut self, rule: NodeRef<'t>, route: &FieldPath) {
        for (list, field) in [("from", "source"), ("to", "operation")] {
            let Some(clauses) = rule.get_set(list).filter(|clauses| clauses.is_sequence()) else {
                continue;
            };
            let route = route.child(list);
            for (index, clause) in clauses.items().enumerate() {
                let route = route.child(index);
                match clause.get_set(field) {
                    Some(node) if node.is_mapping() => {
                        self.clause(field, node, &route.child(field));
                    }
                    Some(_) => {}
                    None => {
                        let reason = format!("requires the field `{field}`");
                        self.reject(Authority::Istiod, clause.span(), &route, reason);
                    }
                }
            }
        }
        let conditions = rule.get_set("when").into_iter().flat_map(NodeRef::items);
        let route = route.child("when");
        for (index, condition) in conditions.enumerate() {
            self.condition(condition, &route.child(index));
        }
    }

    /// Checks a source or an operation.
    fn clause(&mut self, field: &str, node: NodeRef<'t>, route: &FieldPath) {
        let mut is_empty = true;
        for entry in node.effective_entries() {
            if entry.value.is_null() {
                continue;
            }
            let name = entry.key.text().unwrap_or_default();
            if !has_field(field, name) {
                continue;
            }
            is_empty &= entry.value.items().len() == 0 && entry.value.is_sequence();
            let route = route.child(name.to_owned());
            if self.action == "CUSTOM"
                && NOT_FOR_CUSTOM.contains(&name)
                && entry.value.items().len() > 0
            {
                let reason = "is not supported with action CUSTOM";
                self.reject(Authority::Istiod, entry.key.span(), &route, reason);
            }
            self.values(entry.value, values::of_field(name), &route);
        }
        if is_empty {
            let reason = "contains no condition that is not empty";
            self.reject(Authority::Istiod, node.span(), route, reason);
        }
        self.accounts(node, route);
    }

    fn accounts(&mut self, node: NodeRef<'t>, route: &FieldPath) {
        let entry = |keys: &[&str]| keys.iter().find_map(|key| node.set_entry(key));
        let accounts = entry(&["serviceAccounts", "notServiceAccounts"]);
        let others = entry(&["principals", "notPrincipals", "namespaces", "notNamespaces"]);
        if let (Some(accounts), Some(_)) = (accounts, others) {
            let reason =
                "contains service accounts, which cannot be combined with namespaces or principals";
            self.reject(Authority::ApiServer, accounts.key.span(), route, reason);
        }
    }

    fn values(&mut self, list: NodeRef<'t>, check: values::Check, route: &FieldPath) {
        for (index, item) in list.items().enumerate() {
            let Some(text) = item.as_str().filter(|text| !placeholder::contains(text)) else {
                continue;
            };
            if let Some(reason) = check.fault(text, self.release) {
                self.reject(Authority::Istiod, item.span(), &route.child(index), reason);
            }
        }
    }

    fn condition(&mut self, condition: NodeRef<'t>, route: &FieldPath) {
        let Some(key) = condition.get_set("key") else {
            return;
        };
        let name = key.text().unwrap_or_default();
        if placeholder::contains(name) {
            return;
        }
        let key_route = route.child("key");
        let is_unsupported =
            NO_CUSTOM_CONDITIONS.contains(&name) || name.starts_with("request.auth.");
        if self.action == "CUSTOM" && is_unsupported {
            let reason = format!("is `{name}`, which is not supported with action CUSTOM");
            self.reject(Authority::Istiod, key.span(), &key_route, reason);
        }
        let lists = ["values", "notValues"].map(|list| (list, condition.get_set(list)));
        let is_empty = |(_, list): &(&str, Option<NodeRef<'t>>)| {
            list.is_none_or(|list| list.is_sequence() && list.items().len() == 0)
        };
        if lists.iter().all(is_empty) {
            let reason = "requires `values` or `notValues`";
            return self.reject(Authority::Istiod, condition.span(), route, reason);
        }
        match values::of_condition(name) {
            Err(reason) => self.reject(Authority::Istiod, key.span(), &key_route, reason),
            Ok(check) => {
                for (list, node) in lists {
                    if let Some(node) = node {
                        self.values(node, check, &route.child(list));
                    }
                }
            }
        }
    }
}
