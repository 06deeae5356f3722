//! The kinds of other tools that create pods, and what their objects contain.
//!
//! Source of the groups, kinds and fields: the definitions of the operators, most of them as collected in
//! github.com/datreeio/CRDs-catalog (2026). Of others: Kiali, the reference of its custom resource
//! (`spec.deployment.pod_annotations`); cass-operator, `cassandradatacenter_types.go`; the WebLogic operator, `Domain.md`
//! ("Server Pod"); Kyma, `function_types.go` of serverless.
//!
//! Pod templates in objects of operators: kinds that are not known, whose pods no manifest contains.
//!
//! `InferenceService`s of KServe.
//!
//! Source: KServe 0.20.0, `pkg/controller/v1beta1/inferenceservice/components/predictor.go` (`buildObjectMeta`) and
//! `transformer.go`: the labels and annotations of the object are set on its pods, and those of a component take
//! precedence.

use PodSource::{Deployment, Fragment, Operator, OperatorWithContainers, Values};
use meshprobe_yaml::{FieldPath, NodeRef};

use super::object::Object;
use super::policy::may_create_pods;
use super::probe_handler::KNATIVE_SERVING;
use super::workload::{Placement, PodTemplate, Workload};

/// How objects of a kind of another tool lead to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodSource {
    /// They deploy files, charts or a mesh in a known way. Mappings in them are values of charts and patches.
    Values,
    /// They deploy files, charts or components that another tool renders, which is not known here.
    Deployment,
    /// Their operator generates pods from other fields than containers.
    Operator,
    /// Like [`Self::Operator`], and the containers in them are merged with those of the generated pods.
    ///
    /// Source: Prometheus Operator, `pkg/prometheus/server/statefulset.go` (`MergePatchContainers`); the operator of
    /// VictoriaMetrics, `internal/controller/operator/factory/k8stools` (`MergePatchContainers`).
    OperatorWithContainers,
    /// Containers in them are merged with those of pods that other objects describe.
    ///
    /// Source: KServe, `pkg/controller/v1alpha2/llmisvc/config_merge.go` (`spec.template`, `spec.worker` and
    /// `spec.prefill`).
    Fragment,
}

/// Kinds of one group.
#[derive(Debug)]
pub struct PodMaker {
    group: &'static str,
    /// The kinds; empty for all kinds of the group.
    kinds: &'static [&'static str],
    /// How they lead to pods.
    pub source: PodSource,
    /// The field that sets labels and annotations of the pods; empty if none is known.
    pub metadata: &'static str,
}

impl PodMaker {
    /// Returns the entry of a kind.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Option<&'static Self> {
        let is_listed = |kinds: &[&str]| kinds.is_empty() || kinds.contains(&kind);
        let mut makers = MAKERS.iter();
        makers.find(|maker| maker.group == group && is_listed(maker.kinds))
    }
}

/// Declares the table: how the objects lead to pods, the group, the kinds, and the field with the metadata of the pods.
macro_rules! makers {
    ($($source:ident $group:literal [$($kind:literal),*] $metadata:literal;)+) => {
        static MAKERS: &[PodMaker] = &[$(PodMaker {
            group: $group,
            kinds: &[$($kind),*],
            source: $source,
            metadata: $metadata,
        }),+];
    };
}

makers! {
    // Flux, Argo CD, k3s, and the installers of Istio.
    Values "argoproj.io" ["Application", "ApplicationSet", "AppProject"] "";
    Values "helm.toolkit.fluxcd.io" [] "";
    Values "kustomize.toolkit.fluxcd.io" [] "";
    Values "helm.cattle.io" [] "";
    Values "install.istio.io" [] "";
    Values "operator.istio.io" [] "";
    Values "sailoperator.io" [] "";
    Values "maistra.io" [] "";

    // kapp-controller, Fleet, KubeVela and Open Cluster Management.
    Deployment "kappctrl.k14s.io" ["App"] "";
    Values "kappctrl.k14s.io" [] "";
    Deployment "packaging.carvel.dev" ["PackageInstall"] "";
    Values "packaging.carvel.dev" [] "";
    Deployment "fleet.cattle.io" ["GitRepo", "HelmOp", "Bundle"] "";
    Values "fleet.cattle.io" [] "";
    Deployment "core.oam.dev" ["Application", "Component"] "";
    Values "core.oam.dev" [] "";
    Deployment "apps.open-cluster-management.io" ["Subscription"] "";

    // Applications and functions.
    Operator "nais.io" ["Application", "Naisjob"] "";
    Operator "skiperator.kartverket.no" ["Application", "SKIPJob"] "";
    Operator "apps.openliberty.io" ["OpenLibertyApplication"] "";
    Operator "weblogic.oracle" ["Domain"] "spec.serverPod.annotations";
    Operator "serverless.kyma-project.io" ["Function"] "spec.annotations";
    Operator "kubevirt.io" ["VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"]
        "spec.template.metadata";

    // Platforms.
    Operator "argoproj.io" ["ArgoCD", "EventBus", "EventSource", "Sensor"] "";
    Operator "operator.knative.dev" ["KnativeServing", "KnativeEventing"] "spec.workloads";
    Operator "operator.tekton.dev" ["TektonConfig", "TektonPipeline", "TektonTrigger", "TektonDashboard"] "";
    Operator "triggers.tekton.dev" ["EventListener"] "";
    Operator "k8s.keycloak.org" ["Keycloak"] "spec.unsupported.podTemplate.metadata";
    Operator "keycloak.org" ["Keycloak"] "";
    Operator "vault.banzaicloud.com" ["Vault"] "spec.vaultAnnotations";
    Operator "kiali.io" ["Kiali"] "spec.deployment.pod_annotations";
    Operator "awx.ansible.com" ["AWX"] "spec.annotations";
    Operator "apps.gitlab.com" ["GitLab", "Runner"] "";
    Operator "actions.summerwind.dev" ["Runner", "RunnerDeployment", "RunnerReplicaSet", "RunnerSet"] "";
    Operator "repo-manager.pulpproject.org" ["Pulp"] "";
    Operator "temporal.io" ["TemporalCluster"] "";
    Operator "k6.io" ["K6", "TestRun"] "spec.runner.metadata";

    // Data processing and machine learning.
    Operator "sparkoperator.k8s.io" ["SparkApplication"] "spec.driver.annotations";
    Operator "sparkoperator.k8s.io" ["ScheduledSparkApplication"] "spec.template.driver.annotations";
    Operator "flink.apache.org" ["FlinkDeployment"] "spec.podTemplate.metadata";
    Operator "ray.io" ["RayCluster", "RayJob", "RayService"] "";
    Operator "machinelearning.seldon.io" ["SeldonDeployment"] "";
    Operator "mlops.seldon.io" ["Model"] "";
    Fragment "serving.kserve.io" ["ServingRuntime", "ClusterServingRuntime", "LLMInferenceService",
        "LLMInferenceServiceConfig"] "";
    Fragment "apps.kruise.io" ["SidecarSet"] "";

    // Queues.
    Operator "kafka.strimzi.io" ["Kafka"] "spec.kafka.template.pod.metadata";
    Operator "kafka.strimzi.io" ["KafkaBridge", "KafkaConnect", "KafkaMirrorMaker", "KafkaMirrorMaker2", "KafkaNodePool"]
        "spec.template.pod.metadata";
    Operator "kafka.banzaicloud.io" ["KafkaCluster"] "";
    Operator "platform.confluent.io" ["Connect", "ControlCenter", "Kafka", "KafkaRestProxy", "KRaftController", "KsqlDB",
        "SchemaRegistry", "Zookeeper"] "spec.podTemplate.annotations";
    Operator "cluster.redpanda.com" ["Redpanda"] "";
    Operator "rabbitmq.com" ["RabbitmqCluster"] "spec.override.statefulSet.spec.template.metadata";
    Operator "broker.amq.io" ["ActiveMQArtemis"] "";
    Operator "nats.io" ["NatsCluster"] "";
    Operator "apps.emqx.io" ["EMQX", "EmqxBroker", "EmqxEnterprise"] "";
    Operator "hivemq.com" ["HiveMQCluster", "HiveMQPlatform"] "";
    Operator "zookeeper.pravega.io" ["ZookeeperCluster"] "";
    Operator "camel.apache.org" ["Integration", "Pipe"] "";

    // Databases and caches.
    Operator "postgresql.cnpg.io" ["Cluster"] "spec.inheritedMetadata";
    Operator "postgresql.cnpg.io" ["Pooler"] "spec.template.metadata";
    Operator "postgres-operator.crunchydata.com" ["PGAdmin", "PostgresCluster"] "spec.metadata";
    Operator "acid.zalan.do" ["postgresql"] "spec.podAnnotations";
    Operator "stackgres.io" ["SGCluster"] "";
    Operator "pxc.percona.com" ["PerconaXtraDBCluster"] "spec.pxc.annotations";
    Operator "ps.percona.com" ["PerconaServerMySQL"] "spec.mysql.annotations";
    Operator "psmdb.percona.com" ["PerconaServerMongoDB"] "spec.replsets[].annotations";
    Operator "pgv2.percona.com" ["PerconaPGCluster"] "spec.metadata";
    Operator "mysql.oracle.com" ["InnoDBCluster"] "spec.podAnnotations";
    Operator "mysql.presslabs.org" ["MysqlCluster"] "spec.podSpec.annotations";
    Operator "k8s.mariadb.com" ["MariaDB", "MaxScale"] "spec.podMetadata";
    Operator "mongodbcommunity.mongodb.com" ["MongoDBCommunity"] "spec.statefulSet";
    Operator "cassandra.datastax.com" ["CassandraDatacenter"] "spec.podTemplateSpec.metadata";
    Operator "k8ssandra.io" ["K8ssandraCluster"] "";
    Operator "scylla.scylladb.com" ["ScyllaCluster"] "";
    Operator "crdb.cockroachlabs.com" ["CrdbCluster"] "";
    Operator "pingcap.com" ["TidbCluster"] "spec.annotations";
    Operator "database.arangodb.com" ["ArangoDeployment"] "";
    Operator "asdb.aerospike.com" ["AerospikeCluster"] "";
    Operator "clickhouse.altinity.com" ["ClickHouseInstallation"] "spec.templates.podTemplates[].metadata";
    Operator "clickhouse-keeper.altinity.com" ["ClickHouseKeeperInstallation"] "spec.templates.podTemplates[].metadata";
    Operator "druid.apache.org" ["Druid"] "spec.podAnnotations";
    Operator "solr.apache.org" ["SolrCloud"] "spec.customSolrKubeOptions.podOptions.annotations";
    Operator "infinispan.org" ["Infinispan"] "";
    Operator "hazelcast.com" ["Hazelcast", "ManagementCenter"] "";
    Operator "couchbase.com" ["CouchbaseCluster"] "";
    Operator "planetscale.com" ["VitessCluster"] "";
    Operator "mongodb.com" ["MongoDB", "MongoDBMultiCluster", "MongoDBOpsManager"] "";
    Operator "kubedb.com" ["Cassandra", "ClickHouse", "Druid", "Elasticsearch", "FerretDB", "Kafka", "MariaDB", "Memcached",
        "MongoDB", "MSSQLServer", "MySQL", "PerconaXtraDB", "PgBouncer", "Pgpool", "Postgres", "ProxySQL", "RabbitMQ",
        "Redis", "RedisSentinel", "Singlestore", "Solr", "ZooKeeper"] "";
    Operator "dragonflydb.io" ["Dragonfly"] "spec.annotations";
    Operator "redis.redis.opstreelabs.in" ["Redis", "RedisCluster", "RedisReplication", "RedisSentinel"] "";
    Operator "databases.spotahome.com" ["RedisFailover"] "spec.redis.podAnnotations";
    Operator "app.redislabs.com" ["RedisEnterpriseCluster"] "";
    Operator "valkey.io" ["ValkeyCluster", "ValkeyNode"] "";

    // Search.
    Operator "elasticsearch.k8s.elastic.co" ["Elasticsearch"] "spec.nodeSets[].podTemplate.metadata";
    Operator "kibana.k8s.elastic.co" ["Kibana"] "spec.podTemplate.metadata";
    Operator "apm.k8s.elastic.co" ["ApmServer"] "spec.podTemplate.metadata";
    Operator "beat.k8s.elastic.co" ["Beat"] "";
    Operator "agent.k8s.elastic.co" ["Agent"] "";
    Operator "enterprisesearch.k8s.elastic.co" ["EnterpriseSearch"] "spec.podTemplate.metadata";
    Operator "logstash.k8s.elastic.co" ["Logstash"] "spec.podTemplate.metadata";
    Operator "maps.k8s.elastic.co" ["ElasticMapsServer"] "spec.podTemplate.metadata";
    Operator "opensearch.opster.io" ["OpenSearchCluster"] "";

    // Storage.
    Operator "ceph.rook.io" ["CephCluster"] "spec.annotations";
    Operator "ceph.rook.io" ["CephFilesystem"] "spec.metadataServer.annotations";
    Operator "ceph.rook.io" ["CephObjectStore"] "spec.gateway.annotations";
    Operator "ceph.rook.io" ["CephNFS"] "spec.server.annotations";
    Operator "minio.min.io" ["Tenant"] "spec.pools[].annotations";

    // Observability.
    OperatorWithContainers "monitoring.coreos.com" ["Alertmanager", "Prometheus", "PrometheusAgent", "ThanosRuler"]
        "spec.podMetadata";
    OperatorWithContainers "operator.victoriametrics.com" ["VLAgent", "VLSingle", "VLogs", "VMAgent", "VMAlert",
        "VMAlertmanager", "VMAnomaly", "VMAuth", "VMSingle", "VTSingle"] "spec.podMetadata";
    OperatorWithContainers "operator.victoriametrics.com" ["VLCluster", "VMCluster", "VTCluster"] "";
    Operator "opentelemetry.io" ["OpenTelemetryCollector", "OpAMPBridge", "TargetAllocator"] "spec.podAnnotations";
    Operator "jaegertracing.io" ["Jaeger"] "spec.annotations";
    Operator "grafana.integreatly.org" ["Grafana"] "spec.deployment.spec.template.metadata";
    Operator "loki.grafana.com" ["LokiStack"] "";
    Operator "tempo.grafana.com" ["TempoMonolithic", "TempoStack"] "";
    Operator "monitoring.grafana.com" ["GrafanaAgent"] "";
    Operator "collectors.grafana.com" ["Alloy"] "";
    Operator "logging.banzaicloud.io" ["FluentbitAgent", "Logging", "NodeAgent"] "";
    Operator "logging.openshift.io" ["ClusterLogging"] "";
    Operator "fluentbit.fluent.io" ["FluentBit"] "spec.annotations";
    Operator "fluentd.fluent.io" ["Fluentd"] "spec.annotations";
    Operator "datadoghq.com" ["DatadogAgent"] "";
    Operator "dynatrace.com" ["DynaKube", "EdgeConnect"] "";
}

/// Maximum depth of the search, deeper than any pod template.
const DEPTH: usize = 32;

/// The pods that an object of an operator describes.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedPods<'t> {
    /// The complete pod templates: every container has a name and an image.
    pub workloads: Vec<Workload<'t>>,
    /// The first part of a pod that is not complete, and why it is not judged.
    pub incomplete: Option<(NodeRef<'t>, IncompletePod)>,
}

/// Why the part of a pod in an object is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompletePod {
    /// An operator adds it to a pod that it generates.
    Patch,
    /// It is a pattern that a policy compares or merges with other objects.
    Policy,
    /// The parameters of an OpenShift template are not filled in.
    Template,
}

/// Returns the pods that `object` describes below `spec`, if its kind is not known.
#[must_use]
pub fn embedded_pods<'t>(object: &Object<'t>) -> EmbeddedPods<'t> {
    let (group, kind) = (object.group(), object.kind);
    let mut search = Search {
        object,
        found: EmbeddedPods::default(),
    };
    let tree = object.node.tree();
    let may_have_pods = || tree.contains_text("containers") || tree.contains_text("Probe");
    let is_revision = group == KNATIVE_SERVING && kind != "Revision";
    let is_template = is_openshift_template(object);
    let source = PodMaker::of(group, kind).map(|maker| maker.source);
    if !(may_create_pods(group, kind) || is_template)
        || matches!(source, Some(PodSource::Values | PodSource::Deployment))
        || is_revision
        || !may_have_pods()
    {
        return search.found;
    }
    let root = FieldPath::root();
    if is_template {
        let objects = object.node.get("objects");
        search.visit(objects, None, &root.child("objects"), DEPTH);
        return search.incomplete_as(IncompletePod::Template);
    }
    let spec = object.node.get("spec");
    search.visit(spec, Some((object.node, &root)), &root.child("spec"), DEPTH);
    if is_policy(group) {
        search.incomplete_as(IncompletePod::Policy)
    } else if matches!(
        source,
        Some(PodSource::OperatorWithContainers | PodSource::Fragment)
    ) {
        search.incomplete_as(IncompletePod::Patch)
    } else {
        search.found
    }
}

/// Returns whether the object is a template of OpenShift. Old ones have the API version `v1`.
fn is_openshift_template(object: &Object<'_>) -> bool {
    let is_old = object.group().is_empty() && object.node.get("objects").is_some();
    object.kind == "Template" && (is_old || object.group() == "template.openshift.io")
}

/// Returns whether objects of this group contain patterns of other objects.
fn is_policy(group: &str) -> bool {
    group == "kyverno.io"
        || group.ends_with(".kyverno.io")
        || group.ends_with(".gatekeeper.sh")
        || group.starts_with("policy.")
}

struct Search<'o, 't> {
    object: &'o Object<'t>,
    found: EmbeddedPods<'t>,
}

impl<'t> Search<'_, 't> {
    /// Returns what was found with all pods as incomplete ones.
    fn incomplete_as(mut self, why: IncompletePod) -> EmbeddedPods<'t> {
        let first = self
            .found
            .workloads
            .drain(..)
            .map(|workload| workload.template.spec)
            .chain(self.found.incomplete.map(|(node, _)| node))
            .min_by_key(|node| node.id());
        EmbeddedPods {
            workloads: Vec::new(),
            incomplete: first.map(|node| (node, why)),
        }
    }

    /// Searches a node at `path`. `parent` is the mapping that contains it as `spec`, with its path. Aliases are not
    /// followed, because the search also visits their anchors.
    fn visit(
        &mut self,
        node: Option<NodeRef<'t>>,
        parent: Option<(NodeRef<'t>, &FieldPath)>,
        path: &FieldPath,
        depth: usize,
    ) {
        let (Some(node), Some(depth)) = (node, depth.checked_sub(1)) else {
            return;
        };
        if let Some(is_complete) = containers_of(node) {
            if is_complete {
                let workload = self.workload(node, parent, path);
                self.found.workloads.push(workload);
            } else {
                self.add_incomplete(node);
            }
            return;
        }
        if has_probe(node) {
            self.add_incomplete(node);
        }
        for entry in node.entries() {
            let Some(key) = entry.key.text() else {
                continue;
            };
            let child = path.child(key.to_owned());
            let parent = (key == "spec").then_some((node, path));
            self.visit(Some(entry.value), parent, &child, depth);
        }
        for (index, item) in node.items().enumerate() {
            self.visit(Some(item), None, &path.child(index), depth);
        }
    }

    fn add_incomplete(&mut self, node: NodeRef<'t>) {
        self.found
            .incomplete
            .get_or_insert((node, IncompletePod::Patch));
    }

    fn workload(
        &self,
        spec: NodeRef<'t>,
        parent: Option<(NodeRef<'t>, &FieldPath)>,
        path: &FieldPath,
    ) -> Workload<'t> {
        let (node, within, placement) = match parent {
            Some((node, within)) => (node, within, Placement::Embedded),
            None => (spec, path, Placement::EmbeddedSpec),
        };
        let object = self.object.clone();
        let template = PodTemplate::new(node, spec, &object.route, within.clone(), placement);
        let template = with_component_metadata(template, &object);
        Workload { object, template }
    }
}

/// Returns whether all containers of a pod spec are complete; `None` for a node that is not a pod spec.
fn containers_of(node: NodeRef<'_>) -> Option<bool> {
    let is_set = |container: NodeRef<'_>, key: &str| {
        let text = container.get(key).and_then(NodeRef::text);
        text.is_some_and(|text| !text.is_empty())
    };
    let containers = node.get("containers")?;
    let mut items = containers.items().peekable();
    items.peek()?;
    let mut is_complete = true;
    for container in items {
        if !is_set(container, "name") {
            return None;
        }
        is_complete &= is_set(container, "image");
    }
    Some(is_complete)
}

/// Returns whether a mapping has a probe that does not execute a command. An operator adds it to a container that it
/// generates; without a handler, it also adds the handler.
fn has_probe(node: NodeRef<'_>) -> bool {
    const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
    const FIELDS: [&str; 9] = [
        "httpGet",
        "tcpSocket",
        "grpc",
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
        "terminationGracePeriodSeconds",
    ];
    let is_probe = |probe: NodeRef<'_>| {
        probe.get("exec").is_none() && FIELDS.iter().any(|key| probe.get(key).is_some())
    };
    node.is_mapping() && PROBES.iter().filter_map(|key| node.get(key)).any(is_probe)
}

/// The fields of an `InferenceService` that describe pods.
const COMPONENTS: [&str; 3] = ["predictor", "transformer", "explainer"];

/// Iterates over the components of an `InferenceService`, each with its key; none for other objects.
pub fn inference_components<'t>(
    object: &Object<'t>,
) -> impl Iterator<Item = (NodeRef<'t>, NodeRef<'t>)> + use<'t> {
    let is_service = object.group() == "serving.kserve.io" && object.kind == "InferenceService";
    let spec = object.node.get("spec").filter(|_| is_service);
    COMPONENTS
        .into_iter()
        .filter_map(move |key| spec?.entry(key))
        .filter(|entry| entry.value.is_mapping())
        .map(|entry| (entry.key, entry.value))
}

/// Sets the labels and annotations that KServe gives the pods of a component.
pub(super) fn with_component_metadata<'t>(
    template: PodTemplate<'t>,
    object: &Object<'t>,
) -> PodTemplate<'t> {
    let component = template.spec;
    let is_component = inference_components(object).any(|(_, node)| node == component);
    match is_component {
        true => template.with_metadata(component, object.metadata()),
        false => template,
    }
}
