//! All rules, sorted. Each group lists its rules in its `mod.rs`, and `rules/mod.rs` and `rules/mesh/mod.rs` list the
//! groups.

use std::sync::LazyLock;

use meshprobe_mesh::finding::Finding;

use super::context::RuleContext;
use super::mesh;
use super::rule::{Rule, Scope};

static ALL: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let mut rules: Vec<&Rule> = super::GROUPS
        .iter()
        .chain(mesh::GROUPS)
        .flat_map(|group| group.iter().copied())
        .collect();
    rules.sort_unstable_by_key(|rule| rule.id);
    rules
});

/// Returns every rule, sorted by id.
#[must_use]
pub fn all() -> &'static [&'static Rule] {
    &ALL
}

/// Returns the rules of a scope, sorted by id.
pub(super) fn of_scope(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    all()
        .iter()
        .copied()
        .filter(move |rule| rule.scope == scope)
}

/// Runs the rules of a scope.
pub(super) fn run_scope(scope: Scope, cx: &RuleContext<'_, '_>) -> impl Iterator<Item = Finding> {
    of_scope(scope).flat_map(|rule| rule.findings(cx))
}
