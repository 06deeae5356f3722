//! The labels that decide about injection, written or assumed.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::injection::InjectionInput;
use meshprobe_mesh::mesh::istio::install::{Install, MEMBER_OF};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::InjectionAssumption;
use meshprobe_yaml::{Entry, NodeRef};

use crate::context::istio::facets::Injection;
use crate::context::user_facts::UserFacts;

/// The label that Kubernetes sets on every Namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The labels that decide about injection.
#[derive(Clone, Copy, Debug)]
pub(in crate::context) struct Labels<'a> {
    /// The input of the injection model.
    pub(in crate::context) input: InjectionInput<'a>,
    /// All labels of the Namespace, if it is in the tree.
    namespace: Option<NodeRef<'a>>,
    /// The namespace of the control plane of OpenShift Service Mesh whose mesh contains the namespace.
    member_of: Option<&'a str>,
    /// All labels of the pod.
    pod: Option<NodeRef<'a>>,
    /// The file of the workload.
    pub(in crate::context) path: &'a str,
    /// The user's facts for it.
    pub(in crate::context) given: &'a UserFacts,
}

impl<'a> Labels<'a> {
    /// Returns the value of a label of the pod.
    pub(in crate::context) fn pod(&self, key: &str) -> Option<&'a str> {
        self.pod?.get(key)?.text()
    }

    /// Returns the value of a label of the namespace, written or assumed.
    pub(in crate::context) fn namespace(&self, key: &str) -> Option<&'a str> {
        match key {
            keys::NAMESPACE_INJECTION => self.input.namespace_injection,
            keys::REVISION => self.input.namespace_revision,
            NAMESPACE_NAME => Some(self.input.namespace),
            MEMBER_OF if self.member_of.is_some() => self.member_of,
            _ => self.namespace?.get(key)?.text(),
        }
    }
}

impl<'c, 't> Injection<'c, 't> {
    /// Returns the labels that decide about injection. A namespace that is not in the tree gets the
    /// labels that it would have if it were injected.
    pub(in crate::context) fn labels(self, scope: &[&'c Install]) -> Labels<'c>
    where
        't: 'c,
    {
        let object = &self.workload.object;
        self.labels_in(self.context.namespace_of(object).manifest(), scope)
    }

    /// Returns the labels that decide about injection if `namespace` is the Namespace.
    pub(in crate::context) fn labels_in(
        self,
        namespace: Option<&'c Object<'t>>,
        scope: &[&'c Install],
    ) -> Labels<'c>
    where
        't: 'c,
    {
        let object = &self.workload.object;
        let template = &self.workload.template;
        let given = self.context.user_facts(object);
        let found = namespace.filter(|_| !given.overrides_injection());
        let namespace = self.context.namespace_of(object).name;
        let of_namespace = |key: &str| text(found.and_then(|found: &Object<'t>| found.label(key)));
        let mut input = InjectionInput {
            namespace,
            namespace_injection: of_namespace(keys::NAMESPACE_INJECTION),
            namespace_revision: of_namespace(keys::REVISION),
            label: text(template.label(keys::INJECT)),
            annotation: text(template.annotation(keys::INJECT)),
            revision: text(template.label(keys::REVISION)),
            host_network: template.host_network().is_some(),
        };
        let member_of = self.member_of();
        if found.is_none() && input.revision.is_none() && member_of.is_none() {
            match assumed_revision(given, scope) {
                Some(name) => input.namespace_revision = Some(name),
                None => input.namespace_injection = Some("enabled"),
            }
        }
        let metadata = found.and_then(Object::metadata);
        Labels {
            input,
            namespace: metadata.and_then(|metadata| metadata.get("labels")),
            member_of,
            pod: template.labels(),
            path: object.path(),
            given,
        }
    }
}

impl UserFacts {
    /// Returns whether an option decides about injection and overrides the tree.
    pub(in crate::context) fn overrides_injection(&self) -> bool {
        let given = self.overrides.injection;
        given.is_some_and(|given| given != InjectionAssumption::Evidence)
    }
}

/// Returns the revision that an injected namespace must name; `None` if a control plane has the
/// default role.
fn assumed_revision<'a>(given: &'a UserFacts, scope: &[&'a Install]) -> Option<&'a str> {
    let given = [&given.overrides.revisions, &given.assume.revisions];
    let given = given.into_iter().find(|names| !names.is_empty());
    if let Some(names) = given {
        let has_default = names.iter().any(|name| name == "default");
        return names.first().map(String::as_str).filter(|_| !has_default);
    }
    if scope.iter().any(|plane| plane.is_default()) {
        return None;
    }
    scope.first().and_then(|plane| plane.names().next())
}

fn text<'a>(entry: Option<Entry<'a>>) -> Option<&'a str> {
    entry.and_then(|entry| entry.value.text())
}
