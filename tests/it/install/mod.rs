//! How a tree describes the installation of Istio: one test per carrier, through the public API.

mod argo;
mod helm;
mod maistra;
mod operator;
mod rendered;
mod sail;

use meshprobe::finding::Certainty;
use meshprobe::gitops;
use meshprobe::gitops::configs::Configs;
use meshprobe::gitops::releases::ReleaseTree;
use meshprobe::gitops::repositories::Repositories;
use meshprobe::kube::Object;
use meshprobe::mesh::istio::install::{
    Carrier, Install, NativeSidecars, Part, PlainFile, from_object, from_values_file, of_object,
};
use meshprobe::mesh::{Fact, Version};
use meshprobe::source::{Content, SourceFile, SourceSet};

/// Reads files as the program does; the only helper of this folder that does so.
fn sources(files: &[(&str, &str)]) -> SourceSet {
    let read = files
        .iter()
        .map(|(path, text)| SourceSet::from_text(path, text));
    SourceSet::new(read.flat_map(|set| set.files).collect())
}

fn plain_file(file: &SourceFile) -> Option<PlainFile<'_>> {
    let Content::Plain(tree) = &file.documents.first()?.content else {
        return None;
    };
    Some(PlainFile {
        path: &file.path,
        real_path: None,
        root: tree.root()?,
    })
}

/// Returns all installations in the files, in order: objects first, then values files.
fn installs(files: &[(&str, &str)]) -> Vec<Install> {
    let sources = sources(files);
    let renderings = gitops::render(&sources);
    let documents = sources.files.iter().flat_map(|file| &file.documents);
    // ApplicationSets generate Applications.
    let generated = renderings.iter().flat_map(|rendering| rendering.objects());
    let generated = generated.filter(|object| object.kind == "Application");
    let objects = documents.flat_map(Object::all_in).chain(generated);
    let objects: Vec<Object<'_>> = objects.collect();
    let plain: Vec<PlainFile<'_>> = sources.files.iter().filter_map(plain_file).collect();
    let repositories = Repositories::of(&sources, objects.iter());
    let mut configs = Configs::default();
    let is_config = |object: &&Object<'_>| matches!(object.kind, "ConfigMap" | "Secret");
    let maps = objects.iter().filter(is_config);
    maps.for_each(|object| configs.push(object.clone()));
    let parts = (&repositories, &configs);
    let tree = ReleaseTree::new(&sources, parts, &plain, &objects, Box::new(|_, _| true));
    let of_objects = objects.iter().flat_map(|object| {
        let releases = tree.of(object);
        let installs = releases.iter();
        let installs = installs.flat_map(|release| of_object(object, &release.found));
        installs.chain(from_object(object)).collect::<Vec<_>>()
    });
    let of_files = plain.iter().flat_map(|file| {
        let chart = plain
            .iter()
            .find(|other| other.is_chart() && other.folder() == file.folder());
        from_values_file(file, chart, false)
    });
    of_objects.chain(of_files).collect()
}

fn only(files: &[(&str, &str)]) -> Install {
    let found = installs(files);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

fn one(text: &str) -> Install {
    only(&[("istio.yaml", text)])
}

fn value<T: Clone>(fact: Option<&Fact<T>>) -> Option<T> {
    fact.map(|fact| fact.value.clone())
}

/// Returns the text that the first label of a fact covers.
fn written<'a, T>(text: &'a str, fact: Option<&Fact<T>>) -> &'a str {
    let place = fact
        .unwrap()
        .because
        .first()
        .unwrap()
        .place
        .as_ref()
        .unwrap();
    text.get(place.span.start..place.span.end).unwrap()
}

fn tags(install: &Install) -> Vec<&str> {
    install.tags.iter().map(|tag| tag.value.as_str()).collect()
}

const V1_26: Version = Version::new(1, 26);
