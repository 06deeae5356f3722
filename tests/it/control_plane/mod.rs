//! Which installation holds for which workload, and what follows for its probes.

mod facts;
mod injection;
mod ports;
mod scope;
mod webhooks;

use meshprobe::context::{Context, Dataplane};
use meshprobe::finding::Certainty;
use meshprobe::kube::Workload;
use meshprobe::mesh::{Fact, Version};
use meshprobe::predict::{Cause, HandlerPrediction, Outcome, predict_workload};
use meshprobe::settings::{Facts, Settings};
use meshprobe::source::SourceSet;

use crate::support::manifest::{INJECTED, Manifest, Pod, STRICT_MESH};

/// Reads files as the tool would; the only place that knows how.
fn sources(files: &[(&str, &str)]) -> SourceSet {
    let read = files
        .iter()
        .map(|(path, text)| SourceSet::from_text(path, text));
    SourceSet::new(read.flat_map(|set| set.files).collect())
}

/// Asks the context of a tree about its workload named `web`.
fn ask_with<T>(
    files: &[(&str, &str)],
    settings: &Settings,
    question: impl Fn(&Context<'_>, &Workload<'_>) -> T,
) -> T {
    let sources = sources(files);
    let context = Context::new(&sources, &[], settings);
    let subjects = context.inventory.workloads.iter();
    let mut named = subjects.filter(|subject| subject.workload.object.name() == "web");
    question(&context, &named.next().unwrap().workload)
}

fn ask<T>(files: &[(&str, &str)], question: impl Fn(&Context<'_>, &Workload<'_>) -> T) -> T {
    ask_with(files, &Settings::default(), question)
}

fn assume(facts: Facts) -> Settings {
    Settings {
        assume: facts,
        ..Settings::default()
    }
}

fn overriding(facts: Facts) -> Settings {
    Settings {
        overrides: facts,
        ..Settings::default()
    }
}

/// The messages of a fact's reasons.
fn reasons<T>(fact: &Fact<T>) -> Vec<&str> {
    let because = fact.because.iter();
    because.map(|reason| reason.message.as_str()).collect()
}

/// The files of a fact's reasons that have a place.
fn places<T>(fact: &Fact<T>) -> Vec<&str> {
    let because = fact.because.iter();
    because
        .filter_map(|reason| Some(&*reason.place.as_ref()?.path))
        .collect()
}

fn namespace(labels: &str) -> String {
    Manifest::namespace("shop").labels(labels).to_string()
}

/// A Deployment `web` with a readiness probe; both arguments are YAML flow mappings' insides.
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
