//! Source file of rendered objects, with indexes for lookups, each of which is built once.
//!
//! Finds a field of a rendered object in the source manifest of the object.
//!
//! Origins of the objects of a rendered file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use meshprobe_yaml::{Entry, NodeRef, Position, Span};

use super::hint::{OriginHint, name_of};
use super::template;
use super::template::{Covers, FieldStep, FieldSteps, Template, is_template, name};
use crate::source::model::document::Document;
use crate::source::model::file::{OriginIndex, Source, SourceFile};
use crate::source::model::objects::Objects;

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

/// Returns the bytes of the field in the file, if it is there.
pub(super) fn find(
    original: &Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
    path: &FieldSteps<'_>,
) -> Option<Span> {
    let mut node = counterpart(original, object, hint)?;
    let mut last: Option<Entry<'_>> = None;
    for step in &path.steps {
        match step {
            FieldStep::Key(key) => {
                let entry = node.entry(key)?;
                node = entry.value;
                last = Some(entry);
            }
            FieldStep::Item {
                name: Some(wanted), ..
            } => {
                let mut matching = node.items().filter(|item| name(*item) == Some(*wanted));
                node = matching.next()?;
                if matching.next().is_some() {
                    return None;
                }
                last = None;
            }
            FieldStep::Item { index, of, .. } => {
                // If items were added or removed, the index may be that of another item.
                let is_same_length = node.items().len() == *of;
                node = node.item(*index).filter(|_| is_same_length)?;
                last = None;
            }
        }
    }
    Some(match (path.covers, last) {
        (Covers::Key, Some(entry)) => entry.key.span(),
        (Covers::Entry, Some(entry)) => entry.span(),
        _ => node.span(),
    })
}

/// Returns whether the object may come from the file.
pub(super) fn may_come_from(original: &Original, object: NodeRef<'_>, hint: &OriginHint) -> bool {
    let document = document(hint);
    candidates(original, object, hint)
        .iter()
        .any(|(_, named)| !original.within(&named.all, document).is_empty())
}

/// Returns the source of a rendered object; `None` if there are several candidates.
fn counterpart<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
) -> Option<NodeRef<'t>> {
    let [_, _, namespace, name] = name_of(object);
    let document = document(hint);
    let candidates = candidates(original, object, hint);
    let mut all = candidates
        .iter()
        .flat_map(|(_, named)| original.within(&named.all, document));
    if let (Some(number), None) = (all.next(), all.next()) {
        return original.object(*number);
    }
    let (_, named) = candidates.iter().find(|(known, _)| *known == name)?;
    let only = |numbers: &[usize]| match original.within(numbers, document) {
        [number] => original.object(*number),
        _ => None,
    };
    // A prefix or a namespace may have been added.
    only(&named.all).or_else(|| only(named.by_namespace.get(&namespace)?))
}

/// Returns the objects of the file that may be the source of a rendered object, by their names.
fn candidates<'t>(
    original: &'t Original,
    object: NodeRef<'_>,
    hint: &OriginHint,
) -> Vec<(&'t str, &'t Named)> {
    let [_, kind, _, name] = name_of(object);
    let of_name = |kind: &str, name: &str| {
        let named = original.kind(kind).and_then(|names| names.get(name));
        named.into_iter().collect()
    };
    match hint {
        OriginHint::Resource {
            original: Some((kind, name)),
            ..
        } => of_name(kind, name),
        // Longer names are not valid.
        OriginHint::Resource { .. } if name.len() > LONGEST_NAME => Vec::new(),
        OriginHint::Resource { .. } => {
            let names = original.kind(&kind);
            names.map(|names| names.parts_of(&name)).unwrap_or_default()
        }
        _ => of_name(&kind, &name),
    }
}

/// Returns the number of the document from which the object comes, according to the hint.
const fn document(hint: &OriginHint) -> Option<usize> {
    match hint {
        OriginHint::Package { index, .. } => *index,
        _ => None,
    }
}

/// Origin of an object.
#[derive(Clone, Debug)]
pub(in crate::source) struct Origin {
    /// The path as shown to the user.
    pub(super) path: Arc<str>,
    /// The file, if it was found.
    pub(super) file: Option<Arc<Original>>,
    pub(super) hint: OriginHint,
}

/// Origins of one file, by the number of the document and the number of the object in it.
#[derive(Debug)]
pub(in crate::source) struct Origins(BTreeMap<(usize, usize), Origin>);

impl Origins {
    /// Creates the index; `None` without origins.
    pub(in crate::source) fn new(origins: BTreeMap<(usize, usize), Origin>) -> Option<Self> {
        (!origins.is_empty()).then_some(Self(origins))
    }
}

impl OriginIndex for Origins {
    fn source_of(&self, documents: &[Document], objects: &Objects, span: Span) -> Option<Source> {
        let document = documents
            .partition_point(|document| document.segment.start <= span.start)
            .checked_sub(1)?;
        let (object, count) = objects.around(documents, document, span);
        // The span may be outside of the only object of its document.
        let number = object
            .map(|(number, _)| number)
            .or((count < 2).then_some(0))?;
        let origin = self.0.get(&(document, number))?;
        Some(Source {
            path: Arc::clone(&origin.path),
            place: object.and_then(|(_, object)| origin.place(object, span)),
        })
    }
}

impl Origin {
    /// Returns the start and the end of the same field in the original file.
    fn place(&self, object: NodeRef<'_>, span: Span) -> Option<(Position, Position)> {
        let original = self.file.as_deref()?;
        let file = &original.file;
        let path = template::to(object, span)?;
        let found = if self.hint.is_template() && original.is_template {
            original.template()?.find(&file.text, &path)?
        } else {
            find(original, object, &self.hint, &path)?
        };
        Some((file.position(found.start), file.position(found.end)))
    }
}
