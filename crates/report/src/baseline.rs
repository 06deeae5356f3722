//! A baseline: a file of findings that are known, which later runs do not report.
//!
//! An entry contains neither lines nor wording, so it matches its finding after unrelated changes of the file.

use std::collections::BTreeMap;
use std::path::Path;

use meshprobe_mesh::finding::{Finding, Suppression};
use meshprobe_tree::source::SourceSet;
use serde::{Deserialize, Serialize};

use super::report_root::{ReportRoot, source_path};
use meshprobe_engine::engine::{Outcome, suppress_known};

/// The version of the format.
const VERSION: u32 = 1;

/// A finding in a baseline: what remains the same if lines move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Relative to the folder of the baseline.
    path: String,
    rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

impl Entry {
    /// Returns the entry as `path: rule (object)`.
    fn text(&self, path: &str) -> String {
        let object = self.object.as_ref();
        let object = object.map(|object| format!(" ({object})"));
        format!("{path}: {}{}", self.rule, object.unwrap_or_default())
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    findings: Vec<Entry>,
}

/// Known findings, each with the number of times that it occurs.
#[derive(Clone, Debug)]
pub struct Baseline {
    root: ReportRoot,
    entries: BTreeMap<Entry, usize>,
}

impl Baseline {
    /// Creates an empty baseline in a folder. Both paths are absolute.
    #[must_use]
    pub fn new(working_directory: &Path, folder: &Path) -> Self {
        Self {
            root: ReportRoot::new(working_directory, folder),
            entries: BTreeMap::new(),
        }
    }

    /// Records that `named`, a path relative to the working directory, resolves to `real`.
    pub fn add_link(&mut self, named: &Path, real: &Path) {
        self.root.add_link(named, real);
    }

    /// Adds the entries of a file.
    ///
    /// # Errors
    /// The reason why the text is not a baseline.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.version != VERSION {
            let version = file.version;
            return Err(format!("expected version {VERSION}, found {version}"));
        }
        for mut entry in file.findings {
            entry.path = self.root.normalised(&entry.path);
            *self.entries.entry(entry).or_default() += 1;
        }
        Ok(())
    }

    /// Replaces the entries of files for which `is_given` returns true by findings. An entry of another file keeps the larger
    /// number of occurrences, because the run may not have read everything that the file is part of.
    pub fn update(
        &mut self,
        set: &SourceSet,
        findings: &[Finding],
        is_given: impl Fn(&Path) -> bool,
    ) {
        let found = findings.iter().map(|finding| self.entry(set, finding));
        let mut found_counts: BTreeMap<Entry, usize> = BTreeMap::new();
        for entry in found {
            *found_counts.entry(entry).or_default() += 1;
        }
        let root = &self.root;
        self.entries
            .retain(|entry, _| !is_given(&root.absolute(&entry.path)));
        for (entry, count) in found_counts {
            let kept = self.entries.entry(entry).or_default();
            *kept = count.max(*kept);
        }
    }

    /// Suppresses the findings that the baseline contains.
    pub fn suppress(&self, set: &SourceSet, outcome: &mut Outcome, by: &Suppression) {
        let mut left = self.without_suppressed(set, outcome);
        suppress_known(outcome, by, |finding| self.take(&mut left, set, finding));
    }

    /// Returns the entries that match no suppressed finding, each as its file, rule and object, with the number of missing
    /// occurrences; only those of files for which `is_given` returns true.
    #[must_use]
    pub fn stale(
        &self,
        set: &SourceSet,
        outcome: &Outcome,
        is_given: impl Fn(&Path) -> bool,
    ) -> BTreeMap<String, usize> {
        let mut stale = BTreeMap::new();
        for (entry, count) in self.without_suppressed(set, outcome) {
            let path = self.root.absolute(&entry.path);
            if is_given(&path) {
                let shown = self.root.shown(&path);
                *stale.entry(entry.text(&shown)).or_default() += count;
            }
        }
        stale
    }

    /// Returns the entries that match no suppressed finding.
    fn without_suppressed(&self, set: &SourceSet, outcome: &Outcome) -> BTreeMap<Entry, usize> {
        let mut left = self.entries.clone();
        for finding in &outcome.suppressed {
            self.take(&mut left, set, finding);
        }
        left
    }

    /// Returns the number of findings.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.values().sum()
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// The entries cannot be written as JSON.
    pub fn text(&self) -> serde_json::Result<String> {
        let repeated = |(entry, count): (&Entry, &usize)| vec![entry.clone(); *count];
        let file = File {
            version: VERSION,
            findings: self.entries.iter().flat_map(repeated).collect(),
        };
        Ok(serde_json::to_string_pretty(&file)? + "\n")
    }

    /// Takes one occurrence of a finding, and returns whether there is one.
    fn take(&self, left: &mut BTreeMap<Entry, usize>, set: &SourceSet, finding: &Finding) -> bool {
        let entry = self.entry(set, finding);
        let Some(count) = left.get_mut(&entry) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            left.remove(&entry);
        }
        true
    }

    fn entry(&self, set: &SourceSet, finding: &Finding) -> Entry {
        let object = finding.object.as_ref().map(|object| {
            let namespace = object.namespace.as_deref();
            let parts = [Some(object.kind.as_str()), namespace, Some(&*object.name)];
            parts.into_iter().flatten().collect::<Vec<_>>().join("/")
        });
        Entry {
            path: self.root.relative(set, &source_path(set, &finding.primary)),
            rule: finding.rule.as_str().to_owned(),
            object,
            container: finding.container.clone(),
            field: finding.field.clone(),
        }
    }
}
