//! `MutatingWebhookConfiguration`: who is injected, as the API server decides it.
//!
//! Source: Istio 1.31, `templates/mutatingwebhook.yaml` and `templates/revision-tags-mwc.yaml` of
//! the chart istio-discovery; Kubernetes, "Dynamic Admission Control".

use crate::finding::Label;
use crate::kube::{Object, Requirements};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::yaml::{Entry, NodeRef};

use super::{Carrier, Install, Part};

/// One webhook that asks the injector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its name, such as `namespace.sidecar-injector.istio.io`.
    pub name: String,
    /// The tag whose configuration it stands in; `None` for that of the revision itself.
    pub tag: Option<String>,
    /// `namespaceSelector`.
    pub namespaces: Requirements,
    /// `objectSelector`.
    pub objects: Requirements,
    /// The line of its name.
    pub place: Label,
    /// What else decides and is not evaluated: `matchConditions`, or an operator of a selector that
    /// Kubernetes does not know.
    pub open: Option<Label>,
}

impl Webhook {
    /// Tells whether the API server asks the injector about a pod, as far as its selectors can be
    /// read; `namespace` and `pod` give the values of their labels.
    pub fn matches<'a>(
        &self,
        namespace: impl Fn(&str) -> Option<&'a str>,
        pod: impl Fn(&str) -> Option<&'a str>,
    ) -> bool {
        self.namespaces.may_match(namespace) && self.objects.may_match(pod)
    }
}

/// Reads the configuration of an injector, by its labels or the names of its webhooks.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let list = object.node.get("webhooks").into_iter();
    let own: Vec<NodeRef<'_>> = list.flat_map(NodeRef::items).filter(is_injector).collect();
    if own.is_empty() {
        return None;
    }
    let mut install =
        Install::of(object, Carrier::Webhooks, Part::OfRevision).with_labelled_version(object);
    let label = |key| object.label(key).and_then(|entry| text_fact(object, entry));
    install.revision = label(keys::REVISION).filter(|fact| fact.value != "default");
    let tag = label(keys::TAG);
    install.reinvocation_policy = own
        .iter()
        .find_map(|item| item.get("reinvocationPolicy"))
        .and_then(|node| {
            let text = node.text()?;
            let said = format!("`reinvocationPolicy` is {text}");
            Some(Fact::known(
                text.to_owned(),
                object.label_at(node.span(), said),
            ))
        });
    let tag_name = tag.as_ref().map(|fact| fact.value.clone());
    install.webhooks = own
        .iter()
        .map(|item| webhook(object, *item, tag_name.as_ref()))
        .collect();
    install.tags.extend(tag);
    Some(install)
}

fn text_fact(object: &Object<'_>, entry: Entry<'_>) -> Option<Fact<String>> {
    let text = entry.value.text()?;
    let said = format!("`{text}` is served here");
    Some(Fact::known(
        text.to_owned(),
        object.label_at(entry.value.span(), said),
    ))
}

/// The validation of Istio has webhooks too, and so have others.
fn is_injector(item: &NodeRef<'_>) -> bool {
    let name = item.get("name").and_then(NodeRef::text).unwrap_or_default();
    let service = item
        .get("clientConfig")
        .and_then(|config| config.get("service"));
    let path = service
        .and_then(|service| service.get("path"))
        .and_then(NodeRef::text);
    name.ends_with("sidecar-injector.istio.io")
        || path.is_some_and(|path| path.starts_with("/inject")) && name.contains("istio")
}

fn webhook(object: &Object<'_>, item: NodeRef<'_>, tag: Option<&String>) -> Webhook {
    let node = item.get("name").unwrap_or(item);
    let name = node.text().unwrap_or_default().to_owned();
    let place = object.label_at(node.span(), format!("webhook `{name}` selects the pod"));
    let selectors = ["namespaceSelector", "objectSelector"].map(|key| item.get(key));
    let [namespaces, objects] = selectors.map(Requirements::parse);
    let refused = [&namespaces, &objects].into_iter().zip(selectors);
    let refused = refused
        .filter(|(read, _)| read.is_refused())
        .find_map(|(_, node)| node)
        .map(|node| {
            (
                node,
                "Kubernetes knows no such operator: taken as if it matched",
            )
        });
    let conditions = item
        .get("matchConditions")
        .filter(|list| list.items().len() > 0)
        .map(|node| (node, "`matchConditions` are not evaluated: taken as met"));
    let open = refused.or(conditions);
    Webhook {
        name,
        tag: tag.cloned(),
        namespaces,
        objects,
        place,
        open: open.map(|(node, said)| object.label_at(node.span(), said)),
    }
}
