//! The ConfigMaps and Secrets of the tree, from which releases take values.

use std::cell::OnceCell;

use hashbrown::HashMap;

use crate::context::Context;
use crate::kube::{Object, nearness};
use crate::kustomize::generated_file;
use crate::source::{SourceFile, SourceSet};
use crate::yaml::{NodeRef, decode_base64};

/// The tree in which the values of releases are searched. Its ConfigMaps are indexed once, when the first is needed.
pub(super) struct ReleaseTree<'c, 't> {
    pub(super) context: &'c Context<'t>,
    configs: OnceCell<HashMap<(&'t str, &'t str), Vec<Object<'t>>>>,
}

/// A key of a ConfigMap or Secret.
pub(super) struct ConfigKey<'k> {
    pub(super) kind: &'k str,
    pub(super) name: &'k str,
    pub(super) namespace: Option<&'k str>,
    pub(super) key: &'k str,
}

impl<'c, 't> ReleaseTree<'c, 't> {
    pub(super) const fn new(context: &'c Context<'t>) -> Self {
        Self {
            context,
            configs: OnceCell::new(),
        }
    }

    /// Returns the value of a key in the object that is nearest to `user`, or in a file from which a generator of a
    /// kustomization makes the object; `None` if neither is in the tree.
    ///
    /// # Errors
    /// The object is encrypted, or does not contain the key as text.
    pub(super) fn config_text(
        &self,
        wanted: &ConfigKey<'_>,
        user: &Object<'_>,
    ) -> Result<Option<String>, String> {
        let (kind, name) = (wanted.kind, wanted.name);
        let sources = self.context.sources;
        let configs = self.configs.get_or_init(|| configs(sources));
        let is_of_namespace = |object: &&Object<'_>| match (object.namespace(), wanted.namespace) {
            (Some(own), Some(namespace)) => own == namespace,
            _ => true,
        };
        let near = |path: &str| nearness(path, user.location_file());
        let found = configs.get(&(kind, name)).into_iter().flatten();
        let found = found
            .filter(is_of_namespace)
            .max_by_key(|object| near(object.path()));
        if let Some(object) = found {
            if object.document.encrypted {
                return Err(format!("{kind} `{name}` is encrypted"));
            }
            return match text_of(object, wanted.key) {
                Some(text) => Ok(Some(text)),
                None => Err(format!("{kind} `{name}` has no key `{}`", wanted.key)),
            };
        }
        let generated = generated_file(sources, kind, name, wanted.key, near);
        Ok(generated.map(|file| file.text.to_string()))
    }
}

fn configs(sources: &SourceSet) -> HashMap<(&str, &str), Vec<Object<'_>>> {
    let mut found: HashMap<_, Vec<Object<'_>>> = HashMap::new();
    let documents = sources
        .files
        .iter()
        .flat_map(|file: &SourceFile| &file.documents);
    let is_config = |object: &Object<'_>| {
        object.group().is_empty() && matches!(object.kind, "ConfigMap" | "Secret")
    };
    for object in documents.flat_map(Object::all_in).filter(is_config) {
        found
            .entry((object.kind, object.name()))
            .or_default()
            .push(object);
    }
    found
}

fn text_of(object: &Object<'_>, key: &str) -> Option<String> {
    let field = |name: &str| object.node.get(name)?.get(key).and_then(NodeRef::text);
    if object.kind == "ConfigMap" {
        return field("data").map(str::to_owned);
    }
    match field("stringData") {
        Some(text) => Some(text.to_owned()),
        None => String::from_utf8(decode_base64(field("data")?)?).ok(),
    }
}
