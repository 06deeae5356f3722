//! `scopes`: facts and levels of rules for some files only.

use crate::yaml::NodeRef;

use super::super::Facts;
use super::super::scope::{Scope, glob};
use super::{Reader, is_bare_version, rule_level};

pub(super) const SCOPE_KEYS: &[&str] = &["assume", "override", "paths", "rules"];

impl Reader<'_> {
    /// A list of scopes. The folders are for the caller to fill in: the object knows no place.
    pub(super) fn scopes(&mut self, list: NodeRef<'_>) {
        if !list.is_sequence() {
            return self.problem(list.span(), "`scopes` takes a list".into());
        }
        for item in list.items() {
            let scope = self.scope(item);
            self.layer.scopes.push(scope);
        }
    }

    fn scope(&mut self, item: NodeRef<'_>) -> Scope {
        let mut scope = Scope::default();
        for entry in self.mapping(item, "scopes") {
            match entry.key.text().unwrap_or_default() {
                "paths" => self.globs(entry.value, &mut scope),
                "assume" => scope.assume = self.facts("assume", entry.value),
                "override" => scope.overrides = self.facts("override", entry.value),
                "rules" => self.levels(entry.value, &mut scope),
                _ => self.unknown(entry.key, SCOPE_KEYS),
            }
        }
        // One without would hold for nothing, which nobody means.
        if item.is_mapping() && item.get("paths").is_none() {
            self.problem(item.span(), "a scope needs `paths`".into());
        }
        scope
    }

    fn globs(&mut self, list: NodeRef<'_>, scope: &mut Scope) {
        let mut items = list.items().peekable();
        if !list.is_sequence() || items.peek().is_none() {
            return self.problem(list.span(), "`paths` takes a list of globs".into());
        }
        for item in items {
            match item.text().map(glob) {
                Some(Ok(glob)) => scope.paths.push(glob),
                Some(Err(message)) => self.problem(item.span(), message),
                None => self.problem(item.span(), "`paths` takes strings".into()),
            }
        }
    }

    fn levels(&mut self, node: NodeRef<'_>, scope: &mut Scope) {
        for entry in self.mapping(node, "rules") {
            let id = entry.key.text().unwrap_or_default();
            match rule_level(id, entry.value.text().unwrap_or_default(), self.known_rules) {
                Ok(level) => {
                    scope.rules.insert(id.to_owned(), level);
                }
                Err(message) => self.problem(entry.key.span(), message),
            }
        }
    }

    fn facts(&mut self, name: &str, node: NodeRef<'_>) -> Facts {
        let mut facts = Facts::default();
        for entry in self.mapping(node, name) {
            let key = entry.key.text().unwrap_or_default();
            match entry.value.text() {
                Some(_) if is_bare_version(key, entry.value) => {
                    self.bare_version(key, entry.value);
                }
                Some(text) => {
                    if let Err(message) = facts.set(key, text) {
                        self.problem(entry.key.span(), message);
                    }
                }
                None => self.problem(entry.value.span(), format!("`{key}` takes a string")),
            }
        }
        facts
    }
}
