//! The line that makes a handler leave or enter an environment, and the entries by which kustomizations include files.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::gitops::changed_files::{names_in, text_nodes};
use meshprobe_deploy::gitops::deployed_folder;
use meshprobe_deploy::gitops::deployment::named_paths;
use meshprobe_deploy::kustomize::locate::Closure;
use meshprobe_deploy::kustomize::locate::{Located, folder_of, locate};
use meshprobe_mesh::finding::{Label, environment_file};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization, paths};
use meshprobe_yaml::Span;

use super::cause::{Cause, Causes, NOT_FOUND, spec_of};
use super::class::Side;
use super::probe_state::ProbeState;
use super::state::below_root;
use super::text_diff::{Strength, TextDiff};

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

impl<'a> Causes<'a> {
    /// Returns the changed line by which a kustomization includes a file, or by which an object of Flux or Argo CD deploys
    /// it. `root` is the kustomization that is searched first.
    pub(super) fn changed_entry(
        &mut self,
        side: Side,
        root: Option<&Arc<str>>,
        file: &Arc<str>,
    ) -> Option<Label> {
        let key = (side, root.cloned(), Arc::clone(file));
        if let Some(known) = self.entries.get(&key) {
            return known.clone();
        }
        let found = changed_entry(self.diff(), side, root, file);
        self.entries.insert(key, found.clone());
        found
    }

    /// Returns the kustomizations that render a workload.
    pub(super) fn kustomizations_of(&self, side: Side, state: &ProbeState) -> Vec<&'a SourceFile> {
        let set = self.diff().set(side);
        let root = state.rendered_by.as_ref().and_then(|path| set.file(path));
        let closure = root.map(|root| Closure::of(set, root)).unwrap_or_default();
        let paths = closure.kustomizations.iter();
        paths.filter_map(|path| set.file(path)).collect()
    }

    /// Returns the file with the object of Flux or Argo CD that deploys a workload: the parts that are not metadata.
    pub(super) fn deployer_of(
        &self,
        side: Side,
        state: &ProbeState,
    ) -> impl Iterator<Item = (&'a SourceFile, Span)> + use<'a> {
        let path = state.deployer.as_ref();
        let path = path.map(|path| self.diff().shown(side, path));
        let file = path.and_then(|path| self.diff().set(side).file(&path));
        file.into_iter().flat_map(|file| {
            let specs = file.documents.iter().filter_map(spec_of);
            specs.map(move |spec| (file, spec))
        })
    }
}

fn changed_entry(
    diff: &TextDiff<'_>,
    side: Side,
    root: Option<&Arc<str>>,
    wanted: &str,
) -> Option<Label> {
    let set = diff.set(side);
    let is_changed = |label: &Label| diff.line_of(side, label, Strength::Moved).is_some();
    let others = diff.files(side).map(|file| &file.path);
    let others = others.filter(|path| is_kustomization(path));
    let mut roots = root.into_iter().chain(others);
    let entry = roots.find_map(|root| {
        let mut entries = entries_to(set, root, wanted).into_iter();
        entries.find(is_changed)
    });
    entry.or_else(|| {
        let mut files = diff.files(side);
        files.find_map(|file| changed_deployment(diff, side, file, wanted))
    })
}

/// Returns the name of an object of Flux or Argo CD that deploys the folder of a file, or the only changed line of the object
/// if its name is not changed.
fn changed_deployment(
    diff: &TextDiff<'_>,
    side: Side,
    file: &SourceFile,
    wanted: &str,
) -> Option<Label> {
    let other = side.other();
    let other_wanted = diff.path_in_other(side, wanted);
    let other_file = diff.set(other).file(&diff.path_in_other(side, &file.path));
    file.documents.iter().find_map(|document| {
        let objects = Object::all_in(document);
        let mut objects = objects.iter();
        let object = objects.find(|object| deploys(diff.set(side), object, wanted))?;
        let is_same =
            |found: &Object<'_>| found.kind == object.kind && found.name() == object.name();
        let documents = other_file.into_iter().flat_map(|file| &file.documents);
        // Other fields of the object do not include the file.
        if documents
            .flat_map(Object::all_in)
            .any(|found| is_same(&found) && deploys(diff.set(other), &found, &other_wanted))
        {
            return None;
        }
        let name = object.label_at(object.name_span(), "");
        diff.line_of(side, &name, Strength::Moved)
            .or_else(|| Some(diff.only_line([(side, file, spec_of(document)?)])?.0))
    })
}

/// Returns whether an object of Flux or Argo CD deploys the folder of a file.
fn deploys(set: &SourceSet, object: &Object<'_>, wanted: &str) -> bool {
    named_paths(object).iter().any(|path| {
        let parts = deployed_folder::parts(path);
        let folder = parts.and_then(|parts| deployed_folder::resolve(set, object.path(), &parts));
        folder.is_some_and(|folder| paths::contains(&folder, wanted))
    })
}

/// Returns the entries by which the kustomization `root` includes a file, from the root to the file; empty if it does not
/// include the file. All paths are those that are shown to the user.
fn entries_to(set: &SourceSet, root: &str, wanted: &str) -> Vec<Label> {
    let Some(root) = set.file(root) else {
        return Vec::new();
    };
    // How each file was reached first.
    let mut reached: HashMap<&str, (&str, Label)> = HashMap::new();
    let mut pending = VecDeque::from([root]);
    while let Some(kustomization) = pending.pop_front() {
        for (target, label) in entries(set, kustomization) {
            let path = &*target.path;
            if path == &*root.path || reached.contains_key(path) {
                continue;
            }
            reached.insert(path, (&kustomization.path, label));
            if is_kustomization(path) {
                pending.push_back(target);
            }
        }
        if reached.contains_key(wanted) {
            break;
        }
    }
    let mut found = Vec::new();
    let mut at = wanted;
    while let Some((from, label)) = reached.get(at) {
        found.push(label.clone());
        at = from;
    }
    found.reverse();
    found
}

/// Returns the files and kustomizations that a kustomization names in any of its fields, each with the text that names it.
fn entries<'s>(
    set: &'s SourceSet,
    kustomization: &'s SourceFile,
) -> impl Iterator<Item = (&'s SourceFile, Label)> {
    let folder = folder_of(&kustomization.path);
    text_nodes(kustomization).flat_map(move |(text, node)| {
        names_in(text).filter_map(move |entry| match locate(set, folder, entry) {
            Located::File(file) | Located::Kustomization(file) => {
                let label = Label {
                    path: Arc::clone(&kustomization.path),
                    span: node.span(),
                    message: String::new(),
                };
                Some((file, label))
            }
            Located::Folder | Located::Remote | Located::Missing => None,
        })
    })
}
