//! Rendering of the folders that Flux and Argo CD deploy.
//!
//! Both write the settings of their object into the kustomization of the folder before they build it:
//! they append patches and components, and replace a namespace or a prefix. If there is no
//! kustomization, Flux generates one with all manifests.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_mesh::kube::{Object, RenderingId};
use meshprobe_tree::source::limits::{NESTED_DEPLOYMENTS, ValueCount};
use meshprobe_tree::source::{
    Cluster, Document, ListRole, SourceFile, SourceSet, is_kustomization, paths,
};
use meshprobe_yaml::{NodeRef, Span};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::gitops::configs::{self, Configs, Siblings};
use crate::gitops::deployment::Deployment;
use crate::gitops::deployment::{deployed, id};
use crate::gitops::post_build::Variables;
use crate::gitops::repositories::Repositories;
use crate::gitops::reuse::Reuse;
use crate::gitops::{application_set, clusters, copies, post_build};
use crate::kustomize::accumulator::Accumulator;
use crate::kustomize::builder::Builder;
use crate::kustomize::complete::{Complete, complete, has_complete};
use crate::kustomize::finish::finish;
use crate::kustomize::kustomization::Dialect;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::limit::{self, Limit};
use crate::kustomize::locate::Located;
use crate::kustomize::rendering::unapplied;
use crate::kustomize::resource::Resource;
use crate::kustomize::roots::Group;
use crate::kustomize::{Deployed, Rendering, locate};

/// Renders all kustomizations of a set that no other one includes, and the folders that objects of Flux and
/// Argo CD deploy. `groups` are those of the kustomizations.
pub(crate) fn render(
    sources: &SourceSet,
    groups: &[Group],
    is_wanted: &(impl Fn(&Resource) -> bool + Sync),
    reuse: Option<&Reuse<'_>>,
) -> Vec<Rendering> {
    let (mut own, mut builder, count) = render_roots(sources, groups, is_wanted, reuse);
    let mut sets = application_set::Sets::of(sources, &count);
    let mut generated: Vec<Arc<Rendering>> = Vec::new();
    let mentions =
        |file: &&SourceFile| file.text.contains("fluxcd.io/") || file.text.contains("argoproj.io/");
    let files: Vec<&SourceFile> = sources.files.iter().filter(mentions).collect();
    let mut deployed: Vec<Rendering> = Vec::new();
    let mut included: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut previous: Vec<Key> = Vec::new();
    for round in 0..=NESTED_DEPLOYMENTS {
        let roots = own
            .iter()
            .filter(|rendering| !included.contains(&rendering.id.root));
        let applications = generated.iter().map(|rendering| &**rendering);
        let renderings = roots.chain(&deployed).chain(applications).collect();
        let objects = deploying(&files, renderings);
        let expanded = {
            let repositories = Repositories::of(sources, objects.iter());
            sets.expand(&repositories, &objects)
        };
        let applications = expanded.iter().flat_map(|rendering| rendering.objects());
        let objects: Vec<Object<'_>> = objects.iter().cloned().chain(applications).collect();
        let repositories = Repositories::of(sources, objects.iter());
        let all = clusters::deployments(sources, &repositories, objects.iter());
        drop(repositories);
        let wanted = to_render(sources, &own, &all);
        let renderings = || own.iter().chain(&deployed);
        let variables = variables(sources, &wanted, &objects, renderings);
        let keys = wanted.iter().zip(&variables);
        let keys: Vec<Key> = keys
            .map(|(deployment, variables)| key(deployment, variables.clone()))
            .collect();
        let is_done = keys == previous;
        if is_done || round == NESTED_DEPLOYMENTS {
            let mut left_out = copies::beyond_limit(sources, &count, &own, &all, &wanted);
            if is_done {
                generated = expanded;
            } else {
                left_out.extend(beyond_rounds(&wanted, &keys, &previous));
            }
            deployed.extend(left_out);
            break;
        }
        // The next renderings replace these.
        count.subtract(deployed.iter().map(|rendering| rendering.held).sum());
        let mut next = Vec::with_capacity(wanted.len());
        let mut entered = BTreeSet::new();
        let folders: BTreeSet<&str> = all
            .iter()
            .map(|deployment| deployment.folder.as_str())
            .collect();
        for (deployment, variables) in wanted.iter().zip(&variables) {
            let deployment = (*deployment, variables);
            let (rendering, kustomizations) =
                render_deployment(sources, &mut builder, deployment, &folders, is_wanted);
            entered.extend(kustomizations);
            next.push(rendering);
        }
        generated = expanded;
        deployed = next;
        included = entered;
        previous = keys;
    }
    drop(sets);
    builder.clear();
    own.retain(|rendering| !included.contains(&rendering.id.root));
    own.extend(deployed);
    own.extend(generated.into_iter().map(Arc::unwrap_or_clone));
    if reuse.is_some() && own.iter().any(|rendering| rendering.left_out.is_some()) {
        // What a limit leaves out depends on all renderings, and a reused one can count more than a new one, which shares
        // what it includes.
        drop(own);
        return render(sources, groups, is_wanted, None);
    }
    own
}

/// Renders the kustomizations that no other one includes, in parallel groups. Also returns the builder and the count
/// for later renderings.
fn render_roots<'s>(
    sources: &'s SourceSet,
    groups: &[Group],
    is_wanted: &(impl Fn(&Resource) -> bool + Sync),
    reuse: Option<&Reuse<'_>>,
) -> (Vec<Rendering>, Builder<'s>, Arc<ValueCount>) {
    let count = Arc::new(limit::count());
    let render = |group: &Group| {
        let size = group.members.len();
        let mut builder = Builder::for_group(sources, Arc::clone(&count), size);
        let known = reuse.map(|reuse| reuse.renderings_of(group));
        let mut known = known.unwrap_or_default().into_iter();
        let render_or_reuse = |root: &Arc<str>| {
            if let Some(known) = known.next().flatten() {
                count.add(known.held);
                return known;
            }
            render_root(sources, &mut builder, root, is_wanted)
        };
        let renderings: Vec<Rendering> = group.roots.iter().map(render_or_reuse).collect();
        (renderings, builder)
    };
    let rendered: Vec<_> = groups.par_iter().map(render).collect();
    let mut builder = Builder::new(sources, Arc::clone(&count));
    let mut own = Vec::new();
    // Which renderings fit, and what they count, would depend on which thread is faster.
    let is_exceeded = count.is_exceeded();
    for (renderings, other) in rendered {
        if is_exceeded {
            other.clear();
            let ids = renderings.into_iter().map(|rendering| rendering.id);
            own.extend(ids.map(|id| Rendering::without_objects(id, None, Limit::All)));
        } else {
            own.extend(renderings);
            builder.take_over(other);
        }
    }
    if is_exceeded {
        count.exhaust();
    }
    own.sort_by(|a, b| a.id.cmp(&b.id));
    (own, builder, count)
}

/// Renders a kustomization as if no object deployed it.
fn render_root<'s>(
    sources: &'s SourceSet,
    builder: &mut Builder<'s>,
    root: &Arc<str>,
    is_wanted: &impl Fn(&Resource) -> bool,
) -> Rendering {
    let before = builder.added();
    let mut accumulator = builder.root(root);
    if !accumulator.variables.is_empty() {
        Arc::make_mut(&mut accumulator).resolve_variables();
    }
    let (count, id) = (builder.count(), RenderingId::of_root(root));
    let mut rendering = finish(sources, count, id, None, &accumulator, is_wanted);
    rendering.held += builder.added() - before;
    rendering
}

/// Returns renderings without objects for the deployments that are new in the last round and are not rendered.
fn beyond_rounds(wanted: &[&Deployment<'_>], keys: &[Key], previous: &[Key]) -> Vec<Rendering> {
    let known: BTreeSet<&Key> = previous.iter().collect();
    wanted
        .iter()
        .zip(keys)
        .filter(|(_, key)| !known.contains(key))
        .map(|(deployment, _)| {
            let id = RenderingId::of_root(deployment.object.path());
            Rendering::without_objects(id, None, Limit::Rounds)
        })
        .collect()
}

/// Identity of a deployment across rounds: environment, source, folder, text of the edit, cluster, and variables.
type Key = (
    Arc<str>,
    usize,
    String,
    String,
    Option<Arc<Cluster>>,
    Variables,
);

fn key(deployment: &Deployment<'_>, variables: Variables) -> Key {
    let edit = deployment.edit.map(NodeRef::content);
    (
        Arc::clone(&deployment.environment),
        deployment.source,
        deployment.folder.clone(),
        edit.unwrap_or_default(),
        deployment.cluster.clone(),
        variables,
    )
}

/// Returns the variables of each deployment. ConfigMaps and Secrets are taken from `renderings`, and from files that these
/// do not include. `objects` are the deploying ones.
fn variables<'t, R>(
    sources: &'t SourceSet,
    deployments: &[&Deployment<'_>],
    objects: &[Object<'t>],
    renderings: impl Fn() -> R,
) -> Vec<Variables>
where
    R: Iterator<Item = &'t Rendering>,
{
    let takes_variables = |deployment: &&Deployment<'_>| {
        let post = deployment.edit.and_then(|edit| edit.get("postBuild"));
        post.is_some_and(|post| post.get("substituteFrom").is_some())
    };
    let mut configs = Configs::default();
    let mut siblings = Siblings::default();
    if deployments.iter().any(takes_variables) {
        config_objects(sources, renderings)
            .into_iter()
            .for_each(|object| configs.push(object));
        siblings = Siblings::of(objects.iter());
    }
    let of_deployment = |deployment: &&Deployment<'_>| {
        let user = &deployment.object;
        let may_apply = |config: &Object<'_>| {
            siblings.may_share_cluster(config.location_file(), user.location_file())
        };
        let content = |config: &Object<'_>| {
            let values = configs::entries(config);
            let values = values.map(|(entry, value)| (entry.key.text().map(str::to_owned), value));
            values.collect::<Vec<_>>()
        };
        Variables::read(sources, deployment, |wanted| {
            let found = configs.find(sources, wanted, user, may_apply, content)?;
            Ok(found.map(|(config, _)| config))
        })
    };
    deployments.iter().map(of_deployment).collect()
}

/// Returns the ConfigMaps and Secrets of a tree, as rendered or else as written.
fn config_objects<'t, R>(sources: &'t SourceSet, renderings: impl Fn() -> R) -> Vec<Object<'t>>
where
    R: Iterator<Item = &'t Rendering>,
{
    let used: HashSet<(&str, usize)> = renderings()
        .flat_map(|rendering| rendering.used.iter())
        .map(|(path, index)| (&**path, *index))
        .collect();
    let documents = sources.files.iter().flat_map(|file| &file.documents);
    let written = documents
        .filter(|document| !document.patch && !used.contains(&key_of(document)))
        .flat_map(Object::all_in);
    let rendered = renderings().flat_map(Rendering::objects);
    written
        .chain(rendered)
        .filter(|object| object.group().is_empty() && matches!(object.kind, "ConfigMap" | "Secret"))
        .collect()
}

/// Returns the objects of the renderings that deploy something or are the source of it, and those of `files` that no rendering includes. A
/// complete object is deployed in another way if kustomizations only delete it, or list it only as a patch that applies
/// to no rendered object.
fn deploying<'t>(files: &[&'t SourceFile], renderings: Vec<&'t Rendering>) -> Vec<Object<'t>> {
    let mut used: HashSet<(&str, usize)> = HashSet::new();
    let mut rendered: HashSet<(&str, usize)> = HashSet::new();
    for rendering in &renderings {
        let inputs = rendering.used.iter().map(|(path, index)| (&**path, *index));
        used.extend(inputs.clone());
        let documents = rendering.documents.iter();
        rendered.extend(documents.map(|rendered| key_of(&rendered.document)));
        // The objects that were left out are unknown.
        rendered.extend(inputs.filter(|_| rendering.left_out.is_some()));
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
    let unapplied = unapplied(patches, renderings.iter().copied())
        .into_iter()
        .chain(dropped)
        .flat_map(Object::all_in)
        .filter(is_complete);
    let rendered = renderings
        .into_iter()
        .flat_map(|rendering| rendering.objects_among(|document| document.may_deploy));
    plain
        .into_iter()
        .flat_map(Object::all_in)
        .chain(unapplied)
        .chain(rendered)
        .filter(|object| {
            matches!(
                object.group(),
                "kustomize.toolkit.fluxcd.io" | "source.toolkit.fluxcd.io" | "argoproj.io"
            )
        })
        .collect()
}

fn key_of(document: &Document) -> (&str, usize) {
    (&document.path, document.index)
}

/// Returns the deployments that change something, all other deployments of the same folders, and deployments of
/// bases, which are not rendered on their own otherwise.
fn to_render<'a, 't>(
    sources: &SourceSet,
    own: &[Rendering],
    all: &'a [Deployment<'t>],
) -> Vec<&'a Deployment<'t>> {
    let roots: HashSet<&str> = own.iter().map(|root| &*root.id.root).collect();
    let is_base = |deployment: &Deployment<'_>| {
        let file = sources.kustomization_in(&deployment.folder);
        file.is_some_and(|file| !roots.contains(&*file.path))
    };
    let folders: BTreeSet<&str> = all
        .iter()
        .filter(|deployment| {
            deployment.edit.is_some()
                || is_base(deployment)
                || overrides(sources, deployment).is_some()
        })
        .map(|deployment| deployment.folder.as_str())
        .collect();
    // An object that several others deploy appears once for each of them, with the same content.
    let mut seen = BTreeSet::new();
    all.iter()
        .filter(|deployment| {
            let key = key(deployment, Variables::default());
            folders.contains(deployment.folder.as_str()) && seen.insert(key)
        })
        .collect()
}

/// Returns the Argo CD file that overrides parameters of the deployment, if there is one.
///
/// Source: Argo CD, `docs/user-guide/parameters.md` and `reposerver/repository/repository.go`
/// (`mergeSourceParameters`).
fn overrides<'s>(sources: &'s SourceSet, deployment: &Deployment<'_>) -> Option<&'s SourceFile> {
    let is_built = deployment.dialect == Dialect::Argo
        && sources.kustomization_in(&deployment.folder).is_some();
    let names = [
        ".argocd-source.yaml".to_owned(),
        format!(".argocd-source-{}.yaml", deployment.object.name()),
    ];
    names
        .iter()
        .filter(|_| is_built)
        .find_map(|name| sources.file(&sources.joined(&deployment.folder, name)))
}

/// Renders the folder that one object deploys. Also returns the kustomizations that it includes.
fn render_deployment<'s>(
    sources: &'s SourceSet,
    builder: &mut Builder<'s>,
    (deployment, variables): (&Deployment<'_>, &Variables),
    folders: &BTreeSet<&str>,
    is_wanted: &impl Fn(&Resource) -> bool,
) -> (Rendering, Vec<Arc<str>>) {
    let file = sources.kustomization_in(&deployment.folder);
    let entries = match file {
        Some(_) => Vec::new(),
        None => manifests(sources, &deployment.folder, folders),
    };
    let edit = Kustomization {
        path: deployment.object.path(),
        document: deployment.object.document.index,
        // Without an edit, only the location of the object is used.
        root: deployment.edit.unwrap_or(deployment.object.node),
        folder: &deployment.folder,
        dialect: deployment.dialect,
    };
    let mut accumulator: Accumulator = match (deployment.edit, file) {
        (None, Some(file)) => builder.deployed_as_it_is(file),
        _ => builder.deployed(file, &edit, &entries),
    };
    if let Some(file) = overrides(sources, deployment) {
        let at = Span::empty(edit.root.span().start);
        let path = &file.path;
        let message =
            format!("`{path}` is not modelled: the changes of its parameters are unknown");
        accumulator.add_note(&edit, at, message);
        accumulator.mark_all_changed(&edit, at);
    }
    accumulator.resolve_variables();
    if deployment.dialect == Dialect::Flux && deployment.edit.is_some() {
        post_build::apply(&edit, variables, &mut accumulator);
    }
    let nested = entries.iter().filter_map(|entry| match entry {
        Located::Kustomization(file) => Some(Arc::clone(&file.path)),
        _ => None,
    });
    let components = edit.listed(ListRole::Component).filter_map(|entry| {
        match locate::locate(sources, &deployment.folder, entry.text) {
            Located::Kustomization(file) => Some(Arc::clone(&file.path)),
            _ => None,
        }
    });
    let included = nested
        .chain(components.filter(|_| deployment.edit.is_some()))
        .chain(file.map(|file| Arc::clone(&file.path)))
        .collect();
    let deployed = Deployed {
        unread: variables.unread.clone(),
        ..deployed(deployment)
    };
    let root = file.map_or(deployment.object.path(), |file| &file.path);
    let rendering = finish(
        sources,
        builder.count(),
        id(deployment, root),
        Some(deployed),
        &accumulator,
        is_wanted,
    );
    (rendering, included)
}

/// Lists the entries of the kustomization that Flux generates: all manifests, and for a folder with a
/// kustomization that kustomization. Omits folders that another object deploys.
fn manifests<'s>(sources: &'s SourceSet, top: &str, deployed: &BTreeSet<&str>) -> Vec<Located<'s>> {
    let files: Vec<&SourceFile> = sources.files_in(top).collect();
    let built: BTreeSet<&str> = files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .map(|file| locate::folder_of(&file.path))
        .collect();
    let height = paths::height(&format!("{top}/"));
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let mut folders: Vec<String> = paths::folders(&file.path, height)
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
