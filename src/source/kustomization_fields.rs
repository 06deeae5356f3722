//! Field names of a kustomization in any capitalization.
//!
//! kustomize converts `kustomization.yaml` to JSON and decodes it with `encoding/json` (`Kustomization.Unmarshal` in
//! `api/types/kustomization.go`, the same in 5.5 and 5.8.2), which ignores the case of the field names of structs, at
//! every level. The keys of maps, such as labels, are kept. If one field is set in several spellings, they are decoded
//! in the order of their bytes: of strings and lists of strings, the last one takes effect, and maps and structs are
//! merged. A `null` does not change a string.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::yaml::{Entry, NodeRef, Span, Tree};

use self::Field::{Map, Strings, Struct, Text};

/// Type of a field.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// A scalar.
    Text,
    /// A list of scalars.
    Strings,
    /// A map, whose keys are kept unchanged.
    Map,
    /// A struct, or a list of structs.
    Struct(Fields),
}

/// Fields of a struct by their names in JSON.
pub(super) type Fields = &'static [(&'static str, Field)];

/// `Kustomization`
pub(super) const KUSTOMIZATION: Fields = &[
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

/// Renames the keys of a kustomization to the fields that kustomize reads, without changing their spans. A key that
/// another spelling of the same field overrides is renamed to upper case, which no code reads.
pub(super) fn normalize(tree: &mut Tree) {
    let mut walk = Walk::default();
    if let Some(root) = tree.root() {
        walk.mapping(root, KUSTOMIZATION);
    }
    for (key, name) in walk.renamed {
        tree.rename_key(key, &name);
    }
}

/// Returns the keys of a normalized kustomization whose values kustomize merges with those of another spelling.
#[must_use]
pub fn merged_spellings(root: NodeRef<'_>) -> Vec<Span> {
    let mut walk = Walk::default();
    walk.mapping(root, KUSTOMIZATION);
    walk.merged
}

/// Walk over all structs of a kustomization.
#[derive(Default)]
struct Walk {
    /// Keys with their new names.
    renamed: Vec<(u32, Cow<'static, str>)>,
    /// Keys whose values are merged with those of another spelling.
    merged: Vec<Span>,
    /// The mappings that were visited, with their type. Aliases may lead to a mapping several times, or in a cycle.
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
            let spellings: Vec<&Entry<'_>> = entries
                .iter()
                .filter(|entry| is_field(entry, name))
                .collect();
            let read = spellings
                .iter()
                .filter_map(|entry| spelling(entry, *field))
                .max()
                // All values are `null`.
                .or_else(|| spellings.last()?.key.text());
            for entry in spellings {
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

/// Returns the key of an entry if the entry has an effect on its field.
fn spelling<'t>(entry: &Entry<'t>, field: Field) -> Option<&'t str> {
    let is_kept = matches!(field, Text) && entry.value.is_null();
    entry.key.text().filter(|_| !is_kept)
}

fn is_field(entry: &Entry<'_>, name: &str) -> bool {
    entry.key.text().is_some_and(|key| is_same_field(key, name))
}

/// Returns the field with a name in any capitalization.
pub(super) fn find(fields: Fields, key: &str) -> Option<(&'static str, Field)> {
    let mut fields = fields.iter();
    fields.find(|(name, _)| is_same_field(key, name)).copied()
}

/// Returns whether `encoding/json` matches a key with the name of a field: it compares letters by the case folding
/// of Unicode, where `ſ` equals `s` and the Kelvin sign equals `k`.
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
