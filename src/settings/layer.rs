//! One layer of settings: what a file, or the command line, says; the rest is open.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;

use super::{Facts, FailOn, Form, Ignore, MeshKind, RuleLevel, Scope, Settings, Version};

/// A step of the KRM function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Report findings.
    Check,
    /// Rewrite probes.
    Rewrite,
}

/// What the KRM function gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// All items.
    #[default]
    Items,
    /// No item: for `validators:` of kustomize only, which fail on functions that echo.
    None,
}

/// What one source of settings says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// `mesh.kind`, `--mesh`.
    pub mesh: Option<MeshKind>,
    /// `mesh.version`, `--mesh-version`.
    pub mesh_version: Option<Version>,
    /// `assume`, `--assume`.
    pub assume: Facts,
    /// `--override`.
    pub overrides: Facts,
    /// `scopes`: later ones win over earlier ones, and over `assume`.
    pub scopes: Vec<Scope>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `form`, `--form`.
    pub form: Option<Form>,
    /// `--preview`: only ever an option, since what is previewed must not be deployed.
    pub preview: bool,
    /// `--allow`.
    pub allow: BTreeSet<String>,
    /// `failOn`, `--fail-on`.
    pub fail_on: Option<FailOn>,
    /// `rules`.
    pub rules: BTreeMap<String, RuleLevel>,
    /// `--select`.
    pub select: Option<BTreeSet<String>>,
    /// `--min-severity`.
    pub min_severity: Option<Severity>,
    /// `--require-rewritten`.
    pub require_rewritten: bool,
    /// `ignore`.
    pub ignore: Vec<Ignore>,
    /// `context`: paths, relative to where the layer comes from.
    pub context: Vec<String>,
    /// `actions`: of the KRM function.
    pub actions: Option<BTreeSet<Action>>,
    /// `emit`: of the KRM function.
    pub emit: Option<Emit>,
}

impl Layer {
    /// Returns this layer laid over another: what it leaves open comes from below.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let levels = |mut below: BTreeMap<String, RuleLevel>| {
            if let Some(select) = &self.select {
                below.retain(|id, level| *level != RuleLevel::Ignore || !select.contains(id));
            }
            below.extend(self.rules.clone());
            below
        };
        let rules = levels(below.rules);
        // What a layer says wins over the scopes of those below as well.
        let mut scopes = below.scopes;
        for scope in &mut scopes {
            scope.assume = self.assume.clone().over(std::mem::take(&mut scope.assume));
            let below = std::mem::take(&mut scope.overrides);
            scope.overrides = self.overrides.clone().over(below);
            scope.rules = levels(std::mem::take(&mut scope.rules));
        }
        scopes.extend(self.scopes);
        Self {
            mesh: self.mesh.or(below.mesh),
            mesh_version: self.mesh_version.or(below.mesh_version),
            assume: self.assume.over(below.assume),
            overrides: self.overrides.over(below.overrides),
            scopes,
            namespace: self.namespace.or(below.namespace),
            form: self.form.or(below.form),
            preview: self.preview || below.preview,
            allow: self.allow.union(&below.allow).cloned().collect(),
            fail_on: self.fail_on.or(below.fail_on),
            rules,
            select: self.select.or(below.select),
            min_severity: self.min_severity.or(below.min_severity),
            require_rewritten: self.require_rewritten || below.require_rewritten,
            ignore: below.ignore.into_iter().chain(self.ignore).collect(),
            context: below.context.into_iter().chain(self.context).collect(),
            actions: self.actions.or(below.actions),
            emit: self.emit.or(below.emit),
        }
    }

    /// Returns the settings that follow, defaults filled in.
    #[must_use]
    pub fn resolved(&self, default_fail_on: FailOn) -> Settings {
        Settings {
            mesh: self.mesh.unwrap_or_default(),
            mesh_version: self.mesh_version,
            assume: self.assume.clone(),
            overrides: self.overrides.clone(),
            scopes: self.scopes.clone(),
            namespace: self.namespace.clone(),
            form: self.form.unwrap_or_default(),
            preview: self.preview,
            allow: self.allow.clone(),
            fail_on: self.fail_on.unwrap_or(default_fail_on),
            rules: self.rules.clone(),
            select: self.select.clone(),
            min_severity: self.min_severity,
            require_rewritten: self.require_rewritten,
            ignore: self.ignore.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::settings::Mesh;

    #[test]
    fn the_upper_layer_wins() {
        let below = Layer {
            mesh: Some(MeshKind::One(Mesh::Istio)),
            fail_on: Some(FailOn::Never),
            context: vec!["a".into()],
            ..Layer::default()
        };
        let above = Layer {
            mesh: Some(MeshKind::None),
            context: vec!["b".into()],
            ..Layer::default()
        };
        let both = above.over(below);
        assert_eq!(both.mesh, Some(MeshKind::None));
        assert_eq!(both.context, ["a", "b"]);
        let settings = both.resolved(FailOn::Severity(Severity::Error));
        assert_eq!(settings.fail_on, FailOn::Never);
    }
}
