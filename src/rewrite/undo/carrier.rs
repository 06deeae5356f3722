//! What carries a prober env, and how it goes without a trace.

use crate::context::proxy_config;
use crate::kube::{Container, ContainerList, EnvVar, Workload};
use crate::mesh::istio::keys;
use crate::mesh::istio::proxy_config::ProxyConfig;
use crate::mesh::istio::rewrite::parse_bool;
use crate::yaml::{self, Change, Entry, NodeRef, Route, Span, Style, Tree, Value};

use super::super::guard::Refusal;

/// One place with a prober env.
pub(super) enum Carrier<'t> {
    /// `proxyMetadata` in the annotation: the sealed form.
    Annotation(Entry<'t>, ProxyConfig),
    /// The env of an `istio-proxy` container: a stub, a container of the user's, or an injected
    /// sidecar.
    Variable(Container<'t>, EnvVar<'t>),
}

impl<'t> Carrier<'t> {
    /// Lists all of a pod; the sidecar takes in one of them at most.
    pub(super) fn all_of(workload: &Workload<'t>) -> Vec<Self> {
        let template = &workload.template;
        let mut all = Vec::new();
        for container in template.containers() {
            if container.name() != keys::PROXY_CONTAINER {
                continue;
            }
            let variables = variables(&container);
            all.extend(
                variables
                    .into_iter()
                    .map(|variable| Self::Variable(container.clone(), variable)),
            );
        }
        let config = proxy_config(workload).filter(|config| config.probers().is_some());
        let entry = template.annotation(keys::PROXY_CONFIG);
        all.extend(
            entry
                .zip(config)
                .map(|(entry, config)| Self::Annotation(entry, config)),
        );
        all
    }

    pub(super) fn span(&self) -> Span {
        match self {
            Self::Annotation(entry, _) => entry.key.span(),
            Self::Variable(_, variable) => variable.node.span(),
        }
    }

    /// Returns the changes that take the carrier away, and the opt-out that was written with it.
    pub(super) fn removed(&self, workload: &Workload<'t>) -> Result<Vec<Change>, Refusal> {
        let mut changes = Vec::new();
        let mut gone = opt_out(workload);
        match self {
            Self::Annotation(entry, config) => match left(config).map_err(|reason| {
                let said = format!("`{}` can't be changed: {reason}", keys::PROXY_CONFIG);
                Refusal::new("proxy-config-invalid", entry.key.span(), said)
            })? {
                Some(text) => changes.push(Change::Set {
                    route: workload.template.annotation_route(keys::PROXY_CONFIG),
                    value: styled(text, entry.value.style()),
                }),
                None => gone.push(keys::PROXY_CONFIG),
            },
            Self::Variable(container, variable) => {
                let route = gone_of_container(container, variable);
                changes.push(Change::Remove { route });
            }
        }
        changes.extend(without(workload, &gone));
        Ok(changes)
    }
}

fn variables<'t>(container: &Container<'t>) -> Vec<EnvVar<'t>> {
    let items = container
        .node
        .get("env")
        .into_iter()
        .flat_map(NodeRef::items);
    let env = container.route.child("env");
    items
        .enumerate()
        .filter(|(_, item)| item.get("name").and_then(NodeRef::text) == Some(keys::PROBERS_ENV))
        .map(|(index, node)| EnvVar {
            node,
            route: env.child(index),
        })
        .collect()
}

/// The opt-out beside a prober env was written with it. An opt-out that is not one is kept.
fn opt_out(workload: &Workload<'_>) -> Vec<&'static str> {
    let entry = workload.template.annotation(keys::REWRITE_PROBERS);
    let word = entry.and_then(|entry| entry.value.text());
    let is_off = word.and_then(parse_bool) == Some(false);
    is_off
        .then_some(keys::REWRITE_PROBERS)
        .into_iter()
        .collect()
}

/// The whole container where it is a stub of ours; else the variable, with the `env` that would
/// be empty without it.
fn gone_of_container(container: &Container<'_>, variable: &EnvVar<'_>) -> Route {
    let env = container.node.get("env");
    let is_alone = env.is_some_and(|env| env.items().len() == 1);
    let is_bare = container.node.entries().len() == 3;
    let is_stub = is_alone && is_bare && container.image() == Some("auto");
    if is_stub && container.list == ContainerList::Main {
        return container.route.clone();
    }
    if is_alone {
        return container.route.child("env");
    }
    variable.route.clone()
}

/// Removes annotations, and the mappings that would be empty without them.
fn without(workload: &Workload<'_>, gone: &[&'static str]) -> Vec<Change> {
    let template = &workload.template;
    let Some(annotations) = template.annotations().filter(|_| !gone.is_empty()) else {
        return Vec::new();
    };
    if annotations.entries().len() > gone.len() {
        let each = gone.iter().map(|key| Change::Remove {
            route: template.annotation_route(key),
        });
        return each.collect();
    }
    let metadata = template.route.child("metadata");
    let is_alone = template
        .node
        .get("metadata")
        .is_some_and(|metadata| metadata.entries().len() == 1);
    let route = if is_alone {
        metadata
    } else {
        metadata.child("annotations")
    };
    vec![Change::Remove { route }]
}

/// The annotation's text without the env; `None` where nothing is left of it.
fn left(config: &ProxyConfig) -> Result<Option<String>, String> {
    let Some(tree) = config.tree() else {
        return Ok(None);
    };
    let metadata = Route::keys(&["proxyMetadata"]);
    let size = |route: &Route| {
        let node = tree.root().and_then(|root| root.at(route));
        node.map_or(0, |node| node.entries().len())
    };
    let route = match (size(&Route::root()), size(&metadata)) {
        (1, 1) => return Ok(comments(tree)),
        (_, 1) => metadata,
        _ => metadata.child(keys::PROBERS_ENV),
    };
    let edits = yaml::apply(tree, &[Change::Remove { route }]).map_err(|error| error.reason)?;
    Ok(Some(yaml::splice(tree.text(), &edits)))
}

/// The comments before the first entry, if there are any.
fn comments(tree: &Tree) -> Option<String> {
    let root = tree.root()?;
    let above = tree.text().get(..root.span().start)?;
    above.contains('#').then(|| above.to_owned())
}

/// A text of several lines needs a block; one of one line stays what it was.
fn styled(text: String, style: Style) -> Value {
    let is_block = matches!(style, Style::Literal | Style::Folded);
    if is_block || text.contains('\n') {
        Value::Block(text)
    } else {
        Value::Str(text)
    }
}
