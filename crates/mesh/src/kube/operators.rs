//! The kinds of other tools that create pods, and what their objects contain.
//!
//! Source of the groups, kinds and fields: the definitions of the operators, most of them as collected in
//! github.com/datreeio/CRDs-catalog (2026). Of others: Kiali, the reference of its custom resource
//! (`spec.deployment.pod_annotations`); cass-operator, `cassandradatacenter_types.go`; the WebLogic operator, `Domain.md`
//! ("Server Pod"); Kyma, `function_types.go` of serverless.

use PodSource::{Deployment, Fragment, Operator, OperatorWithContainers, Values};

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
