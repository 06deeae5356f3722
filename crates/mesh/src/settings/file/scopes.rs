//! Parses `scopes`: facts and levels of rules for some files only.

use meshprobe_yaml::NodeRef;

use super::values::{is_bare_version, rule_level, setting_text};
use super::{Reader, line_of};
use crate::settings::FactOverrides;
use crate::settings::scope_set::{Scope, glob};

pub(super) const SCOPE_KEYS: &[&str] = &["assume", "override", "paths", "rules"];

impl Reader<'_> {
    /// Parses the list of scopes. The caller sets their folders, because the object does not contain its location.
    pub(super) fn scopes(&mut self, list: NodeRef<'_>) {
        if !list.is_sequence() {
            return self.error(list.span(), "expected a list for `scopes`".into());
        }
        for item in list.items() {
            let scope = self.scope(item);
            self.layer.scopes.push(scope);
        }
    }

    fn scope(&mut self, item: NodeRef<'_>) -> Scope {
        let mut scope = Scope::default();
        if !item.is_mapping() {
            self.error(
                item.span(),
                "expected a mapping for an item of `scopes`".into(),
            );
            return scope;
        }
        for entry in item.entries() {
            match entry.key.text().unwrap_or_default() {
                "paths" => self.globs(entry.value, &mut scope),
                "assume" => scope.assume = self.facts("assume", entry.value),
                "override" => scope.overrides = self.facts("override", entry.value),
                "rules" => self.levels(entry.value, &mut scope),
                _ => self.unknown(entry.key, SCOPE_KEYS),
            }
        }
        // A scope without paths would apply to no file.
        if item.get("paths").is_none() {
            self.error(item.span(), "a scope requires `paths`".into());
        }
        scope
    }

    fn globs(&mut self, list: NodeRef<'_>, scope: &mut Scope) {
        let mut items = list.items().peekable();
        if !list.is_sequence() || items.peek().is_none() {
            return self.error(list.span(), "expected a list of globs for `paths`".into());
        }
        for item in items {
            match setting_text(item).map(glob) {
                Some(Ok(glob)) => {
                    scope.paths.push(glob);
                    scope.lines.push(line_of(item));
                }
                Some(Err(message)) => self.error(item.span(), message),
                None => self.error(item.span(), "expected strings in `paths`".into()),
            }
        }
    }

    fn levels(&mut self, node: NodeRef<'_>, scope: &mut Scope) {
        for entry in self.mapping(node, "rules") {
            let id = entry.key.text().unwrap_or_default();
            match rule_level(id, entry.value.text().unwrap_or_default(), self.names) {
                Ok((rule, level)) => {
                    scope.rules.insert(rule, level);
                }
                Err(message) => self.error(entry.key.span(), message),
            }
        }
    }

    fn facts(&mut self, name: &str, node: NodeRef<'_>) -> FactOverrides {
        let mut facts = FactOverrides::default();
        for entry in self.mapping(node, name) {
            let key = entry.key.text().unwrap_or_default();
            match setting_text(entry.value) {
                Some(_) if is_bare_version(key, entry.value) => {
                    self.bare_version(key, entry.value);
                }
                Some(text) => {
                    if let Err(message) = facts.set(key, text) {
                        self.error(entry.key.span(), message);
                    }
                }
                None => self.error(entry.value.span(), format!("expected a string for `{key}`")),
            }
        }
        facts
    }
}
