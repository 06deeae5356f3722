//! The line that makes a handler leave an environment, or enter it.

use std::sync::Arc;

use crate::finding::Label;
use crate::yaml::Span;

use super::cause::{Cause, Causes, Side};
use super::included::{deploying_objects, entries_to};
use super::lines::Lines;
use super::probe_state::ProbeState;
use super::state::shown_path;

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
            Some(place) => Cause::at(&place, &message, side),
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
    let environment = probe.id.environment.as_deref();
    let deployer = probe.deployer.as_deref();
    let mut files = environment.into_iter().chain(deployer);
    files.find_map(|path| own.start_of_own_file(path, other))
}

/// Returns the entry of a kustomization, or the name of a deploying object, that only one state has.
fn own_line(probe: &ProbeState, own: &mut Lines<'_>, other: &mut Lines<'_>) -> Option<Label> {
    let set = own.set();
    let file = shown_path(own.root(), &probe.file);
    let root = probe.rendered_by.as_deref();
    let entries = root.map(|root| entries_to(set, root, &file));
    let deployer = probe.deployer.as_deref();
    let deployer = deployer.and_then(|path| set.file(&shown_path(own.root(), path)));
    let objects = deployer.into_iter().flat_map(deploying_objects);
    let mut places = entries.into_iter().flatten().chain(objects);
    places.find(|place| own.has_more(place, other))
}

/// Returns the start of the file of the environment, or else the line of the handler.
fn environment_place(probe: &ProbeState, own: &Lines<'_>) -> Label {
    let path = probe.deployer.as_ref().or(probe.id.environment.as_ref());
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
