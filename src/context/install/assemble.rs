//! From what single carriers say to control planes.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::kube::{lies_above, nearness};
use crate::mesh::istio::install::{
    Carrier, Install, Part, PlainFile, Surroundings, from_object, from_values_file,
};

use super::super::inventory::Inventory;

/// What the tree says of installations.
#[derive(Debug, Default)]
pub(in super::super) struct Installations {
    /// Control planes, each put together from all that describes it.
    pub(in super::super) planes: Vec<Install>,
    /// What serves all control planes of a cluster: CNI plugin, ztunnel, the base chart.
    pub(in super::super) cluster: Vec<Install>,
}

/// Collects the installations of a tree.
pub(in super::super) fn installations(inventory: &Inventory<'_>) -> Installations {
    let (mut planes, mut rest): (Vec<Install>, Vec<Install>) = pieces(inventory)
        .into_iter()
        .partition(|piece| piece.part == Part::ControlPlane);
    layer_values_files(&mut planes);
    // What is nearer to the API server says more: ConfigMaps before webhooks before images.
    rest.sort_by_key(|piece| piece.carrier);
    let (cluster, rest): (Vec<Install>, Vec<Install>) = rest
        .into_iter()
        .partition(|piece| piece.part == Part::Cluster);
    let (tags, parts): (Vec<Install>, Vec<Install>) = rest
        .into_iter()
        .partition(|piece| matches!(piece.part, Part::Tags { .. }));
    add_parts(&mut planes, parts);
    add_tags(&mut planes, tags);
    Installations { planes, cluster }
}

fn pieces(inventory: &Inventory<'_>) -> Vec<Install> {
    let around = Surroundings::new(&inventory.installations, &inventory.plain_files);
    let mut all: Vec<Install> = inventory
        .installations
        .iter()
        .flat_map(|object| from_object(object, &around))
        .collect();
    let read = all.iter().flat_map(|one| &one.reads);
    let read: HashSet<Arc<str>> = read.cloned().collect();
    let charts = inventory.plain_files.iter().filter(|file| file.is_chart());
    let charts: HashMap<&str, &PlainFile<'_>> =
        charts.map(|chart| (chart.folder(), chart)).collect();
    for file in &inventory.plain_files {
        // A values file that a release names speaks through it.
        if !read.contains(file.path) {
            let chart = charts.get(file.folder()).copied();
            all.extend(from_values_file(file, chart));
        }
    }
    all
}

/// In a folder with a `values.yaml`, the other values files are laid over it.
fn layer_values_files(planes: &mut Vec<Install>) {
    let is_values = |one: &Install| one.carrier == Carrier::HelmValues;
    let name = |one: &Install| one.place.path.rsplit('/').next().map(str::to_owned);
    let folder = |one: &Install| {
        one.place
            .path
            .rsplit_once('/')
            .map(|(folder, _)| folder.to_owned())
    };
    let bases: Vec<Install> = planes
        .iter()
        .filter(|one| is_values(one) && name(one).as_deref() == Some("values.yaml"))
        .cloned()
        .collect();
    for base in bases {
        let mut others = 0;
        for one in planes.iter_mut().filter(|one| is_values(one)) {
            if folder(one) == folder(&base) && one.place.path != base.place.path {
                if one.revision.is_none() {
                    one.revision.clone_from(&base.revision);
                }
                one.fill_from(&base);
                others += 1;
            }
        }
        if others > 0 {
            planes.retain(|one| !is_values(one) || one.place.path != base.place.path);
        }
    }
}

/// ConfigMaps, webhooks and Deployments belong to the nearest control plane of their revision, as
/// far as their folders belong together; without one they make it up among themselves.
fn add_parts(planes: &mut Vec<Install>, parts: Vec<Install>) {
    let whole = planes.len();
    // Of what each is put together; a second ConfigMap `istio` is another installation.
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
            (*index < whole || is_new) && belong_together(&plane.place.path, &part.place.path)
        };
        let near = |index: &usize| {
            let plane = planes.get(*index);
            plane.map(|one| nearness(&one.place.path, &part.place.path))
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

fn belong_together(a: &str, b: &str) -> bool {
    lies_above(a, b) || lies_above(b, a)
}

/// A tag belongs to the control plane that it names; without it, it stands by itself.
fn add_tags(planes: &mut Vec<Install>, tags: Vec<Install>) {
    for tag in tags {
        let target = planes.iter_mut().filter(|plane| names(&tag.part, plane));
        match target.max_by_key(|plane| nearness(&plane.place.path, &tag.place.path)) {
            Some(plane) => plane.fill_from(&tag),
            None => planes.push(tag),
        }
    }
}

fn names(part: &Part, plane: &Install) -> bool {
    let Part::Tags { kind, name } = part else {
        return false;
    };
    if kind == "Istio" {
        return plane.carrier == Carrier::Sail && plane.name == *name;
    }
    !matches!(plane.part, Part::Tags { .. }) && plane.revision_name() == name
}
