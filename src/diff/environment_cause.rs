//! The line that makes a handler leave an environment, or enter it.

use std::sync::Arc;

use crate::finding::{Label, environment_file};
use crate::source::{is_kustomization, paths};
use crate::yaml::Span;

use super::cause::{Cause, Causes, Side};
use super::included::{deploying_objects, entries_to, lists};
use super::lines::Lines;
use super::probe_state::ProbeState;
use super::state::{below_root, shown_path};

impl Causes<'_> {
    /// Returns the cause that the environment of a handler deploys it in only one state: its file, the entry of a
    /// kustomization, or the deploying object that only this state has.
    pub(super) fn of_environment(&mut self, probe: &ProbeState, side: Side) -> Cause {
        let (own, other) = self.sides(side);
        let title = probe.environment_title();
        if let Some(place) = own_file(probe, own, other) {
            let message = match side {
                Side::Before => "the environment that deploys the workload is removed",
                Side::After => "the environment that deploys the workload is new",
            };
            return Cause::at(&place, message, side);
        }
        let message = match (&title, side) {
            (Some(title), Side::Before) => {
                format!("`{title}` does not deploy the workload any more")
            }
            (Some(title), Side::After) => format!("`{title}` deploys the workload now"),
            (None, Side::Before) => "nothing deploys the workload any more".to_owned(),
            (None, Side::After) => "the workload is deployed now".to_owned(),
        };
        match own_line(probe, own, other) {
            Some(place) => {
                let of_base = base_message(probe, &place, own.root(), side);
                Cause::at(&place, &of_base.unwrap_or(message), side)
            }
            None => Cause {
                is_unchanged: true,
                ..Cause::at(&environment_place(probe, own), &message, side)
            },
        }
    }

    /// Returns the cause that another environment deploys a handler than before.
    pub(super) fn of_move(&mut self, old: &ProbeState, new: &ProbeState) -> Cause {
        let cause = self.of_environment(old, Side::Before);
        let titles = old.environment_title().zip(new.environment_title());
        match titles {
            Some((old, new)) => Cause {
                message: format!("`{new}` deploys the workload now, and `{old}` does not any more"),
                ..cause
            },
            None => cause,
        }
    }
}

/// Returns the start of the file of the environment or the deploying object, if only one state has it.
fn own_file(probe: &ProbeState, own: &Lines<'_>, other: &Lines<'_>) -> Option<Label> {
    let environment = probe.id.environment.as_deref().map(environment_file);
    let deployer = probe.deployer.as_deref();
    let mut files = environment.into_iter().chain(deployer);
    files.find_map(|path| own.start_of_own_file(path, other))
}

/// Returns the message for an entry of a base, which several environments can include; `None` for another line.
fn base_message(probe: &ProbeState, place: &Label, root: &str, side: Side) -> Option<String> {
    let is_base = is_kustomization(&place.path) && probe.rendered_by.as_ref() != Some(&place.path);
    let path = below_root(&place.path, root);
    let folder = paths::folder(path).trim_end_matches('/');
    let name = if folder.is_empty() { path } else { folder };
    is_base.then(|| match side {
        Side::Before => format!("`{name}` does not include the workload any more"),
        Side::After => format!("`{name}` includes the workload now"),
    })
}

/// Returns the entry of a kustomization, or the name of a deploying object, that only one state has. If all lines of entries
/// are in both states, it is the entry that kustomize does not read in the other one, such as below a misspelt field.
fn own_line(probe: &ProbeState, own: &mut Lines<'_>, other: &mut Lines<'_>) -> Option<Label> {
    let set = own.set();
    let file = shown_path(own.root(), &probe.file);
    let root = probe.rendered_by.as_deref();
    let entries = root.map(|root| entries_to(set, root, &file));
    let entries = entries.unwrap_or_default();
    let deployer = probe.deployer.as_deref();
    let deployer = deployer.and_then(|path| set.file(&shown_path(own.root(), path)));
    let objects = deployer.into_iter().flat_map(deploying_objects);
    let labels = entries.iter().map(|(label, _)| label.clone());
    let changed = labels
        .chain(objects)
        .find(|place| own.has_more(place, other));
    let in_other = |path: &str| shown_path(other.root(), below_root(path, own.root()));
    let is_read = |(label, target): &&(Label, Arc<str>)| {
        lists(other.set(), &in_other(&label.path), &in_other(target))
    };
    changed.or_else(|| {
        let unread = entries.iter().find(|entry| !is_read(entry));
        unread.map(|(label, _)| label.clone())
    })
}

/// Returns the start of the file of the environment, or else the line of the handler.
fn environment_place(probe: &ProbeState, own: &Lines<'_>) -> Label {
    let environment = probe.id.environment.as_deref().map(environment_file);
    let path = probe.deployer.as_deref().or(environment);
    let path = path.map(|path| shown_path(own.root(), path));
    let file = path.and_then(|path| own.set().file(&path));
    file.map_or_else(
        || probe.place.clone(),
        |file| Label {
            path: Arc::clone(&file.path),
            span: Span::new(0, 0),
            message: String::new(),
        },
    )
}
