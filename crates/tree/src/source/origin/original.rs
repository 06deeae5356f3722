//! Source file of rendered objects, with indexes for lookups, each of which is built once.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use hashbrown::HashMap;
use meshprobe_yaml::NodeRef;

use super::template::{Template, is_template};
use crate::source::model::file::SourceFile;
use crate::source::origin::hint::name_of;

/// Maximum length of the name of an object in bytes.
/// Source: Kubernetes, `DNS1123SubdomainMaxLength`.
pub(super) const LONGEST_NAME: usize = 253;

/// Source file of rendered objects.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) file: SourceFile,
    /// Whether it is a template, which must be read as lines.
    pub(super) is_template: bool,
    /// Whether there is room for an index of its lines.
    is_indexed: bool,
    kinds: OnceLock<HashMap<String, Names>>,
    template: OnceLock<Template>,
}

/// Objects of one kind.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: HashMap<String, Named>,
    /// The lengths of the names in bytes.
    lengths: BTreeSet<usize>,
}

/// Objects of one kind and name, by their numbers in the file.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) all: Vec<usize>,
    pub(super) by_namespace: HashMap<String, Vec<usize>>,
}

impl Original {
    /// Creates a file whose indexes are built on demand. The index of a template subtracts the size of its text from
    /// `room`; if there is not enough room, there is no index.
    pub(super) fn new(file: SourceFile, room: &mut usize) -> Self {
        let is_template = is_template(&file);
        let left = room.checked_sub(file.text.len()).filter(|_| is_template);
        let is_indexed = left.is_some();
        *room = left.unwrap_or(*room);
        Self {
            file,
            is_template,
            is_indexed,
            kinds: OnceLock::new(),
            template: OnceLock::new(),
        }
    }

    /// Returns the lines of a template, if there is room for them.
    pub(super) fn template(&self) -> Option<&Template> {
        let text = &self.file.text;
        self.is_indexed
            .then(|| self.template.get_or_init(|| Template::new(text)))
    }

    /// Returns an object by its number in the file.
    pub(super) fn object(&self, number: usize) -> Option<NodeRef<'_>> {
        self.file.objects().get(&self.file.documents, number)
    }

    /// Returns the objects of `numbers` that are in a document; all objects if `document` is `None`.
    pub(super) fn within<'n>(&self, numbers: &'n [usize], document: Option<usize>) -> &'n [usize] {
        let Some(document) = document else {
            return numbers;
        };
        let objects = self.file.objects();
        let is_before = |end: usize| {
            numbers.partition_point(|number| objects.document(*number).is_some_and(|at| at < end))
        };
        let (start, end) = (is_before(document), is_before(document.saturating_add(1)));
        numbers.get(start..end).unwrap_or_default()
    }

    /// Returns the objects of a kind.
    pub(super) fn kind(&self, kind: &str) -> Option<&Names> {
        self.kinds.get_or_init(|| self.by_kind()).get(kind)
    }

    fn by_kind(&self) -> HashMap<String, Names> {
        let mut kinds: HashMap<String, Names> = HashMap::new();
        for number in 0..self.file.objects().len() {
            let Some(object) = self.object(number) else {
                continue;
            };
            let [_, kind, namespace, name] = name_of(object);
            // A node without a kind is not an object, and aliases could repeat a long text.
            let longest = kind.len().max(namespace.len()).max(name.len());
            if kind.is_empty() || longest > LONGEST_NAME {
                continue;
            }
            let kind = kinds.entry(kind).or_default();
            kind.lengths.insert(name.len());
            let named = kind.names.entry(name).or_default();
            named.all.push(number);
            named
                .by_namespace
                .entry(namespace)
                .or_default()
                .push(number);
        }
        kinds
    }
}

impl Names {
    /// Returns the objects of a name.
    pub(super) fn get(&self, name: &str) -> Option<(&str, &Named)> {
        let (name, named) = self.names.get_key_value(name)?;
        Some((name.as_str(), named))
    }

    /// Lists the objects whose names are part of `name`, because renderers may add a prefix or a suffix.
    pub(super) fn parts_of(&self, name: &str) -> Vec<(&str, &Named)> {
        let distinct: BTreeSet<&str> = self
            .lengths
            .iter()
            .filter(|length| **length > 0)
            .take_while(|length| **length <= name.len())
            .flat_map(|length| {
                let starts = 0..=name.len() - length;
                starts.filter_map(move |start| name.get(start..start + length))
            })
            .filter(|part| self.names.contains_key(*part))
            .collect();
        distinct
            .into_iter()
            .filter_map(|part| self.get(part))
            .collect()
    }
}
