//! Members of collections, which are read from a document when they are needed.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use meshprobe_yaml::{NodeRef, Tree};

/// Members of a collection. Those of a document are read when they are first needed.
#[derive(Clone, Debug)]
pub(crate) struct Members<T> {
    /// The members, unless there is a source.
    own: Vec<T>,
    /// The collection of a document that has the members. A change of a member is a change of the collection.
    pub(crate) source: Option<Source>,
    /// The members of the source.
    read: OnceLock<Vec<T>>,
}

/// Collection of a document without anchors, merge keys and duplicate keys.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) tree: Arc<Tree>,
    pub(crate) id: u32,
    /// The file.
    pub(crate) path: Arc<str>,
}

impl<T> From<Vec<T>> for Members<T> {
    fn from(members: Vec<T>) -> Self {
        Self {
            own: members,
            source: None,
            read: OnceLock::new(),
        }
    }
}

impl<T> From<Source> for Members<T> {
    fn from(source: Source) -> Self {
        Self {
            own: Vec::new(),
            source: Some(source),
            read: OnceLock::new(),
        }
    }
}

impl<T: Member> Deref for Members<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        match &self.source {
            Some(source) => self.read.get_or_init(|| members(source)),
            None => &self.own,
        }
    }
}

impl<T: Member> DerefMut for Members<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        if let Some(source) = self.source.take() {
            self.own = self.read.take().unwrap_or_else(|| members(&source));
        }
        &mut self.own
    }
}

/// Member of a collection of a document.
pub(crate) trait Member: Clone + Sized {
    /// Reads the members of a collection.
    fn read(collection: NodeRef<'_>, source: &Source) -> Vec<Self>;
}

/// Reads the members of a collection.
fn members<T: Member>(source: &Source) -> Vec<T> {
    let collection = source.tree.node(source.id);
    collection
        .map(|collection| T::read(collection, source))
        .unwrap_or_default()
}
