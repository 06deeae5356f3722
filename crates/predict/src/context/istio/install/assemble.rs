//! Assembles control planes from the objects and files that describe them.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::locate::Closure;
use meshprobe_deploy::kustomize::{GeneratedFrom, generator_files};
use meshprobe_mesh::kube::{Object, is_in_ancestor_folder, nearness};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::install::{
    Carrier, ChartRelease, FoundChart, GENERATOR, Install, Part, PlainFile, from_object,
    from_values_file, meshes_of_chart, meshes_of_release, of_kustomization, of_object,
};
use meshprobe_tree::source::{SourceSet, is_kustomization};

use crate::context::inventory::Inventory;
use crate::context::subject::MeshInstall;

/// The installations of a tree.
#[derive(Debug, Default)]
pub(in crate::context) struct Installations<'t> {
    /// Control planes, each assembled from all objects and files that describe it.
    pub(in crate::context) planes: Vec<Install>,
    /// Parts that serve all control planes of a cluster: CNI plugin, ztunnel, the base chart.
    pub(in crate::context) cluster: Vec<Install>,
    /// The network plugins of clusters.
    pub(in crate::context) networks: Vec<Install>,
    /// Other meshes that charts install.
    pub(in crate::context) meshes: Vec<MeshInstall<'t>>,
}

/// The first release in which a Service maps a revision tag, in addition to the webhook of the tag. Source: release note
/// `revision-tags-as-svc` of Istio 1.28.
const READS_TAG_SERVICES: Version = Version::new(1, 28);

/// Collects the installations of a tree. `release` is the release of Istio that the user states.
pub(in crate::context) fn installations<'t>(
    sources: &'t SourceSet,
    inventory: &Inventory<'t>,
    release: Option<Version>,
) -> Installations<'t> {
    let mut meshes = Vec::new();
    let mut pieces = pieces(sources, inventory, &mut meshes);
    // Objects about members only imply a control plane if the tree contains none.
    if pieces.iter().any(|piece| piece.carrier == Carrier::Maistra) {
        pieces.retain(|piece| piece.carrier != Carrier::MaistraMembers);
    }
    let (networks, pieces): (Vec<Install>, Vec<Install>) = pieces
        .into_iter()
        .partition(|piece| piece.part == Part::Network);
    let (mut planes, mut rest): (Vec<Install>, Vec<Install>) = pieces
        .into_iter()
        .partition(|piece| piece.part == Part::ControlPlane);
    layer_values_files(&mut planes);
    // Sorts by precedence: ConfigMaps before webhooks before images.
    rest.sort_by_key(|piece| piece.carrier);
    let (cluster, rest): (Vec<Install>, Vec<Install>) = rest
        .into_iter()
        .partition(|piece| piece.part == Part::Cluster);
    let (mut tags, parts): (Vec<Install>, Vec<Install>) = rest
        .into_iter()
        .partition(|piece| matches!(piece.part, Part::Tags { .. }));
    if release.is_some_and(|release| release < READS_TAG_SERVICES) {
        let is_service =
            |tag: &Install| matches!(&tag.part, Part::Tags { kind, .. } if kind == "Service");
        tags.retain(|tag| !is_service(tag));
    }
    add_parts(&mut planes, parts);
    add_tags(&mut planes, tags);
    Installations {
        planes,
        cluster,
        networks,
        meshes,
    }
}

fn pieces<'t>(
    sources: &'t SourceSet,
    inventory: &Inventory<'t>,
    meshes: &mut Vec<MeshInstall<'t>>,
) -> Vec<Install> {
    let tree = inventory.release_tree(sources, &inventory.installations);
    let mut all = Vec::new();
    // The charts in folders that a release names.
    let mut deployed: HashSet<&str> = HashSet::new();
    let mut add_meshes = |release: &ChartRelease<'t>, object: Option<&Object<'t>>| {
        if let FoundChart::Folder(chart, _) = &release.chart {
            deployed.insert(chart.path);
        }
        let stated = meshes_of_release(release).into_iter();
        meshes.extend(stated.map(|stated| MeshInstall::new(stated, object)));
    };
    for object in &inventory.installations {
        for release in tree.of(object) {
            add_meshes(&release.found, Some(object));
            all.extend(of_object(object, &release.found));
        }
        all.extend(from_object(object));
    }
    let objects = inventory.installations.iter();
    let generators = objects.filter(|object| object.kind == GENERATOR);
    let generators = generators.map(|object| PlainFile {
        path: object.path(),
        real_path: None,
        root: object.node,
    });
    for file in generators.chain(inventory.chart_kustomizations.iter().copied()) {
        for (name, place, release) in tree.of_kustomization(&file) {
            add_meshes(&release, None);
            all.extend(of_kustomization(name, &place, &release));
        }
    }
    let charts = inventory.plain_files.iter().filter(|file| file.is_chart());
    for chart in charts
        .clone()
        .filter(|chart| !deployed.contains(&**chart.path))
    {
        let stated = meshes_of_chart(chart).into_iter();
        meshes.extend(stated.map(|stated| MeshInstall::new(stated, None)));
    }
    let read: HashSet<Arc<str>> = all.iter().flat_map(|piece| &piece.reads).cloned().collect();
    let is_deployed = all.iter().any(|piece| piece.part == Part::ControlPlane);
    let charts: HashMap<&str, &PlainFile<'_>> =
        charts.map(|chart| (chart.folder(), chart)).collect();
    let generated = match read.is_empty() {
        true => HashMap::new(),
        false => generator_files(sources),
    };
    let of_releases: Vec<&GeneratedFrom> =
        read.iter().filter_map(|path| generated.get(path)).collect();
    // The kustomizations that are rendered together with one that generates an object of a release, with that object.
    let mut rendered_together: HashSet<(&str, &str)> = HashSet::new();
    if !of_releases.is_empty() {
        let files = sources.files.iter();
        for root in files.filter(|file| is_kustomization(&file.path)) {
            let included = Closure::of(sources, root).kustomizations;
            for from in &of_releases {
                if included.contains(&*from.kustomization) {
                    let all = included.iter().map(|path| (*path, &*from.object));
                    rendered_together.extend(all);
                }
            }
        }
    }
    for file in &inventory.plain_files {
        // A values file that a release names is read as part of the release. Of the files from which kustomizations
        // generate the same object, an overlay may replace those of its base.
        let from = generated.get(file.path);
        let is_of_release = from
            .is_some_and(|from| rendered_together.contains(&(&*from.kustomization, &*from.object)));
        if !is_of_release && !read.contains(file.path) {
            let chart = charts.get(file.folder()).copied();
            all.extend(from_values_file(file, chart, is_deployed));
        }
    }
    all
}

/// Merges the other values files of a folder over its `values.yaml`.
fn layer_values_files(planes: &mut Vec<Install>) {
    let is_values = |plane: &Install| plane.carrier == Carrier::HelmValues;
    let name = |plane: &Install| plane.place.path.rsplit('/').next().map(str::to_owned);
    let folder = |plane: &Install| {
        plane
            .place
            .path
            .rsplit_once('/')
            .map(|(folder, _)| folder.to_owned())
    };
    let bases: Vec<Install> = planes
        .iter()
        .filter(|plane| is_values(plane) && name(plane).as_deref() == Some("values.yaml"))
        .cloned()
        .collect();
    for base in bases {
        let mut others = 0;
        for plane in planes.iter_mut().filter(|plane| is_values(plane)) {
            if folder(plane) == folder(&base) && plane.place.path != base.place.path {
                if plane.revision.is_none() {
                    plane.revision.clone_from(&base.revision);
                }
                plane.fill_from(&base);
                others += 1;
            }
        }
        if others > 0 {
            planes.retain(|plane| !is_values(plane) || plane.place.path != base.place.path);
        }
    }
}

/// Adds ConfigMaps, webhooks and Deployments to the nearest control plane of their revision if the
/// folder of one contains the other. Without one, they form a control plane of their own.
fn add_parts(planes: &mut Vec<Install>, parts: Vec<Install>) {
    let whole = planes.len();
    // The carriers of each control plane: a second ConfigMap `istio` is another installation.
    let mut carriers: Vec<Vec<Carrier>> = vec![Vec::new(); whole];
    let mut by_revision: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, plane) in planes.iter().enumerate() {
        by_revision
            .entry_ref(plane.revision_name())
            .or_default()
            .push(at);
    }
    for part in parts {
        let of_revision = by_revision.entry_ref(part.revision_name()).or_default();
        let fits = |index: &usize| {
            let (Some(plane), Some(had)) = (planes.get(*index), carriers.get(*index)) else {
                return false;
            };
            let is_new = part.carrier == Carrier::Webhooks || !had.contains(&part.carrier);
            (*index < whole || is_new) && is_above_or_below(&plane.place.path, &part.place.path)
        };
        let near = |index: &usize| {
            let plane = planes.get(*index);
            plane.map(|plane| nearness(&plane.place.path, &part.place.path))
        };
        let best = of_revision.iter().copied().filter(fits).max_by_key(near);
        let target = best.and_then(|at| planes.get_mut(at).zip(carriers.get_mut(at)));
        match target {
            Some((plane, had)) => {
                plane.fill_from(&part);
                had.push(part.carrier);
            }
            None => {
                of_revision.push(planes.len());
                carriers.push(vec![part.carrier]);
                planes.push(part);
            }
        }
    }
}

fn is_above_or_below(a: &str, b: &str) -> bool {
    is_in_ancestor_folder(a, b) || is_in_ancestor_folder(b, a)
}

/// Adds each tag to the control plane that it names. A tag without one stays separate.
fn add_tags(planes: &mut Vec<Install>, tags: Vec<Install>) {
    for tag in tags {
        let target = planes
            .iter_mut()
            .filter(|plane| is_tag_of(&tag.part, plane));
        match target.max_by_key(|plane| nearness(&plane.place.path, &tag.place.path)) {
            Some(plane) => plane.fill_from(&tag),
            None => planes.push(tag),
        }
    }
}

fn is_tag_of(part: &Part, plane: &Install) -> bool {
    let Part::Tags { kind, name } = part else {
        return false;
    };
    if kind == "Istio" {
        return plane.carrier == Carrier::Sail && plane.name == *name;
    }
    !matches!(plane.part, Part::Tags { .. }) && plane.revision_name() == name
}
