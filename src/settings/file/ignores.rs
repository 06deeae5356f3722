//! Parses `ignore`: findings that are silenced, with reasons.

use crate::yaml::{LineIndex, NodeRef};

use super::super::Ignore;
use super::super::scope::glob;
use super::super::suggest::unknown_value_message;
use super::Reader;

pub(super) const IGNORE_KEYS: &[&str] = &["path", "reason", "rule"];

impl Reader<'_> {
    /// Parses the list of entries. The caller sets their file and folders.
    pub(super) fn ignores(&mut self, list: NodeRef<'_>) {
        if !list.is_sequence() {
            return self.error(list.span(), "expected a list for `ignore`".into());
        }
        for item in list.items() {
            let entry = self.ignore(item);
            self.layer.ignore.push(entry);
        }
    }

    fn ignore(&mut self, item: NodeRef<'_>) -> Ignore {
        let text = item.tree().text();
        let mut ignore = Ignore {
            line: LineIndex::new(text).position(text, item.span().start).line,
            ..Ignore::default()
        };
        for entry in self.mapping(item, "ignore") {
            let key = entry.key.text().unwrap_or_default();
            let value = entry.value.text().unwrap_or_default().trim();
            match key {
                "rule" if self.found.contains(&value) => ignore.rule = value.to_owned(),
                "rule" if self.known_rules.contains(&value) => {
                    let message = format!(
                        "`{value}` is a guard of `rewrite`, which `check` does not report; use `rules: {{{value}: ignore}}`"
                    );
                    self.error(entry.value.span(), message);
                }
                "rule" => {
                    let message = unknown_value_message("rule", value, self.found);
                    self.error(entry.value.span(), message);
                }
                "path" => match glob(value) {
                    Ok(glob) => ignore.scope.paths = vec![glob],
                    Err(message) => self.error(entry.value.span(), message),
                },
                "reason" if value.is_empty() => {
                    let message = "an entry of `ignore` requires a `reason`".to_owned();
                    self.error(entry.value.span(), message);
                }
                "reason" => ignore.reason = value.to_owned(),
                _ => self.unknown(entry.key, IGNORE_KEYS),
            }
        }
        for key in ["rule", "reason"] {
            if item.is_mapping() && item.get(key).is_none() {
                self.error(
                    item.span(),
                    format!("an entry of `ignore` requires a `{key}`"),
                );
            }
        }
        ignore
    }
}
