//! `--from` and `--to`: facts that hold in one state only, for all pods or for selected ones.

use meshprobe_mesh::finding::sentence_list;
use meshprobe_mesh::settings::{
    FACT_KEYS, FactOverrides, FactScope, Layer, MeshKind, SelectedFacts, Version, most_similar,
    unknown_value_message,
};

use super::super::args::DiffArgs;
use super::super::stop::Stop;
use meshprobe_engine::diff::State;

/// The key of the release of the mesh, which is not a fact of `--assume`.
const RELEASE: &str = "mesh-version";

/// The facts of one option.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedFacts {
    facts: FactOverrides,
    mesh_version: Option<Version>,
    /// The keys of all facts, in the order in which they are given.
    keys: Vec<String>,
    /// The options as given, such as `--to mtls=STRICT`.
    pub(super) text: Option<String>,
}

/// The facts of both states, and the pods that they apply to.
#[derive(Clone, Debug)]
pub(super) struct WhatIf {
    pub(super) from: ChangedFacts,
    pub(super) to: ChangedFacts,
    namespaces: Vec<String>,
    labels: Vec<(String, String)>,
}

impl WhatIf {
    /// Parses the options; returns `None` if neither `--from` nor `--to` is given.
    ///
    /// # Errors
    /// An unknown key, an invalid value, or a selection without facts.
    pub(super) fn parse(args: &DiffArgs) -> Result<Option<Self>, Stop> {
        let mut errors = Vec::new();
        let from = ChangedFacts::of("--from", &args.from, &mut errors);
        let to = ChangedFacts::of("--to", &args.to, &mut errors);
        let mut labels = Vec::new();
        for label in &args.select_labels {
            match label.split_once('=').filter(|(key, _)| !key.is_empty()) {
                Some((key, value)) => labels.push((key.to_owned(), value.to_owned())),
                None => errors.push(format!(
                    "invalid value `{label}` for `--select-labels`: expected `LABEL=VALUE`"
                )),
            }
        }
        if !errors.is_empty() {
            return Err(Stop::Usage(errors));
        }
        let is_given = from.text.is_some() || to.text.is_some();
        // Versions are equal if only their patch releases differ.
        let release =
            |facts: &ChangedFacts| facts.mesh_version.map(|version| (version, version.patch()));
        if is_given && from.facts == to.facts && release(&from) == release(&to) {
            return Err(Stop::usage("`--from` and `--to` state the same facts"));
        }
        let selects = !args.select_namespace.is_empty() || !labels.is_empty();
        if selects && !is_given {
            let message = "`--select-namespace` and `--select-labels` require `--from` or `--to`";
            return Err(Stop::usage(message)
                .help("use `--overlay` to limit the report to some environments"));
        }
        Ok(is_given.then(|| Self {
            from,
            to,
            namespaces: args.select_namespace.clone(),
            labels,
        }))
    }

    /// Rejects facts that the mesh of the settings does not read, and releases that do not belong to Istio 1 if it is Istio.
    ///
    /// # Errors
    /// There is such a fact or such a release.
    pub(super) fn reject_other_meshes(&self, layer: &Layer) -> Result<(), Stop> {
        let kind = layer.mesh.unwrap_or_default();
        for (option, key) in self.keys() {
            if FactScope::of(key, kind).is_read_by(kind) {
                continue;
            }
            let message = match kind {
                MeshKind::None => format!("`{option} {key}` has no effect without a mesh"),
                MeshKind::One(mesh) => {
                    format!("{} does not read `{key}` of `{option}`", mesh.title())
                }
                MeshKind::Auto | MeshKind::Ambient => continue,
            };
            let all = FACT_KEYS.iter().chain([&RELEASE]);
            let read = all.filter(|key| FactScope::of(key, kind).is_read_by(kind));
            let read: Vec<String> = read.map(|key| format!("`{key}`")).collect();
            let help = format!(
                "with `mesh: {}`, these facts have an effect: {}",
                kind.as_str(),
                sentence_list(&read)
            );
            return Err(Stop::usage(message).help(help));
        }
        if !kind.may_be_istio() {
            return Ok(());
        }
        let last = Version::LAST_ISTIO;
        match self.releases().find(|version| version.major != last.major) {
            Some(version) => Err(
                Stop::usage(format!("`{version}` is not a release of Istio"))
                    .help("set another mesh with `--mesh`"),
            ),
            None => Ok(()),
        }
    }

    /// Returns the stated releases of Istio that are newer than those that are modelled.
    pub(super) fn newer_releases(&self, kind: MeshKind) -> Vec<Version> {
        let newer = self
            .releases()
            .filter(|version| *version > Version::LAST_ISTIO);
        newer.filter(|_| kind.may_be_istio()).collect()
    }

    fn releases(&self) -> impl Iterator<Item = Version> {
        let given = [self.from.mesh_version, self.to.mesh_version];
        given.into_iter().flatten()
    }

    /// Returns the stated facts, such as `--to` and `mtls`.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let from = self.from.keys.iter().map(|key| ("--from", &**key));
        from.chain(self.to.keys.iter().map(|key| ("--to", &**key)))
    }

    /// Returns the options as given, such as `--to mtls=STRICT --select-namespace shop`.
    pub(super) fn text(&self) -> String {
        let given = [&self.from.text, &self.to.text].into_iter().flatten();
        let namespaces = self.namespaces.iter();
        let namespaces = namespaces.map(|name| format!("--select-namespace {name}"));
        let labels = self.labels.iter();
        let labels = labels.map(|(key, value)| format!("--select-labels {key}={value}"));
        let all: Vec<String> = given.cloned().chain(namespaces).chain(labels).collect();
        all.join(" ")
    }

    /// Rejects a selection that selects no workload, which is probably misspelt.
    ///
    /// # Errors
    /// No workload of the state is selected.
    pub(super) fn reject_empty_selection(&self, state: &State) -> Result<(), Stop> {
        let selects = !self.namespaces.is_empty() || !self.labels.is_empty();
        if !selects || state.selected > 0 {
            return Ok(());
        }
        let known = state
            .probes
            .iter()
            .filter_map(|probe| probe.id.namespace.as_deref());
        let wanted = self.namespaces.first();
        let similar = wanted.and_then(|name| most_similar(name, known));
        let message = "`--select-namespace` and `--select-labels` select no workload";
        let help = similar.map(|name| format!("did you mean `{name}`?"));
        Err(Stop::usage(message).help_if_any(help))
    }

    /// Returns whether the states differ in nothing but the release of the mesh.
    pub(super) fn is_only_release(&self) -> bool {
        let facts = [&self.from.facts, &self.to.facts];
        facts
            .iter()
            .all(|facts| **facts == FactOverrides::default())
    }

    /// Returns the settings of a state: `facts` take precedence over those of `layer`.
    pub(super) fn over(&self, facts: ChangedFacts, layer: Layer) -> Layer {
        let own = if self.namespaces.is_empty() && self.labels.is_empty() {
            Layer {
                mesh_version: facts.mesh_version,
                overrides: facts.facts,
                ..Layer::default()
            }
        } else {
            Layer {
                selected: Some(SelectedFacts {
                    namespaces: self.namespaces.clone(),
                    labels: self.labels.clone(),
                    overrides: facts.facts,
                    mesh_version: facts.mesh_version,
                }),
                ..Layer::default()
            }
        };
        own.or(layer)
    }
}

impl ChangedFacts {
    fn of(option: &str, pairs: &[String], errors: &mut Vec<String>) -> Self {
        let mut all = Self::default();
        for pair in pairs {
            if let Err(message) = all.set(pair) {
                errors.push(format!("invalid value `{pair}` for `{option}`: {message}"));
            }
        }
        let given: Vec<String> = pairs
            .iter()
            .map(|pair| format!("{option} {pair}"))
            .collect();
        all.text = (!given.is_empty()).then(|| given.join(" "));
        all
    }

    fn set(&mut self, pair: &str) -> Result<(), String> {
        let key = pair.split_once('=').map_or(pair, |(key, _)| key);
        self.keys.push(key.trim().to_owned());
        match pair.split_once('=') {
            Some((key, value)) if key.trim() == RELEASE => {
                self.mesh_version = Some(value.trim().parse()?);
                Ok(())
            }
            Some((key, _)) if !FACT_KEYS.contains(&key.trim()) => Err(unknown_key(key.trim())),
            _ => self.facts.set_pair(pair),
        }
    }
}

/// Returns the message for an unknown key, with the most similar one.
fn unknown_key(key: &str) -> String {
    // `istio-version` is more likely the release of the mesh than another key.
    if key.to_ascii_lowercase().ends_with("version") {
        return format!("unknown key `{key}`; did you mean `{RELEASE}`?");
    }
    let keys: Vec<&str> = FACT_KEYS.iter().copied().chain([RELEASE]).collect();
    unknown_value_message("key", key, &keys)
}
