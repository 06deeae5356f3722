//! The field names of a kustomization, however they are capitalized.
//!
//! kustomize converts `kustomization.yaml` to JSON and decodes it with `encoding/json`
//! (`Kustomization.Unmarshal` in `api/types/kustomization.go`, the same in 5.5 and 5.8.2), which matches the
//! field names of structs by their folded case, at every level. The keys of maps, such as labels, are kept.
//! If several spellings of one field are written, they are decoded in the order of their bytes: of a text or
//! a list of texts the last one counts, and maps and structs are merged. A `null` leaves a text as it is.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::yaml::{Entry, NodeRef, Span, Tree};

use self::Field::{Map, Strings, Struct, Text};

/// What a field contains.
#[derive(Clone, Copy)]
enum Field {
    /// A scalar.
    Text,
    /// A list of scalars.
    Strings,
    /// Keys that are kept as written.
    Map,
    /// A struct, or a list of structs.
    Struct(Fields),
}

/// The fields of a struct by their names in JSON.
type Fields = &'static [(&'static str, Field)];

/// `Kustomization`
const KUSTOMIZATION: Fields = &[
    ("apiVersion", Text),
    ("bases", Strings),
    ("buildMetadata", Strings),
    ("commonAnnotations", Map),
    ("commonLabels", Map),
    ("components", Strings),
    ("configMapGenerator", Struct(GENERATOR)),
    ("configurations", Strings),
    ("crds", Strings),
    ("generatorOptions", Struct(GENERATOR_OPTIONS)),
    ("generators", Strings),
    ("helmChartInflationGenerator", Struct(HELM_CHART_ARGS)),
    ("helmCharts", Struct(HELM_CHART)),
    (
        "helmGlobals",
        Struct(&[("chartHome", Text), ("configHome", Text)]),
    ),
    ("imageTags", Struct(IMAGE)),
    ("images", Struct(IMAGE)),
    ("kind", Text),
    ("labels", Struct(LABEL)),
    (
        "metadata",
        Struct(&[
            ("name", Text),
            ("namespace", Text),
            ("labels", Map),
            ("annotations", Map),
        ]),
    ),
    ("namePrefix", Text),
    ("nameSuffix", Text),
    ("namespace", Text),
    ("openapi", Map),
    ("patches", Struct(PATCH)),
    ("patchesJson6902", Struct(PATCH)),
    ("patchesStrategicMerge", Strings),
    ("replacements", Struct(REPLACEMENT)),
    ("replicas", Struct(&[("name", Text), ("count", Text)])),
    ("resources", Strings),
    ("secretGenerator", Struct(GENERATOR)),
    ("sortOptions", Struct(SORT_OPTIONS)),
    ("transformers", Strings),
    ("validators", Strings),
    ("vars", Struct(VAR)),
];

/// `Image`
const IMAGE: Fields = &[
    ("name", Text),
    ("newName", Text),
    ("tagSuffix", Text),
    ("newTag", Text),
    ("digest", Text),
];

/// `Label`
const LABEL: Fields = &[
    ("pairs", Map),
    ("includeSelectors", Text),
    ("includeTemplates", Text),
    ("includeVolumeClaimTemplates", Text),
    (
        "fields",
        Struct(&[
            ("group", Text),
            ("version", Text),
            ("kind", Text),
            ("path", Text),
            ("create", Text),
        ]),
    ),
];

/// `Patch`
const PATCH: Fields = &[
    ("path", Text),
    ("patch", Text),
    ("target", Struct(SELECTOR)),
    (
        "options",
        Struct(&[("allowNameChange", Text), ("allowKindChange", Text)]),
    ),
];

/// `Selector`
const SELECTOR: Fields = &[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
    ("namespace", Text),
    ("annotationSelector", Text),
    ("labelSelector", Text),
];

/// `ReplacementField`
const REPLACEMENT: Fields = &[
    ("path", Text),
    ("sourceValue", Text),
    (
        "source",
        Struct(&[
            ("group", Text),
            ("version", Text),
            ("kind", Text),
            ("name", Text),
            ("namespace", Text),
            ("fieldPath", Text),
            ("options", Struct(FIELD_OPTIONS)),
        ]),
    ),
    (
        "targets",
        Struct(&[
            ("select", Struct(SELECTOR)),
            ("reject", Struct(SELECTOR)),
            ("fieldPaths", Strings),
            ("options", Struct(FIELD_OPTIONS)),
        ]),
    ),
];

/// `FieldOptions`
const FIELD_OPTIONS: Fields = &[
    ("delimiter", Text),
    ("index", Text),
    ("encoding", Text),
    ("create", Text),
];

/// `ConfigMapArgs` and `SecretArgs`
const GENERATOR: Fields = &[
    ("name", Text),
    ("namespace", Text),
    ("behavior", Text),
    ("type", Text),
    ("literals", Strings),
    ("files", Strings),
    ("envs", Strings),
    ("env", Text),
    ("options", Struct(GENERATOR_OPTIONS)),
];

/// `GeneratorOptions`
const GENERATOR_OPTIONS: Fields = &[
    ("labels", Map),
    ("annotations", Map),
    ("disableNameSuffixHash", Text),
    ("immutable", Text),
];

/// `HelmChart`
const HELM_CHART: Fields = &[
    ("name", Text),
    ("version", Text),
    ("repo", Text),
    ("releaseName", Text),
    ("namespace", Text),
    ("additionalValuesFiles", Strings),
    ("valuesFile", Text),
    ("valuesInline", Map),
    ("valuesMerge", Text),
    ("includeCRDs", Text),
    ("skipHooks", Text),
    ("apiVersions", Strings),
    ("kubeVersion", Text),
    ("nameTemplate", Text),
    ("skipTests", Text),
    ("debug", Text),
    ("devel", Text),
];

/// `HelmChartArgs`
const HELM_CHART_ARGS: Fields = &[
    ("chartName", Text),
    ("chartVersion", Text),
    ("chartRepoUrl", Text),
    ("chartHome", Text),
    ("chartRepoName", Text),
    ("helmBin", Text),
    ("helmHome", Text),
    ("values", Text),
    ("valuesLocal", Map),
    ("valuesMerge", Text),
    ("releaseName", Text),
    ("releaseNamespace", Text),
    ("extraArgs", Strings),
];

/// `SortOptions`
const SORT_OPTIONS: Fields = &[
    ("order", Text),
    (
        "legacySortOptions",
        Struct(&[("orderFirst", Strings), ("orderLast", Strings)]),
    ),
];

/// `Var`
const VAR: Fields = &[
    ("name", Text),
    (
        "objref",
        Struct(&[
            ("apiVersion", Text),
            ("group", Text),
            ("version", Text),
            ("kind", Text),
            ("name", Text),
            ("namespace", Text),
        ]),
    ),
    ("fieldref", Struct(&[("fieldPath", Text)])),
];

/// Gives the keys of a kustomization the names that kustomize reads them as; their places are kept. A key that
/// another spelling of the same field overrides is renamed to upper case, which no reader looks for.
pub(super) fn normalize(tree: &mut Tree) {
    let mut walk = Walk::default();
    if let Some(root) = tree.root() {
        walk.mapping(root, KUSTOMIZATION);
    }
    for (key, name) in walk.renamed {
        tree.rename_key(key, &name);
    }
}

/// Returns whether kustomize reads a key of the top level as a field, in any capitalization.
#[must_use]
pub fn is_kustomization_field(key: &str) -> bool {
    find(KUSTOMIZATION, key).is_some()
}

/// Returns the keys of a loaded kustomization whose values kustomize merges with those of another spelling.
#[must_use]
pub fn merged_spellings(root: NodeRef<'_>) -> Vec<Span> {
    let mut walk = Walk::default();
    walk.mapping(root, KUSTOMIZATION);
    walk.merged
}

/// A walk over everything of a kustomization that is a struct.
#[derive(Default)]
struct Walk {
    /// Keys with their new names.
    renamed: Vec<(u32, Cow<'static, str>)>,
    /// Keys whose values are merged with those of another spelling.
    merged: Vec<Span>,
    /// Aliases may lead to one mapping several times, or in a circle.
    seen: HashSet<(u32, usize)>,
}

impl Walk {
    fn mapping(&mut self, node: NodeRef<'_>, fields: Fields) {
        let shape = fields.as_ptr().addr();
        if !node.is_mapping() || !self.seen.insert((node.resolved().id(), shape)) {
            return;
        }
        let entries = node.effective_entries();
        for (name, field) in fields {
            let own = entries.iter().filter(|entry| is_field(entry, name));
            let own: Vec<&Entry<'_>> = own.collect();
            let read = own.iter().filter_map(|entry| spelling(entry, *field)).max();
            // All are `null`.
            let read = read.or_else(|| own.last()?.key.text());
            for entry in own {
                self.entry(entry, name, *field, entry.key.text() == read);
            }
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, name: &'static str, field: Field, is_read: bool) {
        let new = if is_read {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(name.to_ascii_uppercase())
        };
        if entry.key.text() != Some(&*new) {
            self.renamed.push((entry.key.id(), new));
        }
        if !is_read && matches!(field, Map | Struct(_)) {
            self.merged.push(entry.key.span());
        }
        if let Struct(fields) = field {
            self.mapping(entry.value, fields);
            for item in entry.value.items() {
                self.mapping(item, fields);
            }
        }
    }
}

/// Returns the spelling of an entry that has an effect on its field.
fn spelling<'t>(entry: &Entry<'t>, field: Field) -> Option<&'t str> {
    let is_kept = matches!(field, Text) && entry.value.is_null();
    entry.key.text().filter(|_| !is_kept)
}

fn is_field(entry: &Entry<'_>, name: &str) -> bool {
    entry.key.text().is_some_and(|key| is_same_field(key, name))
}

fn find(fields: Fields, key: &str) -> Option<&'static str> {
    let mut names = fields.iter().map(|(name, _)| *name);
    names.find(|name| is_same_field(key, name))
}

/// Returns whether `encoding/json` takes a key for the name of a field: letters are compared by the case folding
/// of Unicode, where `ſ` is an `s` and the Kelvin sign a `k`.
#[must_use]
pub fn is_same_field(key: &str, name: &str) -> bool {
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    let exact = key == name;
    exact || key.chars().map(fold).eq(name.chars().map(fold))
}
