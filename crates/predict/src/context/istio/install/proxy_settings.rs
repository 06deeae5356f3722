//! Facts of the installation about the capture, the agent, and the order of sidecar and application.
//!
//! Source: Istio 1.31, `pkg/kube/inject/app_probe.go`, `pilot/cmd/pilot-agent/config/config.go`,
//! `manifests/charts/istio-control/istio-discovery/files/injection-template.yaml`,
//! `pilot/pkg/features/pilot.go`.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::istio::install::NativeSidecars;
use meshprobe_mesh::mesh::istio::keys::{self, DEFAULT_STATUS_PORT};
use meshprobe_mesh::mesh::{Fact, Version};
use meshprobe_mesh::settings::FactOverrides;

use crate::context::istio::install::facts::Question;
use crate::context::istio::install::view::InstallView;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::istio::rewriting::proxy_config;

/// The first release in which the default of `ENABLE_NATIVE_SIDECARS` is `auto`.
const AUTO_NATIVE: Version = Version::new(1, 27);
/// The minimum Kubernetes version of all nodes for `auto` to enable native sidecars.
const NATIVE_NODES: Version = Version::new(1, 33);
/// The first release in which an annotation of the pod decides.
const NATIVE_ANNOTATION: Version = Version::new(1, 24);

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns `meshConfig.defaultConfig.statusPort`: the port that rewritten probes target and on
    /// which the agent listens, unless the pod sets another.
    #[must_use]
    pub fn mesh_status_port(&self) -> Fact<i64> {
        let default = || default_port("the agent listens on port");
        let view = self.view();
        view.answer(
            self.status_port_question(),
            |plane| plane.mesh_status_port.as_ref(),
            default,
        )
    }

    /// Returns `global.proxy.statusPort`: the port that the capture excludes, unless the pod sets
    /// another.
    #[must_use]
    pub fn proxy_status_port(&self) -> Fact<i64> {
        self.proxy_status_in(self.view())
    }

    pub(in crate::context) fn proxy_status_in(&self, view: &InstallView<'_>) -> Fact<i64> {
        let default = || default_port("the capture excludes port");
        view.answer(
            self.status_port_question(),
            |plane| plane.proxy_status_port.as_ref(),
            default,
        )
    }

    fn status_port_question(&self) -> Question<i64> {
        let given = self.context.user_facts(&self.workload.object);
        let port = |facts: &FactOverrides| facts.status_port.map(i64::from);
        Question {
            what: "status port",
            settle: "--assume status-port=PORT",
            overridden: port(&given.overrides),
            assumed: port(&given.assume),
        }
    }

    /// Returns whether the CNI plugin sets up the capture, and not an init container.
    #[must_use]
    pub fn cni(&self) -> Fact<bool> {
        self.cni_in(self.view())
    }

    pub(in crate::context) fn cni_in(&self, view: &InstallView<'_>) -> Fact<bool> {
        let given = self.context.user_facts(&self.workload.object);
        const SETTLE: &str = "--assume cni=true|false";
        let question = Question {
            what: "CNI plugin",
            settle: SETTLE,
            overridden: given.overrides.cni,
            assumed: given.assume.cni,
        };
        view.answer(
            question,
            |plane| plane.cni.as_ref(),
            || {
                Fact::default(
                    false,
                    "an init container sets up the capture (default)",
                    SETTLE,
                )
            },
        )
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns whether the sidecar is native: an init container that starts before the application.
    /// The annotation of the pod takes precedence over the installation (1.24+).
    #[must_use]
    pub fn native_sidecars(&self) -> Fact<NativeSidecars> {
        const SETTLE: &str = "--assume native-sidecars=true|false";
        let given = |native| {
            if native {
                NativeSidecars::On
            } else {
                NativeSidecars::Off
            }
        };
        if let Some(native) = self
            .context
            .user_facts(&self.workload.object)
            .overrides
            .native_sidecars
        {
            let message = format!("native sidecars = {native} (--override)");
            return Fact::settled(given(native), message);
        }
        let version = self.version();
        let release = version.value;
        if release.is_none_or(|release| release >= NATIVE_ANNOTATION)
            && let Some(fact) = annotated_choice(self.workload, release)
        {
            return fact;
        }
        let view = self.view();
        if let Some(fact) = view.fact(SETTLE, |plane| plane.native_sidecars.as_ref()) {
            return self.resolve_auto(fact);
        }
        if let Some(native) = self
            .context
            .user_facts(&self.workload.object)
            .assume
            .native_sidecars
        {
            let message = format!("native sidecars = {native} (--assume)");
            return Fact::assumed_by_user(given(native), message);
        }
        let fact = if release.is_none_or(|release| release >= AUTO_NATIVE) {
            let message = "native sidecars = auto (default since 1.27): on if all nodes run \
                        Kubernetes 1.33 or later";
            Fact::default(NativeSidecars::Auto, message, SETTLE)
        } else {
            let message = "native sidecars are off (default before 1.27)";
            Fact::default(NativeSidecars::Off, message, SETTLE)
        };
        let fact = self.resolve_auto(fact);
        match view.unread() {
            Some(unread) => fact.depending_on(&unread),
            None => fact,
        }
    }

    /// Resolves `auto` by the Kubernetes version of the nodes, which only an option can state.
    fn resolve_auto(&self, fact: Fact<NativeSidecars>) -> Fact<NativeSidecars> {
        if fact.value != NativeSidecars::Auto {
            return fact;
        }
        let given = self.context.user_facts(&self.workload.object);
        let (version, option) = match (given.overrides.node_version, given.assume.node_version) {
            (Some(version), _) => (version, "--override"),
            (None, Some(version)) => (version, "--assume"),
            (None, None) => return unknown_nodes(fact),
        };
        let native = if version >= NATIVE_NODES {
            NativeSidecars::On
        } else {
            NativeSidecars::Off
        };
        let message = format!("the nodes run Kubernetes {version} ({option})");
        let nodes = Fact::set_by_user((), message, option == "--override");
        fact.map(|_| native).depending_on(&nodes)
    }

    /// Returns whether the application waits for the sidecar (`holdApplicationUntilProxyStarts`).
    #[must_use]
    pub fn hold_application(&self) -> Fact<bool> {
        let hold = self.requested_hold();
        match self.replaced_hold().filter(|_| hold.value) {
            Some(replaced) => replaced.map(|_| false),
            None => hold,
        }
    }

    /// Returns why the application does not wait, whatever is set: `global.proxy.lifecycle` replaces the hook of the
    /// sidecar.
    #[must_use]
    pub fn replaced_hold(&self) -> Option<Fact<bool>> {
        self.view()
            .fact("proxy.istio.io/config", |plane| {
                plane.replaces_hold.as_ref()
            })
            .filter(|replaces| replaces.value)
    }

    fn requested_hold(&self) -> Fact<bool> {
        let template = &self.workload.template;
        let own = proxy_config(self.workload).and_then(|config| config.hold_application());
        if let (Some(hold), Some(entry)) = (own, template.annotation(keys::PROXY_CONFIG)) {
            let message = if hold {
                "the application waits for the sidecar"
            } else {
                "the application does not wait for the sidecar"
            };
            return Fact::known(
                hold,
                self.workload.object.label_at(entry.key.span(), message),
            );
        }
        self.view()
            .fact("proxy.istio.io/config", |plane| {
                plane.hold_application.as_ref()
            })
            .unwrap_or_else(|| Fact {
                certainty: Certainty::Default,
                ..Fact::settled(
                    false,
                    "the application does not wait for the sidecar (default)",
                )
            })
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns whether ambient mode is on; `None` if neither an option nor the tree states it.
    #[must_use]
    pub fn ambient_mode(&self) -> Option<Fact<bool>> {
        if let Some(value) = self
            .context
            .user_facts(&self.workload.object)
            .overrides
            .ambient
        {
            return Some(Fact::settled(
                value,
                format!("ambient mode = {value} (--override)"),
            ));
        }
        let view = self.view();
        let assumed = || {
            let value = self
                .context
                .user_facts(&self.workload.object)
                .assume
                .ambient?;
            let message = format!("ambient mode = {value} (--assume)");
            Some(Fact::assumed_by_user(value, message))
        };
        view.fact("--override ambient=true|false", |plane| {
            plane.ambient.as_ref()
        })
        .or_else(assumed)
    }
}

/// Returns an assumption for `auto` with an unknown node version.
fn unknown_nodes(auto: Fact<NativeSidecars>) -> Fact<NativeSidecars> {
    let message = "native sidecars = auto, but the node version is unknown: the sidecar is not native if \
                a node runs Kubernetes before 1.33";
    let open = Fact::assumed((), message, Some("--assume node-version=1.33"));
    // The assumption already states the reasons without a place.
    let because = auto
        .because
        .into_iter()
        .filter(|reason| reason.place.is_some());
    let auto = Fact {
        because: because.collect(),
        ..auto
    };
    auto.depending_on(&open)
}

fn default_port(message: &str) -> Fact<i64> {
    let port = i64::from(DEFAULT_STATUS_PORT);
    Fact::default(
        port,
        format!("{message} {port}"),
        "--assume status-port=PORT",
    )
}

/// Returns the choice of the pod's annotation. Up to 1.26 only "true" enables native sidecars, since
/// 1.27 only "false" disables them (injection-template.yaml).
fn annotated_choice(
    workload: &Workload<'_>,
    release: Option<Version>,
) -> Option<Fact<NativeSidecars>> {
    let entry = workload.template.annotation(keys::NATIVE_SIDECAR)?;
    let native = match (entry.value.text()?, release) {
        ("true", _) => true,
        ("false", _) => false,
        (_, release) => release.is_none_or(|release| release >= AUTO_NATIVE),
    };
    let (value, message) = if native {
        (NativeSidecars::On, "the sidecar is native")
    } else {
        (NativeSidecars::Off, "the sidecar is not native")
    };
    let place = workload.object.label_at(entry.value.span(), message);
    Some(Fact::known(value, place))
}
