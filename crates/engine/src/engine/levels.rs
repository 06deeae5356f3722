//! Looks up the levels of rules and the `ignore` entries of the configuration, once per file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::RuleId;
use meshprobe_mesh::settings::{Ignore, RuleLevel, Scope, ScopeSet, Settings};
use meshprobe_rules::rules;

/// The levels of rules for the files of a run.
#[derive(Debug)]
pub(super) struct Levels<'s> {
    settings: &'s Settings,
    known: HashSet<RuleId>,
    scopes: ScopeSet<'s>,
    by_path: RefCell<HashMap<Arc<str>, Rc<ScopedLevels>>>,
    by_scopes: RefCell<HashMap<Vec<usize>, Rc<ScopedLevels>>>,
}

/// The levels that scopes set, by rule.
type ScopedLevels = BTreeMap<RuleId, RuleLevel>;

impl<'s> Levels<'s> {
    /// Prepares the lookups for the settings of a run.
    pub(super) fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            known: rules::all().iter().map(|rule| rule.id).collect(),
            scopes: ScopeSet::new(&settings.scopes),
            by_path: RefCell::default(),
            by_scopes: RefCell::default(),
        }
    }

    /// Returns the level of a rule for a file: that of the last scope that sets one, or the general level.
    pub(super) fn level(&self, rule: RuleId, path: &Arc<str>) -> Option<RuleLevel> {
        let general = || self.settings.rules.get(&rule).copied();
        if self.settings.scopes.is_empty() {
            return general();
        }
        self.scoped(path).get(&rule).copied().or_else(general)
    }

    /// Returns whether findings of a rule are reported for a file. `--select` only selects rules; notices, such as those
    /// about unreadable files, are always reported.
    pub(super) fn is_enabled(&self, rule: RuleId, path: &Arc<str>) -> bool {
        let select = self.settings.select.as_ref();
        let selected =
            select.is_none_or(|select| select.contains(&rule) || !self.known.contains(&rule));
        selected && self.level(rule, path) != Some(RuleLevel::Ignore)
    }

    /// Returns the paths of scopes that match none of the files, although the run reads all files that they can apply to.
    /// Each is a scope with one path and its line.
    pub(super) fn scope_paths_without_files<'f>(
        &self,
        files: impl Iterator<Item = &'f Arc<str>>,
    ) -> Vec<Scope> {
        let scopes = self.settings.scopes.iter();
        let paths: Vec<Scope> = scopes
            .filter(|scope| scope.is_covered)
            .flat_map(|scope| {
                let paths = scope.paths.iter().zip(&scope.lines);
                paths.map(|(path, line)| Scope {
                    paths: vec![path.clone()],
                    lines: vec![*line],
                    ..scope.clone()
                })
            })
            .collect();
        let mut open: BTreeSet<usize> = (0..paths.len()).collect();
        ScopeSet::new(&paths).retain_without_files(&mut open, files);
        let is_open = |(at, _): &(usize, Scope)| open.contains(at);
        paths
            .into_iter()
            .enumerate()
            .filter(is_open)
            .map(|(_, path)| path)
            .collect()
    }

    fn scoped(&self, path: &Arc<str>) -> Rc<ScopedLevels> {
        if let Some(known) = self.by_path.borrow().get(path) {
            return Rc::clone(known);
        }
        let matching = self.scopes.matching(path);
        let mut by_scopes = self.by_scopes.borrow_mut();
        let levels = by_scopes.entry(matching).or_insert_with_key(|matching| {
            // Later scopes take precedence.
            let levels = matching
                .iter()
                .filter_map(|at| self.settings.scopes.get(*at))
                .flat_map(|scope| &scope.rules)
                .map(|(rule, level)| (*rule, *level))
                .collect();
            Rc::new(levels)
        });
        let levels = Rc::clone(levels);
        self.by_path
            .borrow_mut()
            .insert(Arc::clone(path), Rc::clone(&levels));
        levels
    }
}

type RuleAndFile = (RuleId, Arc<str>);

/// The `ignore` entries of the configuration.
#[derive(Debug)]
pub(super) struct Ignores<'s> {
    entries: &'s [Ignore],
    scopes: ScopeSet<'s>,
    /// Entries without a path, by rule.
    general: HashMap<RuleId, Vec<usize>>,
    /// The rules whose entries without a path are used.
    general_used: RefCell<HashSet<RuleId>>,
    /// The first entry that applies to a rule and a file.
    first: RefCell<HashMap<RuleAndFile, Option<usize>>>,
    used: RefCell<HashSet<usize>>,
}

impl<'s> Ignores<'s> {
    /// Prepares the lookups for the entries of a run.
    pub(super) fn new(entries: &'s [Ignore]) -> Self {
        let mut general: HashMap<RuleId, Vec<usize>> = HashMap::new();
        let indexed = entries.iter().enumerate();
        for (at, entry) in indexed.filter(|(_, entry)| entry.scope.paths.is_empty()) {
            general.entry(entry.rule).or_default().push(at);
        }
        Self {
            entries,
            scopes: ScopeSet::new(entries.iter().map(|entry| &entry.scope)),
            general,
            general_used: RefCell::default(),
            first: RefCell::default(),
            used: RefCell::default(),
        }
    }

    /// Returns whether the list is empty.
    pub(super) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the first entry that suppresses a finding of `rule` in one of the files, and marks all such entries as used.
    pub(super) fn suppressing(&self, rule: RuleId, paths: &[Arc<str>]) -> Option<&'s Ignore> {
        paths
            .iter()
            .filter_map(|path| self.first_of(rule, path))
            .min()
            .and_then(|at| self.entries.get(at))
    }

    fn first_of(&self, rule: RuleId, path: &Arc<str>) -> Option<usize> {
        let mut known = self.first.borrow_mut();
        let first = known.entry((rule, Arc::clone(path)));
        *first.or_insert_with(|| {
            let mut used = self.used.borrow_mut();
            let general = self.general.get(&rule).map_or(&[][..], Vec::as_slice);
            if self.general_used.borrow_mut().insert(rule) {
                used.extend(general);
            }
            let names_rule = |at: &usize| {
                let entry = self.entries.get(*at);
                entry.is_some_and(|entry| entry.rule == rule)
            };
            let mut scoped = self.scopes.matching(path);
            scoped.retain(names_rule);
            used.extend(&scoped);
            general
                .first()
                .into_iter()
                .chain(scoped.first())
                .copied()
                .min()
        })
    }

    /// Returns the entries whose path matches none of the files, although the run reads all files that they can apply to.
    pub(super) fn without_files<'f>(
        &self,
        files: impl Iterator<Item = &'f Arc<str>>,
    ) -> Vec<&'s Ignore> {
        let mut open: BTreeSet<usize> = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.scope.is_covered && !entry.scope.paths.is_empty())
            .map(|(at, _)| at)
            .collect();
        self.scopes.retain_without_files(&mut open, files);
        open.into_iter()
            .filter_map(|at| self.entries.get(at))
            .collect()
    }

    /// Returns the entries that suppressed nothing, although they apply to one of the files and their rule is on for it.
    pub(super) fn unused<'f>(
        &self,
        files: impl Iterator<Item = &'f Arc<str>>,
        levels: &Levels<'_>,
    ) -> Vec<&'s Ignore> {
        let used = self.used.borrow();
        let mut idle: Vec<bool> = vec![false; self.entries.len()];
        let mut open: Vec<usize> = self.general.values().flatten().copied().collect();
        open.retain(|at| !used.contains(at));
        let mut mark_if_idle = |at: usize, path: &Arc<str>| {
            let entry = self.entries.get(at);
            let is_idle = entry.is_some_and(|entry| levels.is_enabled(entry.rule, path));
            if let Some(idle) = idle.get_mut(at) {
                *idle |= is_idle;
            }
            is_idle
        };
        for path in files {
            // For entries without a path, the first file for which their rule is on suffices.
            open.retain(|at| !mark_if_idle(*at, path));
            let mut matching = self.scopes.matching(path);
            matching.retain(|at| !used.contains(at));
            for at in matching {
                mark_if_idle(at, path);
            }
        }
        self.entries
            .iter()
            .zip(idle)
            .filter_map(|(entry, is_idle)| is_idle.then_some(entry))
            .collect()
    }
}
