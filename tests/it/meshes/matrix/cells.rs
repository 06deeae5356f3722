//! The cells of the matrix: one prediction for each probe, configuration and range of releases.

use std::sync::{Arc, LazyLock};

use rayon::prelude::*;

use crate::support::manifest::Pod;
use meshprobe::context::Context;
use meshprobe::finding::Finding;
use meshprobe::mesh::{Mesh, Version};
use meshprobe::predict::{HandlerPrediction, WorkloadPrediction, predict_all, rewritten_text};
use meshprobe::rules;
use meshprobe::settings::{FactOverrides, MeshKind, Settings};
use meshprobe::source::{SourceFile, SourceSet};

use super::evidence::Evidence;
use super::setups::{MatrixSetup, setups};
use super::sources::{Source, source};

/// The probes: the name in the data, and the field of the container. Native sidecars are init containers with
/// `restartPolicy: Always`.
pub(super) const PROBES: [(&str, Container, &str); 11] = [
    (
        "httpGet",
        Container::Main,
        "readinessProbe: {httpGet: {path: /healthz, port: 8080}}",
    ),
    (
        "httpGet HTTPS",
        Container::Main,
        "readinessProbe: {httpGet: {path: /healthz, port: 8080, scheme: HTTPS}}",
    ),
    (
        "tcpSocket",
        Container::Main,
        "readinessProbe: {tcpSocket: {port: 8080}}",
    ),
    (
        "grpc",
        Container::Main,
        "readinessProbe: {grpc: {port: 8080}}",
    ),
    (
        "exec",
        Container::Main,
        "readinessProbe: {exec: {command: [/bin/check]}}",
    ),
    (
        "preStop httpGet",
        Container::Main,
        "lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}",
    ),
    (
        "postStart httpGet",
        Container::Main,
        "lifecycle: {postStart: {httpGet: {path: /warm, port: 8080}}}",
    ),
    (
        "native sidecar httpGet",
        Container::NativeSidecar,
        "readinessProbe: {httpGet: {path: /healthz, port: 8080}}",
    ),
    (
        "native sidecar tcpSocket",
        Container::NativeSidecar,
        "readinessProbe: {tcpSocket: {port: 8080}}",
    ),
    (
        "native sidecar startup httpGet",
        Container::NativeSidecar,
        "startupProbe: {httpGet: {path: /healthz, port: 8080}}",
    ),
    (
        "init container httpGet",
        Container::Init,
        "readinessProbe: {httpGet: {path: /healthz, port: 8080}}",
    ),
];

/// The container of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) enum Container {
    Main,
    NativeSidecar,
    Init,
}

/// The prediction for a probe in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) mesh: &'static str,
    pub(super) setup: String,
    pub(super) mtls: &'static str,
    pub(super) rewrite: &'static str,
    pub(super) port: &'static str,
    pub(super) probe: &'static str,
    /// The first and the last release with this prediction.
    pub(super) first: (u16, u16),
    pub(super) last: (u16, u16),
    pub(super) outcome: &'static str,
    pub(super) why: &'static str,
    pub(super) certainty: &'static str,
    pub(super) rewritten_to: String,
    pub(super) kubelet: String,
    pub(super) rules: Vec<String>,
    pub(super) source: Source,
}

impl Cell {
    /// Returns the values that identify a cell, without its releases.
    pub(super) fn key(&self) -> [&str; 6] {
        [
            self.mesh,
            &self.setup,
            self.mtls,
            self.rewrite,
            self.port,
            self.probe,
        ]
    }

    /// Returns whether two cells differ only in their releases.
    fn is_equal(&self, other: &Self) -> bool {
        let releases = |cell: &Self| Self {
            first: (0, 0),
            last: (0, 0),
            ..cell.clone()
        };
        releases(self) == releases(other)
    }

    /// Returns `1.10-1.24`, or `1.31`; empty without a mesh.
    pub(super) fn releases(&self) -> String {
        let name = |(major, minor): (u16, u16)| format!("{major}.{minor}");
        match () {
            () if self.mesh == "none" => String::new(),
            () if self.first == self.last => name(self.first),
            () => format!("{}-{}", name(self.first), name(self.last)),
        }
    }
}

/// Returns all cells, in the order of the configurations, then of the probes, then of the releases.
pub(super) fn cells() -> &'static [Cell] {
    static CELLS: LazyLock<Vec<Cell>> = LazyLock::new(|| {
        let evidence = Evidence::read();
        let setups = setups();
        let of_setup = |setup: &MatrixSetup| {
            let by_release: Vec<Vec<Cell>> = setup
                .releases
                .iter()
                .map(|release| predicted(setup, *release))
                .collect();
            merged(&by_release)
        };
        let mut cells: Vec<Cell> = setups.par_iter().flat_map_iter(of_setup).collect();
        for cell in &mut cells {
            if let Some(measured) = evidence.of(cell) {
                cell.source.measure(&measured);
            }
        }
        cells
    });
    &CELLS
}

/// Merges equal cells of consecutive releases.
fn merged(by_release: &[Vec<Cell>]) -> Vec<Cell> {
    let mut all = Vec::new();
    for probe in 0..PROBES.len() {
        let mut cells: Vec<Cell> = Vec::new();
        for release in by_release {
            let cell = &release[probe];
            match cells.last_mut() {
                Some(last) if last.is_equal(cell) => last.last = cell.last,
                _ => cells.push(cell.clone()),
            }
        }
        all.extend(cells);
    }
    all
}

/// Returns the cell of each probe in a release.
fn predicted(setup: &MatrixSetup, release: (u16, u16)) -> Vec<Cell> {
    let pods: Vec<String> = (0..PROBES.len()).map(|index| pod(setup, index)).collect();
    let text = format!("{}{}", setup.objects, pods.join("---\n"));
    let file = SourceFile::new(Arc::from("web.yaml"), Arc::from(text));
    let sources = SourceSet::new(vec![file]);
    let settings = Settings {
        mesh: setup.model.map_or(MeshKind::None, MeshKind::One),
        mesh_version: setup.model.map(|_| Version::new(release.0, release.1)),
        overrides: FactOverrides {
            native_sidecars: setup.native_sidecars,
            ..FactOverrides::default()
        },
        ..Settings::default()
    };
    let context = Context::new(&sources, &[], &settings);
    let predictions = predict_all(&context);
    let findings = rules::check(&context, &predictions);
    assert_eq!(predictions.len(), PROBES.len());
    let pods = predictions.iter().zip(PROBES);
    pods.map(|(pod, (probe, ..))| {
        let [handler] = pod.handlers.as_slice() else {
            panic!("{probe}: expected one handler");
        };
        cell(setup, release, (probe, pod, handler), &findings)
    })
    .collect()
}

fn pod(setup: &MatrixSetup, index: usize) -> String {
    let (_, container, field) = PROBES[index];
    let pod = Pod::new(&format!("web-{index}"))
        .within("shop")
        .labels("app: web")
        .annotations(&setup.annotations);
    let pod = match container {
        Container::Main => pod
            .container("web")
            .field("image: web:1\nports: [{containerPort: 8080}]")
            .field(field),
        Container::NativeSidecar => with_main(
            pod.init_container("log")
                .field("image: log:1\nrestartPolicy: Always\nports: [{containerPort: 8080}]")
                .field(field),
        ),
        Container::Init => with_main(
            pod.init_container("log")
                .field("image: log:1\nports: [{containerPort: 8080}]")
                .field(field),
        ),
    };
    pod.to_string()
}

fn with_main(pod: Pod) -> Pod {
    pod.container("web")
        .field("image: web:1\nports: [{containerPort: 9090}]")
}

fn cell(
    setup: &MatrixSetup,
    release: (u16, u16),
    (probe, pod, handler): (
        &'static str,
        &WorkloadPrediction<'_>,
        &HandlerPrediction<'_>,
    ),
    findings: &[Finding],
) -> Cell {
    let verdict = &handler.verdict;
    let name = pod.workload.object.name();
    let of_pod = findings.iter().filter(|finding| {
        let object = finding.object.as_ref();
        finding.outcome.is_some() && object.is_some_and(|object| object.name == name)
    });
    let mut rules: Vec<String> = of_pod.map(|finding| finding.rule.to_string()).collect();
    rules.dedup();
    let place = format!("{setup:?} {release:?} {probe}");
    assert_eq!(
        verdict.outcome.is_bad() || verdict.outcome.is_invalid(),
        !rules.is_empty(),
        "{place}"
    );
    let rewritten_to = handler.rewritten_to.as_ref();
    Cell {
        mesh: setup.mesh,
        setup: setup.setup.clone(),
        mtls: setup.mtls,
        rewrite: setup.rewrite,
        port: setup.port,
        probe,
        first: release,
        last: release,
        outcome: verdict.outcome.as_str(),
        why: verdict.cause.describe(),
        certainty: verdict.certainty.as_str(),
        rewritten_to: rewritten_to
            .map(|to| rewritten_text(to, handler.rewritten_host()))
            .unwrap_or_default(),
        kubelet: verdict.kubelet.clone().unwrap_or_default(),
        rules,
        source: source(setup, verdict.cause, pod.mesh.value == Some(Mesh::ISTIO)),
    }
}
