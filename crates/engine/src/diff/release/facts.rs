//! The changes of behaviour that affect probes, by release of Istio.

use meshprobe_mesh::mesh::istio::rewrite::{GRPC_SIMPLE_OPTS_OUT, HOST_HEADER_DROPPED};
use meshprobe_mesh::mesh::{ReleaseChange, Version};

use super::release_fact::{Edge, Effect, ReleaseFact};

const fn since(minor: u16) -> ReleaseChange {
    ReleaseChange::new(Version::new(1, minor), &[])
}

/// The releases that exclude pods on the host network from ambient mode for the first time.
const HOST_PODS_EXCLUDED_FIRST: ReleaseChange =
    ReleaseChange::new(Version::new(1, 23), &[(22, 2)]).until(Version::new(1, 27));

/// All facts, oldest first.
pub(super) const FACTS: &[ReleaseFact] = &[
    ReleaseFact {
        effect: Effect::LegacyPoliciesIgnored,
        change: since(6),
        edge: Edge::Begins,
        release: "1.6",
        text: "the mesh ignores the kind Policy and the annotation `auth.istio.io/PORT`",
        source: "pkg/config/schema/metadata.yaml",
        rules: &["legacy-auth-annotation", "legacy-authentication-api"],
    },
    ReleaseFact {
        effect: Effect::RewriteByDefault,
        change: since(7),
        edge: Edge::Begins,
        release: "1.7",
        text: "the charts switch the probe rewrite on",
        source: "values.yaml of the chart istio-discovery",
        rules: &["rewrite-off-before-1-6"],
    },
    ReleaseFact {
        effect: Effect::PodAddressCalled,
        change: since(10),
        edge: Edge::Begins,
        release: "1.10",
        text: "the sidecar and the agent call the address of the pod instead of 127.0.0.1",
        source: "pilot/cmd/pilot-agent/status/server.go",
        rules: &["localhost-destination-changed"],
    },
    ReleaseFact {
        effect: Effect::InjectLabelRead,
        change: since(12),
        edge: Edge::Begins,
        release: "1.12",
        text: "the injector reads `sidecar.istio.io/inject` as a label, too",
        source: "injectRequired in pkg/kube/inject/inject.go",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::TcpSocketRewritten,
        change: since(12),
        edge: Edge::Begins,
        release: "1.12",
        text: "the injector rewrites tcpSocket probes",
        source: "pkg/kube/inject/app_probe.go",
        rules: &["tcp-probe-needs-1-12"],
    },
    ReleaseFact {
        effect: Effect::ProxylessOptOut,
        change: since(12),
        edge: Edge::Begins,
        release: "1.12",
        text: "the templates `grpc-agent` and `grpc-simple` switch the rewrite off",
        source: "files/grpc-agent.yaml of the chart istio-discovery",
        rules: &["proxyless-template-no-rewrite"],
    },
    ReleaseFact {
        effect: Effect::GrpcRewritten,
        change: since(13),
        edge: Edge::Begins,
        release: "1.13",
        text: "the injector rewrites grpc probes",
        source: "pkg/kube/inject/app_probe.go",
        rules: &["grpc-probe-needs-1-13"],
    },
    ReleaseFact {
        effect: Effect::ProberEnvMerged,
        change: since(17),
        edge: Edge::Begins,
        release: "1.17",
        text: "a second injection keeps the entries of the prober env",
        source: "mergeOrAppendProbers in pkg/kube/inject/webhook.go",
        rules: &["probers-lost-on-reinjection"],
    },
    ReleaseFact {
        effect: Effect::GrpcSimpleOptOut,
        change: GRPC_SIMPLE_OPTS_OUT,
        edge: Edge::Begins,
        release: "1.18 (1.17.3)",
        text: "the template `grpc-simple` switches the rewrite off for pods with a sidecar of their own",
        source: "files/grpc-simple.yaml of the chart istio-discovery",
        rules: &["proxyless-template-no-rewrite"],
    },
    ReleaseFact {
        effect: Effect::HostHeaderDropped,
        change: HOST_HEADER_DROPPED,
        edge: Edge::Begins,
        release: "1.18.1",
        text: "the agent drops the header `Host` of a probe",
        source: "handleAppProbeHTTPGet in pilot/cmd/pilot-agent/status/server.go",
        rules: &["host-header-dropped"],
    },
    ReleaseFact {
        effect: Effect::HostHeaderKept,
        change: HOST_HEADER_DROPPED,
        edge: Edge::Ends,
        release: "1.18.3",
        text: "the agent keeps the header `Host` of a probe, which 1.18.1 and 1.18.2 drop",
        source: "istio#46087",
        rules: &["host-header-dropped"],
    },
    ReleaseFact {
        effect: Effect::InitContainersRewritten,
        change: since(19),
        edge: Edge::Begins,
        release: "1.19",
        text: "the injector rewrites the probes of init containers",
        source: "pkg/kube/inject/app_probe.go",
        rules: &["init-probe-needs-1-19"],
    },
    ReleaseFact {
        effect: Effect::RestartPolicyKept,
        change: since(19),
        edge: Edge::Begins,
        release: "1.19",
        text: "the injector keeps `restartPolicy` of init containers",
        source: "istio#45959",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::TcpSwitchRemoved,
        change: since(19),
        edge: Edge::Begins,
        release: "1.19",
        text: "istiod ignores `REWRITE_TCP_PROBES`",
        source: "pilot/pkg/features",
        rules: &["tcp-probe-always-passes"],
    },
    ReleaseFact {
        effect: Effect::HostPodsExcludedFirst,
        change: HOST_PODS_EXCLUDED_FIRST,
        edge: Edge::Begins,
        release: "1.22.2",
        text: "istio-cni does not enroll pods on the host network in ambient mode",
        source: "cni/pkg/util/podutil.go, istio#51711",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::AmbientBypassRead,
        change: since(24),
        edge: Edge::Begins,
        release: "1.24",
        text: "the annotation `ambient.istio.io/bypass-inbound-capture` has an effect",
        source: "cni/pkg/nodeagent/net.go",
        rules: &["ambient-inbound-bypass"],
    },
    ReleaseFact {
        effect: Effect::NativeAnnotationRead,
        change: since(24),
        edge: Edge::Begins,
        release: "1.24",
        text: "the annotation `sidecar.istio.io/nativeSidecar` decides",
        source: "pkg/kube/inject/webhook.go",
        rules: &["native-sidecar-startup-deadlock"],
    },
    ReleaseFact {
        effect: Effect::MachineCertificatesVerified,
        change: since(24),
        edge: Edge::Begins,
        release: "1.24",
        text: "the agent of a virtual machine verifies the certificate of an HTTPS check",
        source: "pkg/istio-agent/health/health_check.go",
        rules: &["vm-https-verified"],
    },
    ReleaseFact {
        effect: Effect::HooksRewritten,
        change: since(25),
        edge: Edge::Begins,
        release: "1.25",
        text: "the injector rewrites lifecycle hooks",
        source: "pkg/kube/inject/app_probe.go",
        rules: &[
            "lifecycle-hook-host-rewritten",
            "poststart-http-before-sidecar",
        ],
    },
    ReleaseFact {
        effect: Effect::HookEntriesAccepted,
        change: since(25),
        edge: Edge::Begins,
        release: "1.25",
        text: "the agent accepts entries of lifecycle hooks; older agents do not start with them",
        source: "pilot/cmd/pilot-agent/status/server.go",
        rules: &["lifecycle-key-needs-1-25"],
    },
    ReleaseFact {
        effect: Effect::ProberEnvAppended,
        change: since(27),
        edge: Edge::Begins,
        release: "1.27",
        text: "a second injection adds the prober env if it is missing",
        source: "istio#56102",
        rules: &["probers-lost-on-reinjection", "late-injected-container"],
    },
    ReleaseFact {
        effect: Effect::InjectLabelExact,
        change: since(27),
        edge: Edge::Begins,
        release: "1.27",
        text: "`sidecar.istio.io/inject` accepts only `true` and `false`",
        source: "injectRequired in pkg/kube/inject/inject.go",
        rules: &["inject-label-invalid", "inject-value-changed-in-1-27"],
    },
    ReleaseFact {
        effect: Effect::NativeSidecarsByDefault,
        change: since(27),
        edge: Edge::Begins,
        release: "1.27",
        text: "sidecars are native where all nodes run Kubernetes 1.33 or later",
        source: "ENABLE_NATIVE_SIDECARS in pilot/pkg/features",
        rules: &["sidecar-boot-kills-app"],
    },
    ReleaseFact {
        effect: Effect::HostPodsExclusionLost,
        change: HOST_PODS_EXCLUDED_FIRST,
        edge: Edge::Ends,
        release: "1.27",
        text: "istio-cni does not exclude pods on the host network from ambient mode any more",
        source: "cni/pkg/util/podutil.go, istio#56048",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::TagServicesRead,
        change: since(28),
        edge: Edge::Begins,
        release: "1.28",
        text: "a Service with the label `istio.io/tag` maps a revision tag",
        source: "templates/revision-tags-svc.yaml of the chart istio-discovery",
        rules: &["revision-not-installed"],
    },
    ReleaseFact {
        effect: Effect::QuantitiesValidated,
        change: ReleaseChange::new(Version::new(1, 29), &[(27, 6), (28, 4)]),
        edge: Edge::Begins,
        release: "1.29 (1.27.6, 1.28.4)",
        text: "the injector refuses pods whose annotations contain invalid quantities",
        source: "istio#58928",
        rules: &["invalid-traffic-annotation"],
    },
    ReleaseFact {
        effect: Effect::InterfacesValidated,
        change: since(30),
        edge: Edge::Begins,
        release: "1.30",
        text: "the injector refuses pods whose annotations contain invalid names of interfaces",
        source: "ValidateInterfaceNames in pkg/util/net/ip.go",
        rules: &["invalid-traffic-annotation"],
    },
    ReleaseFact {
        effect: Effect::NamespacesExcluded,
        change: since(30),
        edge: Edge::Begins,
        release: "1.30",
        text: "istio-cni applies `excludeNamespaces` in ambient mode",
        source: "istio#59295",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::OwnInterfacesInAmbient,
        change: ReleaseChange::new(Version::new(1, 30), &[(28, 7), (29, 3)]),
        edge: Edge::Begins,
        release: "1.30 (1.28.7, 1.29.3)",
        text: "ambient mode supports pods with a network interface of their own",
        source: "istio#59778",
        rules: &["ambient-plugin-drops-probes"],
    },
    ReleaseFact {
        effect: Effect::HostPodsExcluded,
        // The branches release-1.29 and release-1.30 contain the backports, the tags 1.29.6 and 1.30.3 do not.
        change: ReleaseChange::new(Version::new(1, 31), &[(29, 7), (30, 4)]),
        edge: Edge::Begins,
        release: "1.31 (1.29.7, 1.30.4)",
        text: "istio-cni does not enroll pods on the host network in ambient mode",
        source: "cni/pkg/util/enablement_selector.go, istio#61168",
        rules: &[],
    },
    ReleaseFact {
        effect: Effect::PrometheusPortsChecked,
        change: since(31),
        edge: Edge::Begins,
        release: "1.31",
        text: "the injector refuses pods whose metrics cannot be merged",
        source: "istio#59924",
        rules: &["prometheus-port-refused"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::explained;

    #[test]
    fn facts_are_in_the_order_of_the_releases() {
        let release = |fact: &ReleaseFact| {
            let first = fact.release.split(' ').next().unwrap_or_default();
            let numbers = first
                .split('.')
                .map(|number| number.parse::<u16>().unwrap());
            numbers.collect::<Vec<u16>>()
        };
        let releases: Vec<Vec<u16>> = FACTS.iter().map(release).collect();
        assert!(releases.is_sorted(), "{releases:?}");
    }

    #[test]
    fn the_rules_of_facts_exist() {
        let known = explained();
        for rule in FACTS.iter().flat_map(|fact| fact.rules) {
            assert!(
                known.iter().any(|notice| notice.id.as_str() == *rule),
                "{rule}"
            );
        }
    }
}
