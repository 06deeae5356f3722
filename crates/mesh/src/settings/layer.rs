//! The settings of one source, such as the configuration file or the command line.
//!
//! Facts that `diff` supposes for selected pods.
//!
//! Entries of `ignore` in the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    Action, Emit, FactOverrides, FailOn, FormChoice, MeshKind, RequiredVerdicts, RuleLevel, Scope,
    Settings, Version,
};
use crate::finding::{GuardId, RuleId, Severity};

/// The facts of a configuration that is found in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredFacts {
    /// The configuration file, as shown to the user.
    pub file: String,
    /// The settings without the configuration.
    pub others: Arc<Layer>,
}

/// The settings of one source; unset fields come from other layers or from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// `mesh.kind`, `--mesh`.
    pub mesh: Option<MeshKind>,
    /// `mesh.version`, `--mesh-version`.
    pub mesh_version: Option<Version>,
    /// `assume`, `--assume`.
    pub assume: FactOverrides,
    /// `--override`.
    pub overrides: FactOverrides,
    /// `scopes`: later scopes take precedence over earlier ones, and over `assume`.
    pub scopes: Vec<Scope>,
    /// `--from` or `--to` of `diff` for selected pods.
    pub selected: Option<SelectedFacts>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `form`, `--form`.
    pub form: Option<FormChoice>,
    /// `--preview`: not available in the configuration, because a preview must not be deployed.
    pub preview: bool,
    /// `--allow`.
    pub allow: BTreeSet<GuardId>,
    /// `failOn`, `--fail-on`.
    pub fail_on: Option<FailOn>,
    /// `not-judged` of `failOn` or `--fail-on`, and `--require-workloads`.
    pub required: Option<RequiredVerdicts>,
    /// `rules`.
    pub rules: BTreeMap<RuleId, RuleLevel>,
    /// `--select`.
    pub select: Option<BTreeSet<RuleId>>,
    /// `--min-severity`.
    pub min_severity: Option<Severity>,
    /// `--require-rewritten`.
    pub require_rewritten: bool,
    /// `ignore`.
    pub ignore: Vec<Ignore>,
    /// `--overlay`.
    pub only_environments: Vec<String>,
    /// `baseline`: the path of a file, relative to the source of the layer.
    pub baseline: Option<String>,
    /// `context`: paths, relative to the source of the layer.
    pub context: Vec<String>,
    /// The facts that come from a configuration of the tree, and not from the user.
    pub configured: Option<ConfiguredFacts>,
    /// `root`: whether facts are read only from the folder of the configuration file.
    pub root: Option<bool>,
    /// `helm: auto`, `--helm auto`: whether the charts of the tree are rendered.
    pub renders_charts: Option<bool>,
    /// `actions` of the KRM function.
    pub actions: Option<BTreeSet<Action>>,
    /// `emit` of the KRM function.
    pub emit: Option<Emit>,
}

impl Layer {
    /// Combines this layer with a lower one, which provides the unset fields.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        let levels = |mut below: BTreeMap<RuleId, RuleLevel>| {
            if let Some(select) = &self.select {
                below.retain(|id, level| *level != RuleLevel::Ignore || !select.contains(id));
            }
            below.extend(self.rules.clone());
            below
        };
        let rules = levels(below.rules);
        // The upper layer also takes precedence over the scopes of the lower one.
        let mut scopes = below.scopes;
        for scope in &mut scopes {
            scope.assume = self.assume.clone().or(std::mem::take(&mut scope.assume));
            let below = std::mem::take(&mut scope.overrides);
            scope.overrides = self.overrides.clone().or(below);
            scope.rules = levels(std::mem::take(&mut scope.rules));
        }
        scopes.extend(self.scopes);
        Self {
            mesh: self.mesh.or(below.mesh),
            mesh_version: self.mesh_version.or(below.mesh_version),
            assume: self.assume.or(below.assume),
            overrides: self.overrides.or(below.overrides),
            scopes,
            selected: self.selected.or(below.selected),
            namespace: self.namespace.or(below.namespace),
            form: self.form.or(below.form),
            preview: self.preview || below.preview,
            allow: self.allow.union(&below.allow).copied().collect(),
            fail_on: self.fail_on.or(below.fail_on),
            required: self.required.or(below.required),
            rules,
            select: self.select.or(below.select),
            min_severity: self.min_severity.or(below.min_severity),
            require_rewritten: self.require_rewritten || below.require_rewritten,
            ignore: below.ignore.into_iter().chain(self.ignore).collect(),
            only_environments: below
                .only_environments
                .into_iter()
                .chain(self.only_environments)
                .collect(),
            baseline: self.baseline.or(below.baseline),
            context: below.context.into_iter().chain(self.context).collect(),
            configured: self.configured.or(below.configured),
            root: self.root.or(below.root),
            renders_charts: self.renders_charts.or(below.renders_charts),
            actions: self.actions.or(below.actions),
            emit: self.emit.or(below.emit),
        }
    }

    /// Returns this layer with the facts about the mesh of another one. What is reported stays the same.
    #[must_use]
    pub fn with_facts_of(self, other: &Self) -> Self {
        let facts = other.scopes.iter().map(|scope| Scope {
            rules: BTreeMap::new(),
            ..scope.clone()
        });
        let levels = self.scopes.iter().map(|scope| Scope {
            assume: FactOverrides::default(),
            overrides: FactOverrides::default(),
            ..scope.clone()
        });
        let scopes = facts.chain(levels).collect();
        Self {
            mesh: other.mesh,
            mesh_version: other.mesh_version,
            assume: other.assume.clone(),
            overrides: other.overrides.clone(),
            namespace: other.namespace.clone(),
            scopes,
            ..self
        }
    }

    /// Returns this layer with the facts of another one that take precedence over the manifests.
    #[must_use]
    pub fn with_overrides_of(self, other: &Self) -> Self {
        let overrides = other.scopes.iter().map(|scope| Scope {
            assume: FactOverrides::default(),
            rules: BTreeMap::new(),
            ..scope.clone()
        });
        let others = self.scopes.into_iter().map(|scope| Scope {
            overrides: FactOverrides::default(),
            ..scope
        });
        Self {
            mesh: other.mesh,
            overrides: other.overrides.clone(),
            scopes: overrides.chain(others).collect(),
            ..self
        }
    }

    /// Returns whether both layers state the same facts about the mesh.
    #[must_use]
    pub fn has_facts_of(&self, other: &Self) -> bool {
        let general = |layer: &Self| {
            let Self {
                mesh,
                mesh_version,
                namespace,
                assume,
                overrides,
                ..
            } = layer.clone();
            (mesh, mesh_version, namespace, assume, overrides)
        };
        let none = FactOverrides::default();
        let scoped = |layer: &Self| -> Vec<(Vec<globset::Glob>, FactOverrides, FactOverrides)> {
            let scopes = layer.scopes.iter();
            scopes
                .filter(|scope| scope.assume != none || scope.overrides != none)
                .map(|scope| {
                    (
                        scope.paths.clone(),
                        scope.assume.clone(),
                        scope.overrides.clone(),
                    )
                })
                .collect()
        };
        general(self) == general(other) && scoped(self) == scoped(other)
    }

    /// Returns the settings of the layer, with defaults for unset fields.
    #[must_use]
    pub fn resolved(&self, default_fail_on: FailOn) -> Settings {
        Settings {
            mesh: self.mesh.unwrap_or_default(),
            mesh_version: self.mesh_version,
            assume: self.assume.clone(),
            overrides: self.overrides.clone(),
            scopes: self.scopes.clone(),
            selected: self.selected.clone(),
            namespace: self.namespace.clone(),
            form: self.form.unwrap_or_default(),
            preview: self.preview,
            allow: self.allow.clone(),
            fail_on: self.fail_on.unwrap_or(default_fail_on),
            required: self.required.unwrap_or_default(),
            rules: self.rules.clone(),
            select: self.select.clone(),
            min_severity: self.min_severity,
            require_rewritten: self.require_rewritten,
            ignore: self.ignore.clone(),
            only_environments: self.only_environments.clone(),
            configured: self.configured.clone(),
        }
    }
}

/// Facts for the pods that namespaces or labels select. They take precedence over all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedFacts {
    /// The namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// The labels that a workload or its pod template must have; empty for all.
    pub labels: Vec<(String, String)>,
    /// The facts.
    pub overrides: FactOverrides,
    /// The release of the mesh.
    pub mesh_version: Option<Version>,
}

/// One entry of `ignore`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// The rule or notice.
    pub rule: RuleId,
    /// The files that the entry applies to; all files if `paths` is empty.
    pub scope: Scope,
    /// The reason that the user gives.
    pub reason: String,
    /// The line of the entry, from 1.
    pub line: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::settings::Mesh;

    #[test]
    fn the_upper_layer_takes_precedence() {
        let below = Layer {
            mesh: Some(MeshKind::One(Mesh::ISTIO)),
            fail_on: Some(FailOn::Never),
            context: vec!["a".into()],
            ..Layer::default()
        };
        let above = Layer {
            mesh: Some(MeshKind::None),
            context: vec!["b".into()],
            ..Layer::default()
        };
        let both = above.or(below);
        assert_eq!(both.mesh, Some(MeshKind::None));
        assert_eq!(both.context, ["a", "b"]);
        let settings = both.resolved(FailOn::Severity(Severity::Error));
        assert_eq!(settings.fail_on, FailOn::Never);
    }
}
