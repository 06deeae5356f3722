//! Resolved settings: plain data from the defaults, the configuration file and the options.

mod config;
mod facts;
mod layer;
mod mesh_kind;
mod scope_set;
mod setting;
mod suggest;

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{GuardId, RuleId, Severity};

pub use crate::mesh::istio::mtls::MtlsMode;
pub use crate::mesh::istio::network_plugin::NetworkPlugin;
pub use crate::mesh::{Mesh, Version};
pub use config::{API_VERSION, ConfigError, KIND, parse, schema};
pub use facts::{FACT_KEYS, FactOverrides, fact_values};
pub use layer::{ConfiguredFacts, Ignore, Layer, SelectedFacts};
pub use mesh_kind::{FactScope, MeshKind};
pub use scope_set::{Scope, ScopeSet};
pub use setting::{Action, Emit};
pub use suggest::{RuleNames, UnknownRule, most_similar, unknown_value_message};

/// The assumption about pods for which no Namespace of the tree decides about injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InjectionAssumption {
    /// Injected if the workload or its namespace has evidence of the mesh.
    #[default]
    Evidence,
    /// Injected.
    All,
    /// Not injected.
    None,
}

/// A supposed move of the namespaces that are in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataplaneMove {
    /// Injected namespaces to ambient mode.
    Ambient,
    /// Namespaces in ambient mode to sidecars.
    Sidecar,
    /// Namespaces of the mesh out of it.
    None,
}

/// The requested form of a rewrite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FormChoice {
    /// `annotation` where the release is known and proven, otherwise `container`.
    #[default]
    Auto,
    /// Always this form.
    Fixed(Form),
}

/// How a rewrite carries the prober env.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// In the annotation `proxy.istio.io/config`, with the opt-out.
    Annotation,
    /// In a partial `istio-proxy` container, with the opt-out.
    Container,
    /// In a partial `istio-proxy` container, without the opt-out: the injected pod equals the injected original.
    ContainerOnly,
}

impl From<Form> for FormChoice {
    fn from(form: Form) -> Self {
        Self::Fixed(form)
    }
}

impl Form {
    /// All forms, in the order in which they are documented.
    pub const ALL: [Self; 3] = [Self::Annotation, Self::Container, Self::ContainerOnly];

    /// Returns the name in settings and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Container => "container",
            Self::ContainerOnly => "container-only",
        }
    }
}

/// The findings that make the run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailOn {
    /// Findings of this severity or above.
    Severity(Severity),
    /// No finding.
    Never,
}

impl FailOn {
    /// Returns the level that fails on the findings of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Severity(one), Self::Severity(other)) => Self::Severity(one.min(other)),
            (Self::Never, level) | (level, Self::Never) => level,
        }
    }
}

impl Default for FailOn {
    fn default() -> Self {
        Self::Severity(Severity::Warning)
    }
}

/// The verdicts that a run must have so that it does not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequiredVerdicts {
    /// None.
    #[default]
    None,
    /// That of one workload: `--require-workloads`.
    One,
    /// Those of everything that runs pods: the value `not-judged` of `--fail-on`.
    All,
}

/// The level of a rule in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleLevel {
    /// Reported with this severity.
    Severity(Severity),
    /// Not reported.
    Ignore,
}

/// All settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `--mesh`.
    pub mesh: MeshKind,
    /// `--mesh-version`.
    pub mesh_version: Option<Version>,
    /// `--assume`.
    pub assume: FactOverrides,
    /// `--override`.
    pub overrides: FactOverrides,
    /// `scopes`: facts for some files only; later scopes take precedence.
    pub scopes: Vec<Scope>,
    /// Facts for selected pods, which take precedence over all others.
    pub selected: Option<SelectedFacts>,
    /// `--namespace`: the namespace of objects without one.
    pub namespace: Option<String>,
    /// `--form`.
    pub form: FormChoice,
    /// `--preview`: show the rewrite of pods that the webhook rewrites itself.
    pub preview: bool,
    /// `--allow`: guards that do not refuse pods.
    pub allow: BTreeSet<GuardId>,
    /// `--fail-on`.
    pub fail_on: FailOn,
    /// `--require-workloads`, and `not-judged` of `--fail-on`.
    pub required: RequiredVerdicts,
    /// Levels per rule id.
    pub rules: BTreeMap<RuleId, RuleLevel>,
    /// `--select`: the rules to run; `None` for all. Unreadable files are still reported.
    pub select: Option<BTreeSet<RuleId>>,
    /// `--min-severity`: findings of a lower severity are hidden.
    pub min_severity: Option<Severity>,
    /// `--require-rewritten`: report probes that the mesh would still rewrite.
    pub require_rewritten: bool,
    /// `ignore`: findings that the user suppresses.
    pub ignore: Vec<Ignore>,
    /// `--overlay`: the names or paths of the environments that the run is limited to; empty for all.
    pub only_environments: Vec<String>,
    /// The facts that come from a configuration of the tree.
    pub configured: Option<ConfiguredFacts>,
}

impl Settings {
    /// Returns these settings without the facts that come from a configuration of the tree, and its file; `None` if there
    /// are none.
    #[must_use]
    pub fn without_configured_facts(&self) -> Option<(&str, Self)> {
        let ConfiguredFacts { file, others } = self.configured.as_ref()?;
        let layer = Layer {
            scopes: self.scopes.clone(),
            ..Layer::default()
        };
        let without = layer.with_facts_of(others).resolved(self.fail_on);
        let settings = Self {
            mesh: without.mesh,
            mesh_version: without.mesh_version,
            assume: without.assume,
            overrides: without.overrides,
            namespace: without.namespace,
            scopes: without.scopes,
            configured: None,
            ..self.clone()
        };
        Some((file, settings))
    }

    /// Returns the release that the user sets for a mesh. `--mesh-version` applies to the mesh that `--mesh` names, else to
    /// Istio.
    #[must_use]
    pub fn release_of(&self, mesh: Mesh) -> Option<Version> {
        self.mesh_version.filter(|_| mesh == self.versioned_mesh())
    }

    /// Returns the mesh to which `--mesh-version` applies.
    #[must_use]
    pub fn versioned_mesh(&self) -> Mesh {
        match self.mesh {
            MeshKind::One(named) => named,
            _ => Mesh::ISTIO,
        }
    }
}
