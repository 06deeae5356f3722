//! `MutatingWebhookConfiguration`: which pods are injected, as the API server decides.
//!
//! Source: Istio 1.31, `templates/mutatingwebhook.yaml` and `templates/revision-tags-mwc.yaml` of
//! the chart istio-discovery; Kubernetes, "Dynamic Admission Control".

use meshprobe_yaml::{Entry, NodeRef};

use super::installation::{Carrier, Install, Part, Webhook};
use crate::kube::{Object, Requirements};
use crate::mesh::Fact;
use crate::mesh::istio::keys;

/// Reads the configuration of an injector, which is recognized by its labels or the names of its webhooks.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let own: Vec<NodeRef<'_>> = object
        .node
        .get("webhooks")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter(is_injector)
        .collect();
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
            let message = format!("`reinvocationPolicy` is {text}");
            Some(Fact::known(
                text.to_owned(),
                object.label_at(node.span(), message),
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
    let message = format!("`{text}` is served here");
    Some(Fact::known(
        text.to_owned(),
        object.label_at(entry.value.span(), message),
    ))
}

/// Returns whether a webhook injects. The validation of Istio and other programs have webhooks, too.
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
    let [namespaces, objects] = selectors.map(Requirements::parse_builtin);
    let invalid = [&namespaces, &objects]
        .into_iter()
        .zip(selectors)
        .filter(|(read, _)| read.is_refused())
        .find_map(|(_, node)| node)
        .map(|node| {
            (
                node,
                "Kubernetes does not know this operator: the selector is assumed to match",
            )
        });
    let conditions = item
        .get("matchConditions")
        .filter(|list| list.items().len() > 0)
        .map(|node| {
            (
                node,
                "`matchConditions` are not evaluated, and assumed to be met",
            )
        });
    let unevaluated = invalid.or(conditions);
    Webhook {
        name,
        tag: tag.cloned(),
        namespaces,
        objects,
        place,
        unevaluated: unevaluated.map(|(node, message)| object.label_at(node.span(), message)),
    }
}

/// Returns whether a Service maps a tag.
pub(super) fn concerns_service(object: &Object<'_>) -> bool {
    object.label(keys::TAG).is_some() && object.label(keys::REVISION).is_some()
}

/// Reads the tag that a Service maps to a revision.
pub(super) fn read_service(object: &Object<'_>) -> Option<Install> {
    let tag = object.label(keys::TAG)?.value;
    let part = Part::Tags {
        kind: "Service".to_owned(),
        name: object.label(keys::REVISION)?.value.text()?.to_owned(),
    };
    let name = tag.text()?.to_owned();
    let mut install = Install::of(object, Carrier::Rendered, part);
    let place = object.label_at(tag.span(), format!("tag `{name}` is served here"));
    install.tags.push(Fact::known(name, place));
    Some(install)
}
