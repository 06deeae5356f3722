//! Which installation applies to which workload, and the effect on its probes.

mod facts;
mod injection;
mod maistra;
mod ports;
mod scope;
mod webhooks;

use meshprobe::context::{Context, Dataplane};
use meshprobe::finding::Certainty;
use meshprobe::kube::Workload;
use meshprobe::mesh::{Fact, Version};
use meshprobe::predict::{Cause, HandlerPrediction, Outcome, predict_workload};
use meshprobe::settings::{FactOverrides, Settings};
use meshprobe::source::SourceSet;

use crate::support::manifest::{INJECTED, Manifest, Pod, STRICT_MESH};

/// Reads files as the program does; the only helper of this folder that does so.
fn sources(files: &[(&str, &str)]) -> SourceSet {
    let read = files
        .iter()
        .map(|(path, text)| SourceSet::from_text(path, text));
    SourceSet::new(read.flat_map(|set| set.files).collect())
}

/// Evaluates `question` with the context of a tree and its workload named `web`.
fn evaluate_with<T>(
    files: &[(&str, &str)],
    settings: &Settings,
    question: impl Fn(&Context<'_>, &Workload<'_>) -> T,
) -> T {
    let sources = sources(files);
    let context = Context::new(&sources, &[], settings);
    let subjects = &context.inventory.workloads;
    let mut named = subjects
        .iter()
        .filter(|subject| subject.workload.object.name() == "web");
    question(&context, &named.next().unwrap().workload)
}

fn evaluate<T>(files: &[(&str, &str)], question: impl Fn(&Context<'_>, &Workload<'_>) -> T) -> T {
    evaluate_with(files, &Settings::default(), question)
}

fn assume(facts: FactOverrides) -> Settings {
    Settings {
        assume: facts,
        ..Settings::default()
    }
}

fn overriding(facts: FactOverrides) -> Settings {
    Settings {
        overrides: facts,
        ..Settings::default()
    }
}

/// Returns the messages of a fact's reasons.
fn reasons<T>(fact: &Fact<T>) -> Vec<&str> {
    fact.because
        .iter()
        .map(|reason| reason.message.as_str())
        .collect()
}

/// Returns the files of a fact's reasons that have a location.
fn places<T>(fact: &Fact<T>) -> Vec<&str> {
    fact.because
        .iter()
        .filter_map(|reason| Some(&*reason.place.as_ref()?.path))
        .collect()
}

fn namespace(labels: &str) -> String {
    Manifest::namespace("shop").labels(labels).to_string()
}

/// A Deployment `web` with a readiness probe; both arguments are entries of YAML flow mappings.
fn web(labels: &str, annotations: &str) -> String {
    let pod = Pod::deployment("web").within("shop").labels(labels);
    pod.annotations(annotations)
        .field("image: registry.example/web:1")
        .probe("readinessProbe", "httpGet: {path: /healthz, port: 8080}")
        .to_string()
}

fn operator(spec: &str) -> String {
    Manifest::new("install.istio.io/v1alpha1", "IstioOperator", "istio")
        .spec(&format!("{{{spec}}}"))
        .to_string()
}

fn helm_release(values: &str) -> String {
    let chart = "chart: {spec: {chart: istiod, version: 1.26.1}}";
    Manifest::new("helm.toolkit.fluxcd.io/v2", "HelmRelease", "istiod")
        .spec(&format!("  {chart}\n  values: {{{values}}}"))
        .to_string()
}
