//! Values that releases of charts take from ConfigMaps and Secrets.

use meshprobe_deploy::gitops::configs::{self, ConfigReference};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::install::ConfigValue;
use meshprobe_tree::source::SourceSet;

use crate::context::inventory::Inventory;

impl Inventory<'_> {
    /// Returns the value of a key of the ConfigMap or Secret that `user` refers to; `None` if the tree has none.
    ///
    /// # Errors
    /// Several objects with different values may apply, or the object is encrypted, or its value is not in the tree, or
    /// it does not contain the key.
    pub fn config_value(
        &self,
        sources: &SourceSet,
        (wanted, key): (ConfigReference<'_>, &str),
        user: &Object<'_>,
    ) -> Result<Option<ConfigValue>, String> {
        let may_apply =
            |config: &Object<'_>| self.may_apply(config.location_file(), user.location_file());
        let text = |config: &Object<'_>| entry(config, key).map(|value| value.text);
        let found = self.configs.find(sources, wanted, user, may_apply, text)?;
        found.map(|(config, _)| entry(config, key)).transpose()
    }
}

/// Returns an entry of a ConfigMap or Secret.
fn entry(config: &Object<'_>, key: &str) -> Result<ConfigValue, String> {
    let title = format!("{} `{}`", config.kind, config.name());
    let found = configs::entries(config).filter(|(entry, _)| entry.key.text() == Some(key));
    match found.last() {
        Some((entry, Some(text))) => Ok(ConfigValue {
            text,
            key: config.label_at(entry.key.span(), ""),
            value: config.label_at(entry.value.span(), ""),
        }),
        Some((entry, None)) if entry.value.is_mapping() => {
            Err(format!("the file of {title} is not in the tree"))
        }
        Some(_) => Err(format!("{title} is encrypted")),
        None if configs::entries(config).any(|(entry, _)| entry.value.is_mapping()) => {
            Err(format!("a file of {title} is not in the tree"))
        }
        None => Err(format!("{title} has no key `{key}`")),
    }
}
