//! Replaces workloads whose pods have changed, and keeps all facts.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::NodeRef;

use crate::context::inventory::states_no_fact;
use crate::context::run_context::Context;

impl<'t> Context<'t> {
    /// Replaces the files by those of a later state, and the workloads of these objects by those of that state. Returns the
    /// positions of the replaced workloads.
    ///
    /// All other facts stay as they are: see [`is_interchangeable`]. Returns `None` and changes nothing if it is not clear
    /// which workload an object replaces.
    pub fn replace_workloads(
        &mut self,
        sources: &'t SourceSet,
        objects: &[Object<'t>],
    ) -> Option<Vec<usize>> {
        let inventory = Arc::get_mut(&mut self.inventory)?;
        let mut replaced = Vec::new();
        let mut by_file: HashMap<&str, Vec<&Object<'t>>> = HashMap::new();
        for object in objects {
            by_file.entry(object.path()).or_default().push(object);
        }
        for (at, subject) in inventory.workloads.iter().enumerate() {
            let old = &subject.workload.object;
            let of_file = by_file.get(&**old.path()).into_iter().flatten();
            let mut same = of_file.filter(|new| is_same_place(old, new));
            let Some(new) = same.next() else { continue };
            if same.next().is_some() {
                return None;
            }
            let object = replacing(old, new);
            replaced.push((at, Workload::from_object(&object)?));
        }
        let positions = replaced.iter().map(|(at, _)| *at).collect();
        for (at, workload) in replaced {
            if let Some(subject) = inventory.workloads.get_mut(at) {
                subject.workload = workload;
            }
        }
        self.sources = sources;
        Some(positions)
    }
}

/// Returns the object that replaces another one at its place. Where an object is deployed does not depend on its content.
pub(super) fn replacing<'t>(old: &Object<'t>, new: &Object<'t>) -> Object<'t> {
    Object {
        location_file: old.location_file,
        rendered_by: old.rendered_by,
        overlay: old.overlay.clone(),
        destination: old.destination.clone(),
        cluster: old.cluster.clone(),
        ..new.clone()
    }
}

/// Returns whether two objects are those of one place in two states of the files.
pub(super) fn is_same_place(old: &Object<'_>, new: &Object<'_>) -> bool {
    old.document.index == new.document.index
        && old.path() == new.path()
        && old.rendered_by == new.rendered_by
        && (old.kind, old.name()) == (new.kind, new.name())
        && old.namespace() == new.namespace()
        && old.route == new.route
        && old.source_item == new.source_item
}

/// Returns whether an object can be replaced by one of another state without a change to any fact, and to what other objects
/// see of it: both are workloads and nothing else, with the same identity and the same labels.
pub fn is_interchangeable(old: &Object<'_>, new: &Object<'_>) -> bool {
    if !is_same_place(old, new) || old.api_version != new.api_version {
        return false;
    }
    if !states_no_fact(old) || !states_no_fact(new) {
        return false;
    }
    let workloads = Workload::from_object(old).zip(Workload::from_object(new));
    let own = |object: &Object<'_>| texts(object.metadata().and_then(|m| m.get("labels")));
    workloads.is_some_and(|(before, after)| {
        own(old) == own(new) && texts(before.template.labels()) == texts(after.template.labels())
    })
}

/// Returns the texts of a mapping, as written and as read.
fn texts(mapping: Option<NodeRef<'_>>) -> Vec<(String, String, String)> {
    let read = |node: NodeRef<'_>| node.text().unwrap_or_default().to_owned();
    let entries = mapping.into_iter().flat_map(NodeRef::entries);
    entries
        .map(|entry| {
            let written = entry.value.span().slice(entry.value.tree().text());
            (read(entry.key), read(entry.value), written.to_owned())
        })
        .collect()
}
