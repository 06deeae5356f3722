//! Fields of a kustomization: the files that they list, and those that kustomize does not decode because the name is unknown or
//! the value has another type.
//!
//! Source: kustomize 5.8.2, `Kustomization.Unmarshal` in `api/types/kustomization.go`: the decoder rejects unknown fields
//! at every level, and values of another type. It ignores the case of names (`encoding/json`), which is not modelled: none
//! of 3,931 public kustomizations needs it, except for `fieldpath` in `vars`.

use meshprobe_yaml::{Entry, NodeRef, Span};

/// What a file or folder that a kustomization lists is for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListRole {
    /// A file with objects, or a folder with a kustomization.
    Objects,
    /// A folder with a component.
    Component,
    /// A file with patches, or a patch itself.
    Patch,
    /// A file or folder with configurations of plugins, or a configuration itself.
    Plugin,
    /// Another file with settings.
    Settings,
}

impl ListRole {
    /// Returns whether objects are included from the file or folder.
    #[must_use]
    pub const fn is_included(self) -> bool {
        matches!(self, Self::Objects | Self::Component)
    }

    /// Returns whether the file or folder contains settings.
    #[must_use]
    pub const fn is_setting(self) -> bool {
        matches!(self, Self::Plugin | Self::Settings)
    }
}

/// The fields that list files, in the order in which they are read: the name, the key of the path if an item is a mapping, and
/// the role.
const LISTS: [(&str, Option<&str>, ListRole); 13] = [
    ("resources", None, ListRole::Objects),
    ("bases", None, ListRole::Objects),
    ("components", None, ListRole::Component),
    ("patchesStrategicMerge", None, ListRole::Patch),
    ("patches", Some("path"), ListRole::Patch),
    ("patchesJson6902", Some("path"), ListRole::Patch),
    ("generators", None, ListRole::Plugin),
    ("transformers", None, ListRole::Plugin),
    ("validators", None, ListRole::Plugin),
    ("configurations", None, ListRole::Settings),
    ("crds", None, ListRole::Settings),
    ("replacements", Some("path"), ListRole::Settings),
    ("openapi", Some("path"), ListRole::Settings),
];

/// Entry of a kustomization that lists a file or a folder.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'t> {
    /// The name of the field.
    pub field: &'static str,
    /// What the file is for the kustomization.
    pub role: ListRole,
    /// The entry.
    pub node: NodeRef<'t>,
    /// Its text: a path, or the content of a file.
    pub text: &'t str,
}

/// Iterates over all files and folders that a kustomization lists, except for those of generators of ConfigMaps and Secrets.
pub fn listed<'t>(root: NodeRef<'t>) -> impl Iterator<Item = Listed<'t>> {
    LISTS.into_iter().flat_map(move |(field, key, role)| {
        let value = root.get(field);
        let single = value.filter(|value| field == "openapi" && value.is_mapping());
        let items = value.into_iter().flat_map(NodeRef::items).chain(single);
        items.filter_map(move |item| {
            let node = key.map_or(Some(item), |key| item.get(key))?;
            let text = node.text()?;
            Some(Listed {
                field,
                role,
                node,
                text,
            })
        })
    })
}

/// A field that kustomize does not decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// The key, or the value of another type.
    pub span: Span,
    /// The name of the field.
    pub name: String,
    /// What is wrong.
    pub kind: FieldFaultKind,
}

/// What is wrong with a field of a kustomization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldFaultKind {
    /// The value has another type than this one, such as "a list of strings".
    Type(&'static str),
    /// The field is unknown. These are the known ones.
    Unknown(Vec<&'static str>),
    /// kustomize reads the field as this one, whose name has another case.
    OtherCase(&'static str),
}

const TEXT: &str = "a string";
const TEXTS: &str = "a list of strings";
const STRINGS: &str = "a mapping of strings";
const OBJECT: &str = "a mapping";
const OBJECTS: &str = "a list of mappings";

/// The fields of a kustomization with their types.
const FIELDS: [(&str, &str); 34] = [
    ("apiVersion", TEXT),
    ("bases", TEXTS),
    ("buildMetadata", TEXTS),
    ("commonAnnotations", STRINGS),
    ("commonLabels", STRINGS),
    ("components", TEXTS),
    ("configMapGenerator", OBJECTS),
    ("configurations", TEXTS),
    ("crds", TEXTS),
    ("generatorOptions", OBJECT),
    ("generators", TEXTS),
    ("helmChartInflationGenerator", OBJECTS),
    ("helmCharts", OBJECTS),
    ("helmGlobals", OBJECT),
    ("imageTags", OBJECTS),
    ("images", OBJECTS),
    ("kind", TEXT),
    ("labels", OBJECTS),
    ("metadata", OBJECT),
    ("namePrefix", TEXT),
    ("nameSuffix", TEXT),
    ("namespace", TEXT),
    ("openapi", OBJECT),
    ("patches", OBJECTS),
    ("patchesJson6902", OBJECTS),
    ("patchesStrategicMerge", TEXTS),
    ("replacements", OBJECTS),
    ("replicas", OBJECTS),
    ("resources", TEXTS),
    ("secretGenerator", OBJECTS),
    ("sortOptions", OBJECT),
    ("transformers", TEXTS),
    ("validators", TEXTS),
    ("vars", OBJECTS),
];

const PATCH: &str = "path patch target options";
const SELECTOR: &str = "group version kind name namespace annotationSelector labelSelector";
const GENERATOR: &str = "name namespace behavior type literals files envs env options";
const OPTIONS: &str = "labels annotations disableNameSuffixHash immutable";
const IMAGE: &str = "name newName tagSuffix newTag digest";
const REPLACED: &str = "delimiter index encoding create";

/// The names of fields below the top level, by the path of their struct. Omits those of charts, which differ from release
/// to release.
const BELOW: [(&str, &str); 27] = [
    ("configMapGenerator", GENERATOR),
    ("configMapGenerator.options", OPTIONS),
    ("generatorOptions", OPTIONS),
    ("imageTags", IMAGE),
    ("images", IMAGE),
    (
        "labels",
        "pairs includeSelectors includeTemplates includeVolumeClaimTemplates fields",
    ),
    ("labels.fields", "group version kind path create"),
    ("patches", PATCH),
    ("patches.options", "allowNameChange allowKindChange"),
    ("patches.target", SELECTOR),
    ("patchesJson6902", PATCH),
    ("patchesJson6902.options", "allowNameChange allowKindChange"),
    ("patchesJson6902.target", SELECTOR),
    ("replacements", "path sourceValue source targets"),
    (
        "replacements.source",
        "group version kind name namespace fieldPath options",
    ),
    ("replacements.source.options", REPLACED),
    ("replacements.targets", "select reject fieldPaths options"),
    ("replacements.targets.options", REPLACED),
    ("replacements.targets.reject", SELECTOR),
    ("replacements.targets.select", SELECTOR),
    ("replicas", "name count"),
    ("secretGenerator", GENERATOR),
    ("secretGenerator.options", OPTIONS),
    ("sortOptions", "order legacySortOptions"),
    ("vars", "name objref fieldref"),
    ("vars.fieldref", "fieldPath fieldpath"),
    (
        "vars.objref",
        "apiVersion group version kind name namespace",
    ),
];

/// The maximum number of fields below the top level that are compared.
const STEPS: usize = 50_000;

/// Returns the fields of a kustomization that kustomize does not decode, in their order.
#[must_use]
pub fn field_faults(root: NodeRef<'_>) -> Vec<FieldFault> {
    let mut found = Vec::new();
    let mut steps = STEPS;
    for entry in entries(root) {
        let name = entry.key.text().unwrap_or_default();
        let Some((_, expected)) = FIELDS.iter().find(|(field, _)| *field == name) else {
            found.push(unknown(&entry, FIELDS.map(|(field, _)| field).to_vec()));
            continue;
        };
        match wrong_value(entry.value, expected) {
            Some(span) => found.push(FieldFault {
                span,
                name: name.to_owned(),
                kind: FieldFaultKind::Type(expected),
            }),
            None => unknown_below(entry.value, name, &mut steps, &mut found),
        }
    }
    found
}

fn entries<'t>(node: NodeRef<'t>) -> impl Iterator<Item = Entry<'t>> {
    node.entries().filter(|entry| !entry.key.is_merge_key())
}

/// Adds the unknown fields of a struct, or of the structs of a list. The table limits the depth, and `steps` the number
/// of nodes: aliases can repeat them.
fn unknown_below(node: NodeRef<'_>, path: &str, steps: &mut usize, found: &mut Vec<FieldFault>) {
    let Some((_, fields)) = BELOW.iter().find(|(of, _)| *of == path) else {
        return;
    };
    for node in std::iter::once(node).chain(node.items()) {
        for entry in entries(node) {
            let Some(left) = steps.checked_sub(1) else {
                return;
            };
            *steps = left;
            let name = entry.key.text().unwrap_or_default();
            match fields.split(' ').any(|field| field == name) {
                true => unknown_below(entry.value, &format!("{path}.{name}"), steps, found),
                false => found.push(unknown(&entry, fields.split(' ').collect())),
            }
        }
    }
}

fn unknown(entry: &Entry<'_>, known: Vec<&'static str>) -> FieldFault {
    let name = entry.key.text().unwrap_or_default();
    // `encoding/json` compares folded letters: `ſ` equals `s`, and the Kelvin sign equals `k`.
    let folded = |text: &str| text.to_lowercase().to_uppercase();
    let mut fields = known.iter();
    let same = fields.find(|field| folded(field) == folded(name)).copied();
    FieldFault {
        span: entry.key.span(),
        name: name.to_owned(),
        kind: match same {
            Some(field) => FieldFaultKind::OtherCase(field),
            None => FieldFaultKind::Unknown(known),
        },
    }
}

/// Returns the place of a value that does not have the expected type.
fn wrong_value(value: NodeRef<'_>, expected: &str) -> Option<Span> {
    let is_text = |node: NodeRef<'_>| node.is_null() || node.as_str().is_some();
    let is_right = match expected {
        _ if value.is_null() => true,
        TEXT => is_text(value),
        STRINGS => value.is_mapping() && value.entries().all(|entry| is_text(entry.value)),
        OBJECT => value.is_mapping(),
        _ => value.is_sequence(),
    };
    if !is_right {
        return Some(value.span());
    }
    let is_wrong = |item: &NodeRef<'_>| match expected {
        TEXTS => !is_text(*item),
        _ => !item.is_mapping() && !item.is_null(),
    };
    Some(value.items().find(is_wrong)?.span())
}
