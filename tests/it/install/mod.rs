//! How a tree describes the installation of Istio: one test per carrier, through the public API.

mod argo;
mod helm;
mod maistra;
mod operator;
mod rendered;
mod sail;

use meshprobe::finding::Certainty;
use meshprobe::kube::Object;
use meshprobe::mesh::istio::install::{
    Carrier, CarrierContext, ConfigValue, Install, NativeSidecars, Part, PlainFile, SourcePlace,
    SourcePlaces, from_object, from_values_file,
};
use meshprobe::mesh::{Fact, Version};
use meshprobe::source::{Content, SourceFile, SourceSet};
use meshprobe::yaml::NodeRef;

/// Finds the first ConfigMap with a name.
#[derive(Debug)]
struct Places<'o, 't>(&'o [Object<'t>]);

impl SourcePlaces for Places<'_, '_> {
    fn place(&self, _: &Object<'_>, _: NodeRef<'_>) -> SourcePlace {
        SourcePlace::Here
    }

    fn config_value(
        &self,
        _: &Object<'_>,
        (kind, name): (&str, &str),
        key: &str,
    ) -> Result<Option<ConfigValue>, String> {
        let found = self
            .0
            .iter()
            .find(|object| (object.kind, object.name()) == (kind, name));
        Ok(found.and_then(|object| {
            let entry = object.node.get("data")?.entry(key)?;
            Some(ConfigValue {
                text: entry.value.text()?.to_owned(),
                key: object.label_at(entry.key.span(), ""),
                value: object.label_at(entry.value.span(), ""),
            })
        }))
    }

    fn joined(&self, folder: &str, entry: &str) -> String {
        format!("{folder}{entry}")
    }
}

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
    let documents = sources.files.iter().flat_map(|file| &file.documents);
    let objects: Vec<Object<'_>> = documents.flat_map(Object::all_in).collect();
    let plain: Vec<PlainFile<'_>> = sources.files.iter().filter_map(plain_file).collect();
    let places = Places(&objects);
    let around = CarrierContext::new(&objects, &plain).with_places(&places);
    let of_objects = objects
        .iter()
        .flat_map(|object| from_object(object, &around));
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
