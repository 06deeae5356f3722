//! What Flux and Argo CD make of the folders that they deploy.
//!
//! Both write what their object says into the kustomization of the folder before they build it:
//! patches and components are added to those that are there, a namespace or a prefix takes the
//! place of the one there. Flux makes up a kustomization of all manifests where there is none.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::kube::Object;
use crate::source::{Document, SourceFile, SourceSet, is_kustomization, place};
use crate::yaml::Span;

use super::super::complete::{Complete, complete, has_complete};
use super::super::deployment::{self, Deployment, Dialect};
use super::application_set;
use super::budget::{self, Budget};
use super::copies;
use super::gather::{Gathered, Gatherer};
use super::kustomization::Kustomization;
use super::limit::{Limit, ROUNDS};
use super::locate::{self, Located};
use super::post_build;
use super::resource::Resource;
use super::roots::{self, Group};
use super::unapplied::unapplied;
use super::{Deployed, Rendering, finish};

/// Renders all kustomizations of a set that nothing else takes in, and what deploying objects
/// make of their folders.
pub(super) fn render(
    sources: &SourceSet,
    is_wanted: &(impl Fn(&Resource) -> bool + Sync),
) -> Vec<Rendering> {
    let (mut own, mut gatherer, budget) = own(sources, is_wanted);
    let mut sets = application_set::Sets::of(sources, &budget);
    let mut generated: Vec<Arc<Rendering>> = Vec::new();
    let mentions =
        |file: &&SourceFile| file.text.contains("fluxcd.io/") || file.text.contains("argoproj.io/");
    let files: Vec<&SourceFile> = sources.files.iter().filter(mentions).collect();
    let mut made: Vec<Rendering> = Vec::new();
    let mut taken: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut before: Vec<Key> = Vec::new();
    for round in 0..=ROUNDS {
        let left = own.iter().filter(|one| !taken.contains(&one.root));
        let before_these = generated.iter().map(|one| &**one);
        let objects = deploying(&files, left.chain(&made).chain(before_these).collect());
        let expanded = sets.expand(&objects);
        let applications = expanded.iter().flat_map(|one| one.objects());
        let objects: Vec<Object<'_>> = objects.iter().cloned().chain(applications).collect();
        let all = deployment::all(sources, objects.iter());
        let wanted = to_render(sources, &own, &all);
        let keys: Vec<Key> = wanted.iter().map(|one| key(one)).collect();
        let is_done = keys == before;
        if is_done || round == ROUNDS {
            let mut left_out = copies::beyond_memory(sources, &budget, &own, &all, &wanted);
            if is_done {
                generated = expanded;
            } else {
                left_out.extend(beyond_rounds(&wanted, &keys, &before));
            }
            made.extend(left_out);
            break;
        }
        let mut next = Vec::with_capacity(wanted.len());
        let mut entered = BTreeSet::new();
        let folders: BTreeSet<&str> = all.iter().map(|one| one.folder.as_str()).collect();
        for one in &wanted {
            let (rendering, inside) =
                of_deployment(sources, &mut gatherer, one, &folders, is_wanted);
            entered.extend(inside);
            next.push(rendering);
        }
        generated = expanded;
        for replaced in std::mem::replace(&mut made, next) {
            budget.release(replaced.held);
        }
        taken = entered;
        before = keys;
    }
    drop(sets);
    gatherer.clear();
    own.retain(|one| !taken.contains(&one.root));
    own.extend(made);
    own.extend(generated.into_iter().map(Arc::unwrap_or_clone));
    own
}

/// Renders the kustomizations that nothing else takes in, groups of them side by side; also returns what later
/// renderings may hold.
fn own<'s>(
    sources: &'s SourceSet,
    is_wanted: &(impl Fn(&Resource) -> bool + Sync),
) -> (Vec<Rendering>, Gatherer<'s>, Arc<Budget>) {
    let groups = roots::groups(sources);
    let all: usize = groups.iter().map(|group| group.size).sum();
    let render = |group: &Group, budget: &Arc<Budget>| {
        let mut gatherer = Gatherer::for_share(sources, Arc::clone(budget), group.size, all);
        let each = group.roots.iter().map(|root| {
            let gathered = gatherer.root(root);
            finish(
                sources,
                budget,
                Arc::clone(root),
                None,
                &gathered,
                is_wanted,
            )
        });
        let renderings: Vec<Rendering> = each.collect();
        (renderings, gatherer)
    };
    let attempt = Arc::new(budget::of(sources).attempt());
    let mut rendered: Vec<_> = groups
        .par_iter()
        .map(|group| render(group, &attempt))
        .collect();
    let mut budget = Arc::new(attempt.settled());
    if attempt.is_exceeded() {
        // What fits must not depend on which thread is faster: one after the other.
        rendered = Vec::new();
        budget = Arc::new(budget::of(sources));
        for group in &groups {
            rendered.push(render(group, &budget));
        }
    }
    let mut gatherer = Gatherer::new(sources, Arc::clone(&budget));
    let mut own = Vec::new();
    for (renderings, other) in rendered {
        own.extend(renderings);
        gatherer.take_over(other);
    }
    own.sort_by(|a, b| a.root.cmp(&b.root));
    (own, gatherer, budget)
}

/// Returns renderings without objects for the deployments that are new in the last round, and not followed.
fn beyond_rounds(wanted: &[&Deployment<'_>], keys: &[Key], before: &[Key]) -> Vec<Rendering> {
    let known: BTreeSet<&Key> = before.iter().collect();
    let all = wanted.iter().zip(keys);
    let new = all.filter(|(_, key)| !known.contains(key));
    new.map(|(one, _)| {
        let root = Arc::clone(one.object.path());
        Rendering::without_objects(root, None, Limit::Rounds)
    })
    .collect()
}

/// What a deployment is known by from round to round.
type Key = (Arc<str>, usize, String, String);

fn key(one: &Deployment<'_>) -> Key {
    let edit = one.edit.map(|edit| edit.source().to_owned());
    (
        Arc::clone(one.object.path()),
        one.object.document.index,
        one.folder.clone(),
        edit.unwrap_or_default(),
    )
}

/// Returns the objects that deploy something, as they come out of the renderings, and those of
/// `files` that no rendering takes in. A complete object that kustomizations only delete, or name as a patch of nothing
/// that is rendered, is deployed in another way.
fn deploying<'t>(files: &[&'t SourceFile], renderings: Vec<&'t Rendering>) -> Vec<Object<'t>> {
    let mut used: HashSet<(&str, usize)> = HashSet::new();
    let mut rendered: HashSet<(&str, usize)> = HashSet::new();
    for one in &renderings {
        let taken_in = one.used.iter().map(|(path, index)| (&**path, *index));
        used.extend(taken_in.clone());
        rendered.extend(one.documents.iter().map(|one| key_of(&one.document)));
        // What was left out may be anything.
        rendered.extend(taken_in.filter(|_| one.left_out.is_some()));
    }
    let is_complete = |object: &Object<'_>| complete(object) == Some(Complete::Deploying);
    let documents = files.iter().flat_map(|file| &file.documents);
    let (mut patches, others): (Vec<&Document>, Vec<&Document>) =
        documents.partition(|document| document.patch);
    patches.retain(|document| !used.contains(&key_of(document)) && has_complete(document));
    let (dropped, plain): (Vec<&Document>, Vec<&Document>) = others
        .into_iter()
        .partition(|document| used.contains(&key_of(document)));
    let dropped = dropped
        .into_iter()
        .filter(|document| !rendered.contains(&key_of(document)));
    let named = unapplied(patches, renderings.iter().copied());
    let named = named.into_iter().chain(dropped);
    let named = named.flat_map(Object::all_in).filter(is_complete);
    let rendered = renderings.into_iter();
    let rendered = rendered.flat_map(|one| one.objects_among(|one| one.may_deploy));
    let plain = plain.into_iter().flat_map(Object::all_in);
    plain
        .chain(named)
        .chain(rendered)
        .filter(|object| {
            matches!(
                object.group(),
                "kustomize.toolkit.fluxcd.io" | "argoproj.io"
            )
        })
        .collect()
}

fn key_of(document: &Document) -> (&str, usize) {
    (&document.path, document.index)
}

/// Returns the deployments that change something, all others of their folders, and those of
/// bases, which nothing else renders by themselves.
fn to_render<'a, 't>(
    sources: &SourceSet,
    own: &[Rendering],
    all: &'a [Deployment<'t>],
) -> Vec<&'a Deployment<'t>> {
    let roots: HashSet<&str> = own.iter().map(|root| &*root.root).collect();
    let is_base = |one: &Deployment<'_>| {
        let file = sources.kustomization_in(&one.folder);
        file.is_some_and(|file| !roots.contains(&*file.path))
    };
    let folders: BTreeSet<&str> = all
        .iter()
        .filter(|one| one.edit.is_some() || is_base(one) || overrides(sources, one).is_some())
        .map(|one| one.folder.as_str())
        .collect();
    // One object that several others deploy comes back in each of them, and says the same.
    let mut seen = BTreeSet::new();
    all.iter()
        .filter(|one| folders.contains(one.folder.as_str()) && seen.insert(key(one)))
        .collect()
}

/// Returns the file of Argo CD that overrides parameters of what is deployed, if there is one.
///
/// Source: Argo CD, `docs/user-guide/parameters.md` and `reposerver/repository/repository.go`
/// (`mergeSourceParameters`).
fn overrides<'s>(sources: &'s SourceSet, one: &Deployment<'_>) -> Option<&'s SourceFile> {
    let is_built = one.dialect == Dialect::Argo && sources.kustomization_in(&one.folder).is_some();
    let names = [
        ".argocd-source.yaml".to_owned(),
        format!(".argocd-source-{}.yaml", one.object.name()),
    ];
    let mut names = names.iter().filter(|_| is_built);
    names.find_map(|name| sources.file(&sources.joined(&one.folder, name)))
}

/// Renders what one object deploys; also returns the kustomizations that it takes in.
fn of_deployment<'s>(
    sources: &'s SourceSet,
    gatherer: &mut Gatherer<'s>,
    one: &Deployment<'_>,
    folders: &BTreeSet<&str>,
    is_wanted: &impl Fn(&Resource) -> bool,
) -> (Rendering, Vec<Arc<str>>) {
    let file = sources.kustomization_in(&one.folder);
    let entries = match file {
        Some(_) => Vec::new(),
        None => manifests(sources, &one.folder, folders),
    };
    let edit = Kustomization {
        path: one.object.path(),
        // Without fields of its own it says nothing.
        root: one.edit.unwrap_or(one.object.node),
        folder: &one.folder,
        provenance: one.object.provenance,
        dialect: one.dialect,
    };
    let mut gathered: Gathered = match (one.edit, file) {
        (None, Some(file)) => gatherer.deployed_as_it_is(file),
        _ => gatherer.deployed(file, &edit, &entries),
    };
    if let Some(file) = overrides(sources, one) {
        let at = Span::empty(edit.root.span().start);
        let path = &file.path;
        let message = format!("`{path}` is not modelled: what its parameters change is not seen");
        gathered.tell(&edit, at, message);
        gathered.doubt_told(&edit, at);
    }
    if one.dialect == Dialect::Flux && one.edit.is_some() {
        post_build::apply(&edit, &mut gathered);
    }
    let inside = entries.iter().filter_map(|entry| match entry {
        Located::Kustomization(file) => Some(Arc::clone(&file.path)),
        _ => None,
    });
    let components = locate::strings(edit.root, "components");
    let components = components.into_iter().filter_map(|(entry, _)| {
        match locate::locate(sources, &one.folder, entry) {
            Located::Kustomization(file) => Some(Arc::clone(&file.path)),
            _ => None,
        }
    });
    let taken = inside
        .chain(components.filter(|_| one.edit.is_some()))
        .chain(file.map(|file| Arc::clone(&file.path)))
        .collect();
    let path = one.object.path();
    let deployed = Deployed {
        file: Arc::clone(path),
        folder: one.folder.clone(),
        build: build(one),
        destination: one.destination.as_ref().map(|to| {
            let place = (Arc::clone(&to.path), to.span);
            (to.namespace.to_owned(), place)
        }),
    };
    let root = file.map_or(path, |file| &file.path);
    let root = Arc::clone(root);
    let budget = gatherer.budget();
    let rendering = finish(sources, budget, root, Some(deployed), &gathered, is_wanted);
    (rendering, taken)
}

/// The command that shows what the object deploys.
pub(super) fn build(one: &Deployment<'_>) -> String {
    let (name, file) = (one.object.name(), one.object.path());
    let folder = match one.folder.as_str() {
        "" => ".",
        folder => folder,
    };
    if one.dialect == Dialect::Argo {
        return format!("argocd app manifests {name} --local {folder}");
    }
    format!("flux build kustomization {name} --path {folder} --kustomization-file {file} --dry-run")
}

/// Lists what Flux puts into the kustomization that it makes up: all manifests, and in place of
/// a folder with a kustomization that one. What another object deploys is left to it.
fn manifests<'s>(sources: &'s SourceSet, top: &str, deployed: &BTreeSet<&str>) -> Vec<Located<'s>> {
    let files: Vec<&SourceFile> = sources.files_in(top).collect();
    let built: BTreeSet<&str> = files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .map(|file| locate::folder_of(&file.path))
        .collect();
    let height = place::height(&format!("{top}/"));
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let mut folders: Vec<String> = place::folders(&file.path, height)
            .take_while(|folder| folder != top)
            .collect();
        folders.reverse();
        let stop = folders
            .into_iter()
            .find(|folder| deployed.contains(&**folder) || built.contains(&**folder));
        match stop {
            Some(folder) if deployed.contains(&*folder) => {}
            Some(folder) => {
                let found = sources
                    .kustomization_in(&folder)
                    .filter(|_| seen.insert(folder));
                entries.extend(found.map(Located::Kustomization));
            }
            None if is_manifest(file) => entries.push(Located::File(file)),
            None => {}
        }
    }
    entries
}

fn is_manifest(file: &SourceFile) -> bool {
    let is_yaml = file.path.ends_with(".yaml") || file.path.ends_with(".yml");
    let mut documents = file.documents.iter();
    is_yaml && documents.any(|document| document.tree().is_some() && !document.patch)
}
