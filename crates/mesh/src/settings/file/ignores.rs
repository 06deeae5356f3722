//! Parses `ignore`: findings that are suppressed, with reasons.

use meshprobe_yaml::NodeRef;

use super::values::setting_text;
use super::{Reader, line_of};
use crate::settings::scope_set::glob;
use crate::settings::{Ignore, Scope};

pub(super) const IGNORE_KEYS: &[&str] = &["path", "reason", "rule"];

impl Reader<'_> {
    /// Parses the list of entries. The caller sets their file and folders.
    pub(super) fn ignores(&mut self, list: NodeRef<'_>) {
        if !list.is_sequence() {
            return self.error(list.span(), "expected a list for `ignore`".into());
        }
        for item in list.items() {
            let entry = self.ignore(item);
            self.layer.ignore.extend(entry);
        }
    }

    /// Parses an entry; returns `None` if it names a removed rule, or none, which is an error.
    fn ignore(&mut self, item: NodeRef<'_>) -> Option<Ignore> {
        let (mut rule, mut scope, mut reason) = (None, Scope::default(), String::new());
        if !item.is_mapping() {
            self.error(
                item.span(),
                "expected a mapping for an item of `ignore`".into(),
            );
            return None;
        }
        for entry in item.entries() {
            let key = entry.key.text().unwrap_or_default();
            let value = setting_text(entry.value).unwrap_or_default();
            match key {
                "rule" => match self.names.parse_reported(value) {
                    Ok(id) => rule = Some(id),
                    Err(error) => {
                        self.error(entry.value.span(), error.or_setting_of_guard());
                    }
                },
                "path" => match glob(value) {
                    Ok(glob) => scope.paths = vec![glob],
                    Err(message) => self.error(entry.value.span(), message),
                },
                "reason" if value.trim().is_empty() => {
                    let message = "an entry of `ignore` requires a `reason`".to_owned();
                    self.error(entry.value.span(), message);
                }
                "reason" => value.trim().clone_into(&mut reason),
                _ => self.unknown(entry.key, IGNORE_KEYS),
            }
        }
        for key in ["rule", "reason"] {
            if item.get(key).is_none() {
                self.error(
                    item.span(),
                    format!("an entry of `ignore` requires a `{key}`"),
                );
            }
        }
        Some(Ignore {
            rule: rule?,
            scope,
            reason,
            line: line_of(item),
        })
    }
}
