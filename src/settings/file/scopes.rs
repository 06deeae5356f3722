//! `scopes`: facts for some files only.

use crate::yaml::NodeRef;

use super::super::Facts;
use super::super::scope::{Scope, glob};
use super::Reader;

const SCOPE_KEYS: &[&str] = &["assume", "override", "paths"];

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

    fn facts(&mut self, name: &str, node: NodeRef<'_>) -> Facts {
        let mut facts = Facts::default();
        for entry in self.mapping(node, name) {
            let key = entry.key.text().unwrap_or_default();
            match entry.value.text() {
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
