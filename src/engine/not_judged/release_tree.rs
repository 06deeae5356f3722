//! The ConfigMaps and Secrets of the tree, from which releases take values.

use std::cell::OnceCell;

use hashbrown::HashMap;

use crate::context::Context;
use crate::kube::{Object, is_in_ancestor_folder, nearness};
use crate::kustomize::closure::Closure;
use crate::kustomize::{Generator, generators};
use crate::yaml::{NodeRef, decode_base64};

/// The tree in which the values of releases are searched. Its ConfigMaps are indexed once, when the first is needed.
pub(super) struct ReleaseTree<'c, 't> {
    pub(super) context: &'c Context<'t>,
    configs: OnceCell<HashMap<(&'c str, &'c str), Vec<Config<'c, 't>>>>,
}

/// A key of a ConfigMap or Secret.
pub(super) struct ConfigKey<'k> {
    pub(super) kind: &'k str,
    pub(super) name: &'k str,
    pub(super) namespace: Option<&'k str>,
    pub(super) key: &'k str,
}

/// A ConfigMap or Secret, or the generator that makes it.
enum Config<'c, 't> {
    Object(&'c Object<'t>),
    Generated(Generator<'c>),
}

impl<'c, 't> ReleaseTree<'c, 't> {
    pub(super) const fn new(context: &'c Context<'t>) -> Self {
        Self {
            context,
            configs: OnceCell::new(),
        }
    }

    /// Returns the value of a key in the ConfigMap or Secret that is deployed with `user`, or else in the nearest one of
    /// its environment; `None` if the tree has none.
    ///
    /// # Errors
    /// Several objects with different values may apply, or the object is encrypted, or it does not contain the key as
    /// text.
    pub(super) fn config_text(
        &self,
        wanted: &ConfigKey<'_>,
        user: &Object<'_>,
    ) -> Result<Option<String>, String> {
        let (kind, name) = (wanted.kind, wanted.name);
        let configs = self.configs.get_or_init(|| self.index());
        let builder = user
            .rendered_by
            .and_then(|path| self.context.sources.file(path));
        let build = builder.map(|file| Closure::of(self.context.sources, file));
        let found = configs.get(&(kind, name)).into_iter().flatten();
        let ranked: Vec<_> = found
            .filter(|config| self.may_apply(config, wanted, user))
            .map(|config| (rank(config, user, build.as_ref()), config))
            .collect();
        let Some(best) = ranked.iter().map(|(rank, _)| *rank).max() else {
            return Ok(None);
        };
        let nearest = ranked.iter().filter(|(rank, _)| *rank == best);
        let mut values = nearest.map(|(_, config)| config.text(wanted));
        let first = values.next().transpose()?;
        if values.any(|value| value.ok() != first) {
            return Err(format!("several {kind}s `{name}` may apply"));
        }
        let nearest = ranked.iter().find(|(rank, _)| *rank == best);
        if let Some(((BuiltFrom::Elsewhere, _), Config::Generated(generator))) = nearest {
            let path = &generator.kustomization.path;
            if !is_above(path, user) {
                return Err(format!("only `{path}` generates {kind} `{name}`"));
            }
        }
        Ok(first)
    }

    /// Returns whether a ConfigMap may be in the cluster and the namespace of a release.
    fn may_apply(
        &self,
        config: &Config<'_, '_>,
        wanted: &ConfigKey<'_>,
        user: &Object<'_>,
    ) -> bool {
        let (location, namespace) = match config {
            Config::Object(object) => (object.location_file(), namespace_of(object)),
            Config::Generated(generator) => (&*generator.kustomization.path, None),
        };
        let is_of_cluster = match config {
            Config::Object(object) => object.may_share_cluster(user),
            Config::Generated(_) => true,
        };
        let is_of_namespace = match (namespace, wanted.namespace) {
            (Some(own), Some(namespace)) => own == namespace,
            _ => true,
        };
        is_of_namespace
            && is_of_cluster
            && self
                .context
                .inventory
                .may_apply(location, user.location_file())
    }

    fn index(&self) -> HashMap<(&'c str, &'c str), Vec<Config<'c, 't>>> {
        let mut found: HashMap<_, Vec<_>> = HashMap::new();
        for object in &self.context.inventory.configs {
            let key = (object.kind, object.name());
            found.entry(key).or_default().push(Config::Object(object));
        }
        for generator in generators(self.context.sources) {
            let key = (generator.kind, generator.name);
            let entry = found.entry(key).or_default();
            entry.push(Config::Generated(generator));
        }
        found
    }
}

/// Returns the namespace of an object, also if only the object that deploys it sets it.
pub(super) fn namespace_of<'o>(object: &'o Object<'_>) -> Option<&'o str> {
    object.deployed_namespace()
}

/// How a ConfigMap is deployed, compared with a release; later ones take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BuiltFrom {
    Elsewhere,
    /// The same file deploys both.
    SameLocation,
    /// The same kustomization renders both.
    SameBuild,
}

/// Returns how likely a release uses a ConfigMap. Nearness decides only if they are deployed separately.
fn rank(
    config: &Config<'_, '_>,
    user: &Object<'_>,
    build: Option<&Closure<'_>>,
) -> (BuiltFrom, usize) {
    let near = |path: &str| nearness(path, user.location_file()).max(nearness(path, user.path()));
    match config {
        Config::Object(object) if object.location_file() == user.location_file() => {
            let is_rendered = user.rendered_by.is_some();
            if is_rendered && object.rendered_by == user.rendered_by {
                (BuiltFrom::SameBuild, 0)
            } else {
                (BuiltFrom::SameLocation, 0)
            }
        }
        Config::Object(object) => {
            let near = near(object.location_file()).max(near(object.path()));
            (BuiltFrom::Elsewhere, near)
        }
        Config::Generated(generator) => {
            let path = &*generator.kustomization.path;
            match build {
                Some(build) if build.kustomizations.contains(path) => (BuiltFrom::SameBuild, 0),
                _ => (BuiltFrom::Elsewhere, near(path)),
            }
        }
    }
}

/// Returns whether a kustomization is in a folder above a release or above the file that deploys it.
fn is_above(kustomization: &str, user: &Object<'_>) -> bool {
    is_in_ancestor_folder(kustomization, user.location_file())
        || is_in_ancestor_folder(kustomization, user.path())
}

impl Config<'_, '_> {
    /// Returns the value of a key.
    fn text(&self, wanted: &ConfigKey<'_>) -> Result<String, String> {
        let ConfigKey {
            kind, name, key, ..
        } = wanted;
        match self {
            Self::Object(object) if object.document.encrypted => {
                Err(format!("{kind} `{name}` is encrypted"))
            }
            Self::Object(object) => {
                text_of(object, key).ok_or_else(|| format!("{kind} `{name}` has no key `{key}`"))
            }
            Self::Generated(generator) => {
                let mut files = generator.files.iter();
                match files.find(|(found, _)| found == key) {
                    Some((_, Some(file))) => Ok(file.text.to_string()),
                    Some((_, None)) => {
                        Err(format!("the file of {kind} `{name}` is not in the tree"))
                    }
                    None if generator.has_literals => {
                        Err(format!("{kind} `{name}` is generated from literals"))
                    }
                    None => Err(format!(
                        "`files` of the generator of {kind} `{name}` has no key `{key}`"
                    )),
                }
            }
        }
    }
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
