//! Sorts the objects of all documents into objects that state facts and workloads.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::gitops::clusters::FileClusters;
use meshprobe_deploy::gitops::configs::Configs;
use meshprobe_deploy::gitops::releases::ReleaseTree;
use meshprobe_deploy::gitops::repositories::Repositories;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::kube::{
    EmbeddedPods, LabelSelector, Object, PeerAuthentication, Workload, embedded_pods,
    may_create_pods, runs_pods, workload_selector,
};
use meshprobe_mesh::mesh::detect::{FactKind, is_plugin_policy};
use meshprobe_mesh::mesh::istio::install::PlainFile;
use meshprobe_mesh::mesh::istio::{install, network_plugin};
use meshprobe_mesh::mesh::{Mesh, detect};
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::paths::{contains, folder};
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization};
use meshprobe_yaml::NodeRef;
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use super::deployed_objects::assign_to_deployments;
use super::environment_filter::EnvironmentFilter;
use super::environments::Environments;
use super::namespace_index::{NamespaceIndex, Place};
use super::namespace_scripts::NamespaceScripts;
use super::nearest::namespace_of;
use super::not_judged::{NotJudged, generated_pods, incomplete_pod, missing_folders};
use super::pull_in::{FoundObject, Reported, is_target};
use super::shared_documents::SharedDocuments;
use super::subject::{MeshInstall, MeshObject, Subject};
use super::unrendered;
use super::unrendered::{
    DocumentTreatment, RenderedDocuments, UncheckedPolicy, Unrendered, Uses, WrittenObject,
    chart_kustomizations, plain_files, written_objects,
};

/// The objects of a run.
#[derive(Debug, Default)]
pub struct Inventory<'t> {
    /// Every workload.
    pub workloads: NamespaceIndex<'t, Subject<'t>>,
    /// `v1` Namespaces, by their own names.
    pub namespaces: NamespaceIndex<'t, Object<'t>>,
    /// `v1` Services.
    pub services: NamespaceIndex<'t, Object<'t>>,
    /// `PeerAuthentication`s of `security.istio.io`.
    pub peer_authentications: NamespaceIndex<'t, Object<'t>>,
    /// `AuthorizationPolicy`s of `security.istio.io`.
    pub authorization_policies: NamespaceIndex<'t, Object<'t>>,
    /// `NetworkPolicy`s of `networking.k8s.io`.
    pub network_policies: NamespaceIndex<'t, Object<'t>>,
    /// Policies of network plugins, which are not evaluated. Those of the whole cluster are stored under the
    /// empty namespace.
    pub(super) plugin_policies: NamespaceIndex<'t, Object<'t>>,
    /// `SecurityGroupPolicy`s of `vpcresources.k8s.aws`.
    pub(super) security_group_policies: NamespaceIndex<'t, Object<'t>>,
    /// Objects that state the network plugin of a cluster.
    pub(super) network_plugins: Vec<Object<'t>>,
    /// `Sidecar`s of `networking.istio.io`, which show that their namespace is part of the mesh.
    pub sidecar_resources: NamespaceIndex<'t, Object<'t>>,
    /// `EnvoyFilter`s of `networking.istio.io`.
    pub envoy_filters: Vec<Object<'t>>,
    /// `EnvoyFilter`s that change inbound filter chains of sidecars. All are stored under the empty
    /// namespace.
    pub(super) inbound_filters: NamespaceIndex<'t, Object<'t>>,
    /// Objects of `authentication.istio.io`, which Istio has ignored since 1.6.
    pub legacy_policies: Vec<Object<'t>>,
    /// `WorkloadGroup`s of `networking.istio.io`: groups of virtual machines.
    pub workload_groups: Vec<Object<'t>>,
    /// `WorkloadEntry`s of `networking.istio.io`: virtual machines.
    pub workload_entries: Vec<Object<'t>>,
    /// Objects of other tools that may create pods which are not in the tree, such as `HelmRelease`
    /// and `Kafka`.
    pub pod_creators: Vec<Object<'t>>,
    /// `v1` ConfigMaps and Secrets, from which releases of charts take values.
    pub configs: Configs<'t>,
    /// Objects of any mesh that have no field of their own, and definitions of such objects.
    pub(super) mesh_objects: NamespaceIndex<'t, MeshObject<'t>>,
    /// The folders that are separate environments.
    pub(super) environments: Environments,
    /// The clusters to which files are deployed.
    pub(super) file_clusters: FileClusters,
    /// Objects that state how the mesh is installed, and the objects that these refer to.
    pub installations: Vec<Object<'t>>,
    /// Those of [`Self::installations`] that state which namespaces are members of a mesh.
    pub(super) members: Vec<Object<'t>>,
    /// Files without Kubernetes objects, such as Helm values and `Chart.yaml`.
    pub plain_files: Vec<PlainFile<'t>>,
    /// Objects that install a mesh other than Istio.
    pub(super) mesh_installs: Vec<MeshInstall<'t>>,
    /// Kustomizations with charts.
    pub(super) chart_kustomizations: Vec<PlainFile<'t>>,
    /// Commands that label Namespaces.
    pub(super) scripts: NamespaceScripts,
    /// Objects whose pods are not judged.
    pub not_judged: Vec<NotJudged>,
    /// The repositories of the run, and the sources that objects deploy from.
    pub repositories: Repositories<'t>,
    rendered: RenderedDocuments<'t>,
    /// The folders that objects of the tree deploy.
    deployed_folders: BTreeSet<String>,
    /// Whether workloads are not reported because the run is limited to other environments.
    pub(super) deselects_workloads: bool,
    /// The documents that several overlays or clusters deploy.
    shared: SharedDocuments<'t>,
    /// The documents that are checked as written although a kustomization names them.
    unrendered: HashMap<(&'t str, usize), Unrendered>,
    /// Policies that are ignored because a kustomization uses or drops them.
    pub unchecked: Vec<UncheckedPolicy>,
    /// What is reported in addition to the given files.
    pub(super) reported: Reported<'t>,
}

impl<'t> Inventory<'t> {
    /// Iterates over the workloads of a namespace.
    pub(in crate::context) fn workloads_in(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = &Workload<'t>> {
        self.workloads
            .in_namespace(namespace)
            .map(|subject| &subject.workload)
    }

    /// Sorts the objects of all documents.
    ///
    /// A patch of a kustomization is an object only if [`Unrendered`] applies to it. An object that
    /// a kustomization includes is read as rendered, except objects that state how the mesh is
    /// installed. If `pulls_in` is set, what the given files deploy is reported like these files.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
        pulls_in: bool,
    ) -> Self {
        // The order is that of the paths, because the first of several equally near facts may be used.
        let files = sources.by_place();
        let mut inventory = Self {
            plain_files: plain_files(&files),
            chart_kustomizations: chart_kustomizations(&files),
            scripts: NamespaceScripts::of(sources),
            rendered: RenderedDocuments::of(sources, renderings),
            ..Self::default()
        };
        let documents = &inventory.rendered;
        let of_file = |file: &&'t SourceFile| written_objects(file, documents).collect::<Vec<_>>();
        let of_rendering = |(index, rendering): (usize, &'t Rendering)| {
            let objects = rendering.objects().map(move |object| FoundObject {
                is_target: is_target(sources, object.path()),
                object,
                rendering: Some(index),
            });
            objects.collect::<Vec<_>>()
        };
        let (written, rendered) = rayon::join(
            || files.par_iter().flat_map_iter(of_file).collect::<Vec<_>>(),
            || {
                let renderings = renderings.par_iter().enumerate();
                renderings.map(of_rendering).collect::<Vec<_>>()
            },
        );
        let mut objects = Vec::with_capacity(written.len());
        for WrittenObject {
            object,
            is_target,
            treatment,
        } in written
        {
            if install::concerns(&object) {
                inventory.installations.push(object.clone());
            }
            if install::states_members(&object) {
                inventory.members.push(object.clone());
            }
            if is_config(&object) && network_plugin::concerns(&object) {
                inventory.network_plugins.push(object.clone());
            }
            match treatment {
                DocumentTreatment::Manifest(why) => {
                    let key = (&**object.path(), object.document.index);
                    inventory.unrendered.extend(why.map(|why| (key, why)));
                    objects.push(FoundObject {
                        object,
                        is_target,
                        rendering: None,
                    });
                }
                DocumentTreatment::Unchecked(why) => {
                    let policy = unrendered::unchecked(&object, why, renderings, settings);
                    inventory.unchecked.push(policy);
                }
                DocumentTreatment::Rendered | DocumentTreatment::Patch => {}
            }
        }
        inventory.add_generated(rendered.iter().flatten().map(|found| &found.object));
        objects.extend(rendered.into_iter().flatten());
        let found = objects.iter().map(|found| &found.object);
        let repositories = Repositories::of(sources, found);
        let (objects, reported, deployments) =
            assign_to_deployments(sources, renderings, &repositories, objects, pulls_in);
        inventory.reported = reported;
        inventory.shared = SharedDocuments::of(objects.iter().map(|(object, _)| object));
        let all = objects.iter().map(|(object, _)| object);
        // Renderings contain ConfigMaps only if releases may take values from them.
        let stable = all.filter(|object| object.rendered_by.is_none() || !is_config(object));
        inventory.environments = Environments::of(stable);
        let homes = deployments.iter().map(|deployment| &**deployment.home);
        inventory
            .environments
            .add_named(&settings.only_environments, homes);
        let all = || objects.iter().map(|(object, _)| object);
        let deployed = deployments
            .iter()
            .map(|deployment| deployment.folder.clone());
        inventory.deployed_folders = deployed.collect();
        inventory.file_clusters = FileClusters::of(&deployments, all());
        let filter = EnvironmentFilter::new(
            &settings.only_environments,
            &inventory.environments,
            &deployments,
            all(),
        );
        inventory.environments.limit_to(&filter.names_and_files());
        for (object, is_target) in objects {
            let is_selected = filter.object(&object);
            inventory.deselects_workloads |=
                is_target && !is_selected && runs_pods(object.group(), object.kind);
            let is_target = is_target && is_selected;
            if is_target {
                let missing = missing_folders(sources, &repositories, &object);
                inventory.not_judged.extend(missing);
            }
            let (namespace, _) = namespace_of(&object, settings);
            let place = Place {
                namespace,
                environment: inventory.environments.environment(object.location_file()),
                folder: folder(object.location_file()),
            };
            inventory.add(place, object, is_target);
        }
        inventory.reported.limit_to(filter);
        for policy in &mut inventory.unchecked {
            policy.check_workloads(&inventory.workloads, &inventory.environments, settings);
        }
        inventory.repositories = repositories;
        inventory.index();
        inventory
    }

    /// Indexes facts by port and by label selector. Call it after the last fact was added.
    fn index(&mut self) {
        self.services.index_labels(service_selector);
        self.inbound_filters.index_labels(workload_selector);
        self.network_policies.index_labels(|policy| {
            let spec = policy.node.get("spec");
            let selector = spec.and_then(|spec| spec.get("podSelector"));
            LabelSelector::from_mapping(selector.and_then(|selector| selector.get("matchLabels")))
        });
        let policies = [
            &mut self.peer_authentications,
            &mut self.authorization_policies,
        ];
        for policies in policies {
            policies.index_labels(|policy| PeerAuthentication::of(policy).selector());
        }
    }

    /// Returns whether findings about a rendering are reported.
    #[must_use]
    pub fn reports_rendering(&self, rendering: &Rendering) -> bool {
        self.reported.rendering(rendering)
    }

    /// Returns whether the tree deploys folders, but none that contains the file.
    #[must_use]
    pub fn is_left_to_others(&self, path: &str) -> bool {
        let mut folders = self.deployed_folders.iter();
        !self.deployed_folders.is_empty() && !folders.any(|folder| contains(folder, path))
    }

    /// Returns how the kustomizations of the tree use a document; `None` if no kustomization uses it.
    #[must_use]
    pub fn uses_of(&self, path: &str, document: usize) -> Option<Uses> {
        self.rendered.uses_of((path, document))
    }

    /// Returns whether several overlays or clusters deploy objects of a document.
    #[must_use]
    pub fn is_shared(&self, path: &str, document: usize) -> bool {
        self.shared.contains(path, document)
    }

    /// Returns why a document is checked as written although a kustomization names it; `None` for
    /// all other documents.
    #[must_use]
    pub fn unrendered(&self, path: &str, document: usize) -> Option<Unrendered> {
        self.unrendered.get(&(path, document)).copied()
    }

    /// Returns whether a file may belong to the environment of another one; any file, if that one has none.
    #[must_use]
    pub fn may_apply(&self, file: &str, user: &str) -> bool {
        self.environments.innermost(user).is_none() || self.environments.may_apply(file, user)
    }

    /// Returns the parts of the tree that releases of charts refer to, with the objects among `objects`.
    #[must_use]
    pub fn release_tree<'a>(
        &'a self,
        sources: &'t SourceSet,
        objects: &'a [Object<'t>],
    ) -> ReleaseTree<'a, 't> {
        let may_apply = |file: &str, user: &str| self.may_apply(file, user);
        ReleaseTree::new(
            sources,
            (&self.repositories, &self.configs),
            &self.plain_files,
            objects,
            Box::new(may_apply),
        )
    }

    /// Adds generated objects that state how the mesh is installed: ConfigMaps, and the Applications of ApplicationSets.
    /// Several renderings of a generator may be equal.
    fn add_generated<'a>(&mut self, objects: impl Iterator<Item = &'a Object<'t>>)
    where
        't: 'a,
    {
        let mut seen = HashSet::new();
        let is_generated = |object: &&'a Object<'t>| match object.kind {
            "Application" => {
                let root = object.rendered_by.map(|rendering| &rendering.root);
                root == Some(object.path())
            }
            _ => is_config(object) && is_kustomization(object.path()),
        };
        for object in objects.filter(is_generated) {
            let content = object.node.content();
            if !seen.insert((object.id(), content)) {
                continue;
            }
            // An ApplicationSet is followed by its Applications.
            let place = |object: &Object<'t>| (object.path(), object.document.index);
            let is_set = |known: &Object<'t>| place(known) == place(object);
            let set = self.installations.iter().rposition(is_set);
            let at = set.filter(|_| object.kind == "Application");
            let at = at.map_or(self.installations.len(), |set| set + 1);
            self.installations.insert(at, object.clone());
        }
    }

    fn add(&mut self, place: Place<'t>, object: Object<'t>, is_target: bool) {
        if is_plugin_policy(object.group(), object.kind) {
            let namespace = namespace_key(object.kind, place.namespace);
            let place = Place { namespace, ..place };
            self.plugin_policies.push(place, object.clone());
        }
        let facts = match FactKind::of(object.group(), object.kind) {
            Some(FactKind::Namespace) => {
                let namespace = object.name();
                return self.namespaces.push(Place { namespace, ..place }, object);
            }
            Some(FactKind::Service) => &mut self.services,
            Some(FactKind::PeerAuthentication) => &mut self.peer_authentications,
            Some(FactKind::AuthorizationPolicy) => &mut self.authorization_policies,
            Some(FactKind::NetworkPolicy) => &mut self.network_policies,
            Some(FactKind::SecurityGroupPolicy) => &mut self.security_group_policies,
            Some(FactKind::PluginPolicy | FactKind::ProxyConfig) => return,
            Some(FactKind::NetworkPlugin) => return self.network_plugins.push(object),
            Some(FactKind::Sidecar) => &mut self.sidecar_resources,
            Some(FactKind::EnvoyFilter) => {
                if inbound_patch(&object).is_some() {
                    let place = Place {
                        namespace: "",
                        ..place
                    };
                    self.inbound_filters.push(place, object.clone());
                }
                return self.envoy_filters.push(object);
            }
            Some(FactKind::WorkloadGroup) => return self.workload_groups.push(object),
            Some(FactKind::WorkloadEntry) => return self.workload_entries.push(object),
            Some(FactKind::LegacyPolicy) => return self.legacy_policies.push(object),
            Some(
                FactKind::OfMesh | FactKind::Definition | FactKind::Workload | FactKind::Maker,
            )
            | None => return self.add_by_content(place, object, is_target),
        };
        facts.push(place, object);
    }

    /// Adds an object whose content decides whether it states a fact, runs pods or may create pods.
    /// Ignores all other objects.
    fn add_by_content(&mut self, place: Place<'t>, object: Object<'t>, is_target: bool) {
        self.mesh_installs.extend(MeshInstall::of(&object));
        if is_config(&object) {
            self.configs.push(object.clone());
        } else if network_plugin::concerns(&object) {
            self.network_plugins.push(object.clone());
        }
        if let Some((mesh, is_definition)) = detect::of_object(&object) {
            let sign = MeshObject {
                mesh,
                is_definition,
                object,
            };
            self.mesh_objects.push(place, sign);
        } else if runs_pods(object.group(), object.kind) {
            let workload = Workload::from_object(&object);
            self.add_workloads(place, workload, is_target);
        } else {
            self.add_pods_of_unknown_kind(place, object, is_target);
        }
    }

    /// Adds the pod templates of an object whose kind is not built in: the usual one, `spec.template`, and all others.
    fn add_pods_of_unknown_kind(&mut self, place: Place<'t>, object: Object<'t>, is_target: bool) {
        let usual = Workload::from_object(&object);
        let is_creator = may_create_pods(object.group(), object.kind) || object.kind == "Template";
        let embedded = match is_creator {
            true => embedded_pods(&object),
            false => EmbeddedPods::default(),
        };
        if is_target {
            let has_pods = usual.is_some() || !embedded.workloads.is_empty();
            let generated = generated_pods(&object, has_pods, embedded.incomplete.is_some());
            let incomplete = embedded.incomplete;
            let incomplete = incomplete.map(|(node, why)| incomplete_pod(&object, node, why));
            self.not_judged
                .extend(generated.into_iter().chain(incomplete));
        }
        if is_creator {
            let route = usual.as_ref().map(|workload| &workload.template.route);
            let others = embedded.workloads.into_iter();
            let others: Vec<Workload<'t>> = others
                .filter(|workload| Some(&workload.template.route) != route)
                .collect();
            self.add_workloads(place, usual.clone().into_iter().chain(others), is_target);
        } else {
            self.add_workloads(place, usual.clone(), is_target);
        }
        if is_creator && usual.is_none() {
            self.pod_creators.push(object);
        }
    }

    fn add_workloads(
        &mut self,
        place: Place<'t>,
        workloads: impl IntoIterator<Item = Workload<'t>>,
        is_target: bool,
    ) {
        for workload in workloads {
            let subject = Subject {
                workload,
                is_target,
            };
            self.workloads.push(place, subject);
        }
    }
}

fn is_config(object: &Object<'_>) -> bool {
    object.group().is_empty() && matches!(object.kind, "ConfigMap" | "Secret")
}

/// Returns the label selector of a Service. A Service without one selects no pods.
pub(in crate::context) fn service_selector<'t>(service: &Object<'t>) -> LabelSelector<'t> {
    let spec = service.node.get("spec");
    LabelSelector::from_mapping(spec.and_then(|spec| spec.get("selector")))
}

impl<'t> Inventory<'t> {
    /// Iterates over the objects of a mesh that is not Istio.
    pub fn objects_of_mesh(&self, mesh: Mesh) -> impl Iterator<Item = &Object<'t>> {
        let objects = self.mesh_objects.iter();
        objects
            .filter(move |found| found.mesh == mesh && !found.is_definition)
            .map(|found| &found.object)
    }
}

/// Returns the namespace under which a policy is stored: the empty one if its kind applies to the whole cluster.
pub(in crate::context) fn namespace_key<'t>(kind: &str, namespace: &'t str) -> &'t str {
    match kind {
        "CiliumNetworkPolicy" | "NetworkPolicy" => namespace,
        _ => "",
    }
}

/// Patches of these decide which filter chain handles a connection, and what it does.
pub(in crate::context) const CHAINS: [&str; 3] = ["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER"];

/// Returns the first patch of an `EnvoyFilter` that changes inbound filter chains of sidecars: its
/// place in the list, and what it applies to.
#[must_use]
pub fn inbound_patch<'t>(filter: &Object<'t>) -> Option<(usize, NodeRef<'t>)> {
    let spec = filter.node.get("spec")?;
    // Filters with `targetRefs` apply to gateways and waypoints.
    if spec.get("targetRefs").is_some() {
        return None;
    }
    spec.get("configPatches")?
        .items()
        .enumerate()
        .find_map(|(index, patch)| {
            let context = patch.get("match").and_then(|one| one.get("context"));
            let inbound = context.and_then(NodeRef::text);
            let applies = patch.get("applyTo")?;
            let is_inbound = matches!(inbound, None | Some("ANY" | "SIDECAR_INBOUND"))
                && CHAINS.contains(&applies.text()?);
            is_inbound.then_some((index, applies))
        })
}
