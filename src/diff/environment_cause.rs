//! The line that makes a handler leave an environment, or enter it.

use std::sync::Arc;

use meshprobe_mesh::finding::{Label, environment_file};
use meshprobe_tree::source::{SourceFile, is_kustomization, paths};
use meshprobe_yaml::Span;

use super::cause::{Cause, Causes, NOT_FOUND, spec_of};
use super::probe_state::ProbeState;
use super::side::Side;
use super::state::below_root;

impl<'a> Causes<'a> {
    /// Returns the cause that the environment of a handler deploys it in only one state: its file, the entry of a
    /// kustomization, or the deploying object that only this state has, else another changed line of these files.
    pub(super) fn of_environment(&mut self, probe: &ProbeState, side: Side) -> Cause {
        let environment = probe.id.environment.as_deref().map(environment_file);
        let mut files = environment.into_iter().chain(probe.deployer.as_deref());
        if let Some(place) = files.find_map(|path| self.diff().first_of_own_file(side, path)) {
            let message = match side {
                Side::Before => "the environment that deploys the workload is removed",
                Side::After => "the environment that deploys the workload is new",
            };
            return Cause::at(place, message, side);
        }
        let message = match (&probe.environment_title(), side) {
            (Some(title), Side::Before) => {
                format!("`{title}` does not deploy the workload any more")
            }
            (Some(title), Side::After) => format!("`{title}` deploys the workload now"),
            (None, Side::Before) => "nothing deploys the workload any more".to_owned(),
            (None, Side::After) => "the workload is deployed now".to_owned(),
        };
        let file = Arc::from(self.diff().shown(side, &probe.file));
        let place = self.changed_entry(side, probe.rendered_by.as_ref(), &file);
        let place = place.map(|place| (place, side));
        match place.or_else(|| self.changed_line_of_environment(probe, side)) {
            Some((place, line_side)) => {
                let root = self.diff().root(line_side);
                let of_base = base_message(probe, &place, root, side);
                Cause::at(place, of_base.unwrap_or(message), line_side)
            }
            None => Cause::without_line(format!("{message}; {NOT_FOUND}")),
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

    /// Returns the only changed line of the kustomizations of an environment and of the file with the deploying object, in
    /// both states.
    fn changed_line_of_environment(&self, probe: &ProbeState, side: Side) -> Option<(Label, Side)> {
        let diff = self.diff();
        let kustomizations = self.kustomizations_of(side, probe).into_iter();
        let whole = |file: &'a SourceFile| (file, Span::new(0, file.text.len()));
        let own: Vec<(&SourceFile, Span)> = kustomizations
            .map(whole)
            .chain(self.deployer_of(side, probe))
            .collect();
        let others = own.iter().filter_map(|(file, _)| {
            let path = diff.path_in_other(side, &file.path);
            diff.set(side.other()).file(&path)
        });
        let others = others.flat_map(|file| {
            let specs: Vec<Span> = match is_kustomization(&file.path) {
                true => vec![Span::new(0, file.text.len())],
                false => file.documents.iter().filter_map(spec_of).collect(),
            };
            specs
                .into_iter()
                .map(move |span| (side.other(), file, span))
        });
        let own = own.iter().map(|(file, span)| (side, *file, *span));
        diff.only_line(own.chain(others))
    }
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
