//! What carries a prober env, and how it goes without a trace.

use crate::context::proxy_config;
use crate::kube::{Container, ContainerList, EnvVar, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::proxy_config::ProxyConfig;
use crate::yaml::{self, Change, Entry, NodeRef, Route, Span, Style, Tree, Value};

use super::super::guard::Refusal;
use super::leaving::Leaving;

/// One place with a prober env.
pub(super) enum Carrier<'t> {
    /// `proxyMetadata` in the annotation: the form `annotation`.
    Annotation(Entry<'t>, ProxyConfig),
    /// The env of an `istio-proxy` container: a partial container that a rewrite added, one of the user, or an injected
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

    /// Returns the changes that take the carrier away, and the opt-out that was written with it;
    /// then what they do not restore to the letter. `by_default`: the mesh rewrites by itself.
    pub(super) fn removed(
        &self,
        workload: &Workload<'t>,
        by_default: &Fact<bool>,
    ) -> Result<(Vec<Change>, Vec<String>), Refusal> {
        let mut leaving = Leaving::new(workload);
        leaving.opt_out(by_default);
        match self {
            Self::Annotation(entry, config) => {
                let left = left(config).map_err(|reason| {
                    let said = format!("`{}` can't be changed: {reason}", keys::PROXY_CONFIG);
                    Refusal::new("proxy-config-invalid", entry.key.span(), said)
                })?;
                let key = keys::PROXY_CONFIG;
                match left {
                    Some(text) if is_one_line(entry) && !text.trim_end().contains('\n') => {
                        leaving.set(key, Value::from(text.trim_end()));
                        let said = "goes back to one line, which may have been quoted otherwise";
                        leaving.remarks.push(format!("`{key}` {said}"));
                    }
                    Some(text) => leaving.set(key, styled(text, entry.value.style())),
                    None if is_one_line(entry) => {
                        leaving.set(key, Value::from("{}"));
                        let said = "is left as `{}`: it was there before, with nothing in it";
                        leaving.remarks.push(format!("`{key}` {said}"));
                    }
                    None => leaving.take(key, ""),
                }
            }
            Self::Variable(container, variable) => {
                let route = gone_of_container(container, variable);
                leaving.changes.push(Change::Remove { route });
            }
        }
        let remarks = std::mem::take(&mut leaving.remarks);
        Ok((leaving.changes(), remarks))
    }
}

/// A block that holds no line break at its end was a text of one line: a rewrite from scratch
/// writes one, and what was a block keeps its own.
fn is_one_line(entry: &Entry<'_>) -> bool {
    let is_block = matches!(entry.value.style(), Style::Literal | Style::Folded);
    let text = entry.value.text().unwrap_or_default();
    is_block && !text.ends_with('\n')
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

/// The whole container if a rewrite added it; else the variable, with the `env` that would
/// be empty without it.
fn gone_of_container(container: &Container<'_>, variable: &EnvVar<'_>) -> Route {
    let env = container.node.get("env");
    let is_alone = env.is_some_and(|env| env.items().len() == 1);
    let is_bare = container.node.entries().len() == 3;
    let is_ours = is_alone && is_bare && container.image() == Some("auto");
    if is_ours && container.list == ContainerList::Main {
        return container.route.clone();
    }
    if is_alone {
        return container.route.child("env");
    }
    variable.route.clone()
}

/// The annotation's text without the env; `None` where nothing is left of it.
fn left(config: &ProxyConfig) -> Result<Option<String>, String> {
    let Some(tree) = config.tree() else {
        return Ok(None);
    };
    let metadata = Route::root().child(config.metadata_key().to_owned());
    let size = |route: &Route| {
        let node = tree.root().and_then(|root| root.at(route));
        node.map_or(0, |node| node.entries().len())
    };
    let route = match (size(&Route::root()), size(&metadata)) {
        (1, 1) => return Ok(comments(tree)),
        (_, 1) => metadata,
        _ => metadata.child(keys::PROBERS_ENV),
    };
    let edits =
        yaml::apply_embedded(tree, &[Change::Remove { route }]).map_err(|error| error.reason)?;
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
