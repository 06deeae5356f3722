//! Assigns objects to the file that deploys them.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::gitops::clusters;
use meshprobe_deploy::gitops::deployment::{Deployment, Deployments};
use meshprobe_deploy::gitops::repositories::Repositories;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::kube::{Destination, Object, runs_pods};
use meshprobe_tree::source::paths::folder;
use meshprobe_tree::source::{Cluster, RenderedChart, SourceSet, release_of_output};

use super::pull_in::{FoundObject, PulledIn, Reported, pull_in};

/// Assigns objects to the file that deploys them unchanged. An object that several clusters deploy
/// is copied to each of them. Also returns which findings are reported; if `pulls_in` is not set, those in the given files
/// only, and the deployments.
pub(in crate::context) fn assign_to_deployments<'t>(
    sources: &'t SourceSet,
    renderings: &'t [Rendering],
    repositories: &Repositories<'t>,
    mut objects: Vec<FoundObject<'t>>,
    pulls_in: bool,
) -> (Vec<(Object<'t>, bool)>, Reported<'t>, Vec<Deployment<'t>>) {
    let folders = |is_wanted: fn(&Rendering) -> bool| -> BTreeSet<&str> {
        let deployed = renderings
            .iter()
            .filter(|rendering| is_wanted(rendering))
            .filter_map(|rendering| rendering.deployed.as_ref());
        deployed.map(|deployed| deployed.folder.as_str()).collect()
    };
    let rendered = folders(|_| true);
    let left_out = folders(|rendering| rendering.left_out.is_some() && rendering.used.is_empty());
    let found = objects.iter().map(|found| &found.object);
    let all = clusters::deployments(sources, repositories, found);
    let deployments = Deployments::new(all, &rendered, &left_out);
    let PulledIn {
        mut reported,
        deployed,
    } = if pulls_in {
        pull_in(sources, renderings, &mut objects, &deployments)
    } else {
        PulledIn::default()
    };
    let charts = deployed_charts(sources);
    let separate = separate_environments(&objects, &deployments);
    let mut placed = Vec::with_capacity(objects.len());
    // Objects of one folder are mostly consecutive.
    let (mut last, mut taking, mut is_shared) = (None, Vec::new(), false);
    for FoundObject {
        object, is_target, ..
    } in objects
    {
        if let Some(chart) = charts.get(&**object.path()) {
            for (copy, is_target) in chart_copies(chart, &object) {
                if is_target {
                    reported.add(&copy);
                }
                placed.push((0, copy, is_target));
            }
            continue;
        }
        let is_placed = object
            .rendered_by
            .is_some_and(|rendering| rendering.deployed.is_some());
        let here = Some(folder(object.location_file()));
        if here != last {
            last = here;
            taking = deployments.deploying(object.location_file()).collect();
            is_shared = taking.len() > 1;
            let mut targets = HashSet::new();
            taking.retain(|(_, deployment)| targets.insert(deployment.target()));
        }
        if is_placed || taking.is_empty() {
            placed.push((0, object, is_target));
            continue;
        }
        for &(number, deployment) in &taking {
            let home = deployment.home;
            let is_root = matches!(deployment.cluster.as_deref(), Some(Cluster::Root(_)));
            let moved = Object {
                location_file: home,
                overlay: if is_shared || is_root || separate.contains(&deployment.environment) {
                    Some(Arc::clone(&deployment.environment))
                } else {
                    object.overlay.clone()
                },
                destination: deployment.destination.clone(),
                cluster: deployment.cluster.clone(),
                ..object.clone()
            };
            let is_deployed = deployed.get(number) == Some(&true);
            if is_deployed && !is_target {
                reported.add(&moved);
            }
            placed.push((number, moved, is_target || is_deployed));
        }
    }
    // Objects that one file deploys, or that one kustomization renders, stay together.
    let mut places: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    let mut place = |path: Option<&Arc<str>>| {
        let path = path?;
        let place = places.entry_ref(path);
        Some(Arc::clone(
            place.or_insert_with(|| sources.place(path).into()),
        ))
    };
    placed.sort_by_cached_key(|(number, object, _)| {
        let root = object.rendered_by.map(|rendering| &rendering.root);
        (place(root), place(object.overlay.as_ref()), *number)
    });
    let objects = placed
        .into_iter()
        .map(|(_, object, is_target)| (object, is_target))
        .collect();
    (objects, reported, deployments.into_all())
}

/// Returns the environments of which another one deploys a workload of the same name from another folder.
fn separate_environments(
    objects: &[FoundObject<'_>],
    deployments: &Deployments<'_>,
) -> HashSet<Arc<str>> {
    let mut first: HashMap<_, Arc<str>> = HashMap::new();
    let mut separate = HashSet::new();
    let objects = objects.iter().map(|found| &found.object);
    for object in objects.filter(|object| runs_pods(object.group(), object.kind)) {
        let mut add = |namespace: Option<_>, environment: &Arc<str>| {
            let name = (object.kind, object.namespace().or(namespace), object.name());
            let first = first.entry(name).or_insert_with(|| Arc::clone(environment));
            if first != environment {
                separate.extend([first, environment].map(Arc::clone));
            }
        };
        match &object.overlay {
            Some(overlay) => add(object.deployed_namespace(), overlay),
            None => {
                for (_, deployment) in deployments.deploying(object.location_file()) {
                    let destination = deployment.destination.as_ref();
                    add(destination.map(|to| to.namespace), &deployment.environment);
                }
            }
        }
    }
    separate
}

/// An output of a chart that objects of the tree deploy.
struct DeployedChart<'t> {
    chart: &'t RenderedChart,
    /// Whether several files deploy the release, with the same values or with others.
    is_shared: bool,
}

/// Returns the outputs of charts that objects of the tree deploy, by the paths of the outputs.
fn deployed_charts(sources: &SourceSet) -> HashMap<&str, DeployedChart<'_>> {
    let rendered = sources.files.iter().filter(|file| file.rendered);
    let charts: Vec<(&str, &RenderedChart)> = rendered
        .filter_map(|file| Some((&*file.path, file.rendered_chart.as_deref()?)))
        .filter(|(_, chart)| !chart.releases.is_empty())
        .collect();
    let mut homes: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (path, chart) in &charts {
        let files = chart.releases.iter().map(|release| &*release.location_file);
        let known = homes.entry(release_of_output(path)).or_default();
        known.extend(files);
    }
    let deployed = charts.into_iter().map(|(path, chart)| {
        let homes = homes.get(release_of_output(path));
        let is_shared = chart.releases.len() > 1 || homes.is_some_and(|homes| homes.len() > 1);
        (path, DeployedChart { chart, is_shared })
    });
    deployed.collect()
}

/// Returns a copy of an object of a chart for each object that deploys the chart, and whether findings about it are
/// reported.
fn chart_copies<'t>(
    deployed: &DeployedChart<'t>,
    object: &Object<'t>,
) -> impl Iterator<Item = (Object<'t>, bool)> {
    let is_shared = deployed.is_shared;
    deployed.chart.releases.iter().map(move |release| {
        let home = &release.location_file;
        let destination = release.namespace.as_deref().map(|namespace| Destination {
            namespace,
            path: Arc::clone(&release.path),
            span: release.span,
        });
        let copy = Object {
            location_file: home,
            overlay: (is_shared || release.is_of_overlay).then(|| Arc::clone(home)),
            destination,
            cluster: release.cluster.clone(),
            ..object.clone()
        };
        (copy, release.is_target)
    })
}
