//! `vars`: values of objects that replace `$(NAME)` in certain fields of all objects, after all other changes.
//!
//! Source: kustomize 5.8.2, `ResolveVars` in `api/internal/accumulator/resaccumulator.go`, `api/filters/refvar`, and
//! `api/internal/konfig/builtinpluginconsts/varreference.go`, of which the fields of Ingresses and of volumes are left out.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::is_kustomization;
use meshprobe_yaml::NodeRef;

use crate::kustomize::fields::{self, FieldSpec};
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::node::{Leaf, Node, Origin, Value};
use crate::kustomize::resource::{NameIndex, NameRef, Resource, group_version};

/// Variable of a kustomization, and the field with its value.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    api_version: String,
    kind: String,
    object: String,
    namespace: String,
    path: String,
    /// The location of the variable.
    pub(crate) origin: Origin,
}

/// The value of a variable.
enum Found {
    Value(Leaf),
    /// It is not a scalar, or not known.
    Unknown,
    /// Its object has no such field.
    NoField,
    /// No object is the one that it names.
    NoObject,
}

/// Returns the variables of a kustomization.
pub(crate) fn variables(k: &Kustomization<'_>) -> impl Iterator<Item = Variable> {
    k.items("vars").map(|item| {
        let text = |node: Option<NodeRef<'_>>, key: &str| {
            let text = node.and_then(|node| node.get(key)?.text());
            text.unwrap_or_default().to_owned()
        };
        let object = item.get("objref");
        let field = item.get("fieldref");
        // Both names are common.
        let paths = [text(field, "fieldPath"), text(field, "fieldpath")];
        let path = paths.into_iter().find(|path| !path.is_empty());
        let path = path.unwrap_or_else(|| "metadata.name".to_owned());
        let version = match (text(object, "apiVersion"), text(object, "group")) {
            (version, _) if !version.is_empty() => version,
            (_, group) if group.is_empty() => text(object, "version"),
            (_, group) => format!("{group}/{}", text(object, "version")),
        };
        Variable {
            name: text(Some(item), "name"),
            api_version: version,
            kind: text(object, "kind"),
            object: text(object, "name"),
            namespace: text(object, "namespace"),
            path,
            origin: k.origin(item.span()),
        }
    })
}

impl Variable {
    fn selects(&self, resource: &Resource) -> bool {
        let is_it = |name: NameRef<'_>| {
            (name.kind, name.name) == (&*self.kind, &*self.object)
                && (self.namespace.is_empty() || name.namespace == self.namespace)
        };
        resource.group_version() == group_version(&self.api_version) && resource.names().any(is_it)
    }

    /// Returns the value, which is unknown if several objects have the name of its object.
    fn value(&self, resources: &mut [Resource], names: &NameIndex) -> Found {
        let mut found = names.positions(Some(&self.object));
        found.retain(|at| resources.get(*at).is_some_and(|found| self.selects(found)));
        let resource = match found.as_slice() {
            [] => return Found::NoObject,
            [at] => resources.get_mut(*at),
            _ => None,
        };
        let Some(resource) = resource else {
            return Found::Unknown;
        };
        let is_generated = is_kustomization(&resource.path);
        match self.field(&resource.body).map(|node| &node.value) {
            Some(Value::Leaf(leaf)) => Found::Value(leaf.clone()),
            None if !is_generated => Found::NoField,
            _ => Found::Unknown,
        }
    }

    fn field<'n>(&self, mut node: &'n Node) -> Option<&'n Node> {
        for step in self.path.split('.') {
            let (key, index) = match step.strip_suffix(']') {
                Some(step) => step.split_once('[')?,
                None => (step, ""),
            };
            node = node.get(key)?;
            if !index.is_empty() {
                node = node.items().get(index.parse::<usize>().ok()?)?;
            }
        }
        Some(node)
    }
}

/// Replaces the variables in all objects, in the default fields and in others. A variable with an unknown value becomes a
/// placeholder. Returns the variables that kustomize refuses, with the reason.
pub(crate) fn resolve<'v>(
    variables: &'v [Variable],
    others: &[FieldSpec],
    resources: &mut [Resource],
) -> Vec<(&'v Variable, String)> {
    let specs: Vec<FieldSpec> = fields::specs(FIELDS)
        .chain(others.iter().cloned())
        .collect();
    let names = NameIndex::of(resources);
    let mut refused = Vec::new();
    let mut values: HashMap<&str, Option<Leaf>> = HashMap::new();
    for variable in variables {
        let Variable {
            name,
            kind,
            object,
            path,
            ..
        } = variable;
        let mut refuse = |what: String| {
            refused.push((variable, format!("variable `{name}` names {what}")));
            None
        };
        let value = match variable.value(resources, &names) {
            Found::Value(leaf) => Some(leaf),
            Found::Unknown => None,
            Found::NoObject => refuse(format!("{kind}/{object}, which does not exist")),
            Found::NoField => refuse(format!("`{path}`, which {kind}/{object} does not have")),
        };
        values.insert(name, value);
    }
    let mentions = |leaf: &Leaf| leaf.is_text && leaf.text.contains('$');
    for resource in resources {
        if !resource.body.may_mention("$") || !resource.body.any_leaf(&mentions) {
            continue;
        }
        let head = &resource.body;
        let specs: Vec<&FieldSpec> = specs.iter().filter(|spec| spec.is_for(head)).collect();
        for spec in specs {
            let steps: Vec<&str> = spec.path.split('/').collect();
            let changed = replaced_below(&resource.body, &steps, &values);
            if let Some(changed) = changed {
                *resource.change() = changed;
            }
        }
    }
    refused
}

/// Returns the value with the variables at the end of a path replaced; `None` if nothing changes.
fn replaced_below(
    node: &Node,
    steps: &[&str],
    values: &HashMap<&str, Option<Leaf>>,
) -> Option<Node> {
    let Some((step, rest)) = steps.split_first() else {
        return match &node.value {
            Value::Leaf(leaf) => replaced(node, leaf, values),
            _ => node.with_children(&mut |_, child| match &child.value {
                Value::Leaf(leaf) => replaced(child, leaf, values),
                _ => None,
            }),
        };
    };
    let name = step.strip_suffix("[]").unwrap_or(step);
    node.with_children(&mut |key, child| match key {
        None => replaced_below(child, steps, values),
        Some(key) if key == name => replaced_below(child, rest, values),
        Some(_) => None,
    })
}

/// Returns a string with its variables replaced; `None` if nothing changes.
fn replaced(node: &Node, leaf: &Leaf, values: &HashMap<&str, Option<Leaf>>) -> Option<Node> {
    if !leaf.is_text || !leaf.text.contains('$') {
        return None;
    }
    let whole = leaf.text.strip_prefix("$(");
    let whole = whole.and_then(|text| text.strip_suffix(')'));
    let new = match whole.and_then(|name| values.get(name)) {
        // A whole value keeps its type.
        Some(Some(value)) => Leaf {
            text: Arc::clone(&value.text),
            ..value.clone()
        },
        _ => Leaf {
            text: filled(&leaf.text, values).into(),
            ..leaf.clone()
        },
    };
    let mut changed = node.clone();
    changed.value = Value::Leaf(new);
    Some(changed)
}

/// Returns a text with its variables replaced. `$$` becomes `$`, and unknown names remain as they are.
fn filled(text: &str, values: &HashMap<&str, Option<Leaf>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let name = after
            .strip_prefix('(')
            .and_then(|inside| inside.split_once(')'));
        rest = match name {
            Some((name, behind)) => {
                match values.get(name) {
                    Some(Some(value)) => out.push_str(&value.text),
                    Some(None) => out.push_str(&placeholder(name)),
                    None => out.push_str(&format!("$({name})")),
                }
                behind
            }
            None => {
                out.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    out.push_str(rest);
    out
}

/// Returns a placeholder that no later step replaces.
fn placeholder(name: &str) -> String {
    format!("#{{{name}}}")
}

/// The fields in which kustomize replaces variables without `varReference`.
const FIELDS: &str = "\
* * Deployment spec/template/metadata/annotations
* * Service spec/ports/port
* * Service spec/ports/targetPort
* * * metadata/labels
* * * metadata/annotations
* * CronJob spec/jobTemplate/spec/template/spec/containers/args
* * CronJob spec/jobTemplate/spec/template/spec/containers/command
* * CronJob spec/jobTemplate/spec/template/spec/containers/env/value
* * CronJob spec/jobTemplate/spec/template/spec/containers/volumeMounts/mountPath
* * CronJob spec/jobTemplate/spec/template/spec/initContainers/args
* * CronJob spec/jobTemplate/spec/template/spec/initContainers/command
* * CronJob spec/jobTemplate/spec/template/spec/initContainers/env/value
* * CronJob spec/jobTemplate/spec/template/spec/initContainers/volumeMounts/mountPath
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/containers/args
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/containers/command
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/containers/env/value
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/containers/volumeMounts/mountPath
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/initContainers/args
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/initContainers/command
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/initContainers/env/value
* * DaemonSet,Deployment,Job,ReplicaSet,StatefulSet spec/template/spec/initContainers/volumeMounts/mountPath
* * Pod spec/containers/args
* * Pod spec/containers/command
* * Pod spec/containers/env/value
* * Pod spec/containers/volumeMounts/mountPath
* * Pod spec/initContainers/args
* * Pod spec/initContainers/command
* * Pod spec/initContainers/env/value
* * Pod spec/initContainers/volumeMounts/mountPath";

/// Returns the fields that the `varReference` of a file under `configurations` adds.
pub(crate) fn configured_fields(config: &Node) -> impl Iterator<Item = FieldSpec> {
    let specs = config
        .get("varReference")
        .map(Node::items)
        .unwrap_or_default();
    let spec = |spec: &'_ Node| FieldSpec::read(|key| spec.text_below(&[key]));
    specs.iter().map(spec)
}
