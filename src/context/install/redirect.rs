//! What the installation says of the redirect, the agent, and where the sidecar stands.
//!
//! Source: Istio 1.31, `pkg/kube/inject/app_probe.go`, `pilot/cmd/pilot-agent/config/config.go`,
//! `manifests/charts/istio-control/istio-discovery/files/injection-template.yaml`,
//! `pilot/pkg/features/pilot.go`.

use crate::finding::Certainty;
use crate::kube::Workload;
use crate::mesh::istio::install::NativeSidecars;
use crate::mesh::istio::keys::{self, DEFAULT_STATUS_PORT};
use crate::mesh::{Fact, Version};
use crate::settings::Facts;

use super::super::Context;
use super::super::pod::proxy_config;
use super::InstallView;
use super::facts::Question;

/// Since when `ENABLE_NATIVE_SIDECARS` is `auto`.
const AUTO_NATIVE: Version = Version::new(1, 27);
/// The Kubernetes release that all nodes must have for `auto` to mean yes.
const NATIVE_NODES: Version = Version::new(1, 33);
/// Since when a pod may choose.
const NATIVE_ANNOTATION: Version = Version::new(1, 24);

impl<'t> Context<'t> {
    /// Returns `meshConfig.defaultConfig.statusPort`: where the injector points probes at, and
    /// where the agent listens, unless the pod says otherwise.
    #[must_use]
    pub fn mesh_status_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        let default = || default_port("the agent listens on port");
        let view = self.install(workload);
        view.answer(
            self.status_port_question(workload),
            |one| one.mesh_status_port.as_ref(),
            default,
        )
    }

    /// Returns `global.proxy.statusPort`: the port that the redirect leaves alone, unless the pod
    /// says otherwise.
    #[must_use]
    pub fn proxy_status_port(&self, workload: &Workload<'t>) -> Fact<i64> {
        self.proxy_status_port_in(workload, &self.install(workload))
    }

    pub(in super::super) fn proxy_status_port_in(
        &self,
        workload: &Workload<'t>,
        view: &InstallView<'_>,
    ) -> Fact<i64> {
        let default = || default_port("the redirect leaves alone port");
        view.answer(
            self.status_port_question(workload),
            |one| one.proxy_status_port.as_ref(),
            default,
        )
    }

    fn status_port_question(&self, workload: &Workload<'t>) -> Question<i64> {
        let said = self.given(&workload.object);
        let given = |facts: &Facts| facts.status_port.map(i64::from);
        Question {
            what: "status port",
            settle: "--assume status-port=PORT",
            overridden: given(&said.overrides),
            assumed: given(&said.assume),
        }
    }

    /// Tells whether the CNI plugin sets up the redirect, and not an init container.
    #[must_use]
    pub fn cni(&self, workload: &Workload<'t>) -> Fact<bool> {
        self.cni_in(workload, &self.install(workload))
    }

    pub(in super::super) fn cni_in(
        &self,
        workload: &Workload<'t>,
        view: &InstallView<'_>,
    ) -> Fact<bool> {
        let given = self.given(&workload.object);
        const SETTLE: &str = "--assume cni=true|false";
        let question = Question {
            what: "CNI plugin",
            settle: SETTLE,
            overridden: given.overrides.cni,
            assumed: given.assume.cni,
        };
        view.answer(
            question,
            |one| one.cni.as_ref(),
            || {
                Fact::default(
                    false,
                    "an init container sets up the redirect (default)",
                    SETTLE,
                )
            },
        )
    }

    /// Tells whether the sidecar is a native one: an init container that starts before the
    /// application. The annotation of the pod decides before the installation does (1.24+).
    #[must_use]
    pub fn native_sidecars(&self, workload: &Workload<'t>) -> Fact<NativeSidecars> {
        const SETTLE: &str = "--assume native-sidecars=true|false";
        let given = |native| {
            if native {
                NativeSidecars::On
            } else {
                NativeSidecars::Off
            }
        };
        if let Some(native) = self.given(&workload.object).overrides.native_sidecars {
            let said = format!("native sidecars = {native} (--override)");
            return Fact::settled(given(native), said);
        }
        let version = self.version(workload);
        let release = version.value;
        if release.is_none_or(|release| release >= NATIVE_ANNOTATION)
            && let Some(fact) = own_choice(workload, release)
        {
            return fact;
        }
        let view = self.install(workload);
        if let Some(fact) = view.fact(SETTLE, |one| one.native_sidecars.as_ref()) {
            return self.by_nodes(workload, fact);
        }
        if let Some(native) = self.given(&workload.object).assume.native_sidecars {
            let said = format!("native sidecars = {native} (--assume)");
            return Fact::assumed(given(native), said, None);
        }
        let fact = if release.is_none_or(|release| release >= AUTO_NATIVE) {
            let said = "native sidecars = auto (default since 1.27): where all nodes are of \
                        Kubernetes 1.33 or later";
            Fact::default(NativeSidecars::Auto, said, SETTLE)
        } else {
            let said = "native sidecars are off (default before 1.27)";
            Fact::default(NativeSidecars::Off, said, SETTLE)
        };
        let fact = self.by_nodes(workload, fact);
        match view.unread() {
            Some(unread) => fact.resting_on(&unread),
            None => fact,
        }
    }

    /// `auto` asks the nodes, of which only an option can speak.
    fn by_nodes(
        &self,
        workload: &Workload<'t>,
        fact: Fact<NativeSidecars>,
    ) -> Fact<NativeSidecars> {
        if fact.value != NativeSidecars::Auto {
            return fact;
        }
        let given = self.given(&workload.object);
        let (version, option, certainty) =
            match (given.overrides.node_version, given.assume.node_version) {
                (Some(version), _) => (version, "--override", Certainty::Known),
                (None, Some(version)) => (version, "--assume", Certainty::Assumed),
                (None, None) => return unasked(fact),
            };
        let native = if version >= NATIVE_NODES {
            NativeSidecars::On
        } else {
            NativeSidecars::Off
        };
        let nodes = Fact {
            certainty,
            ..Fact::settled((), format!("the nodes run Kubernetes {version} ({option})"))
        };
        fact.map(|_| native).resting_on(&nodes)
    }

    /// Tells whether the application waits for the sidecar (`holdApplicationUntilProxyStarts`).
    #[must_use]
    pub fn hold_application(&self, workload: &Workload<'t>) -> Fact<bool> {
        let template = &workload.template;
        let own = proxy_config(workload).and_then(|config| config.hold_application());
        if let (Some(hold), Some(entry)) = (own, template.annotation(keys::PROXY_CONFIG)) {
            let said = if hold {
                "the application waits"
            } else {
                "the application does not wait"
            };
            return Fact::known(hold, workload.object.label_at(entry.key.span(), said));
        }
        self.install(workload)
            .fact("proxy.istio.io/config", |one| one.hold_application.as_ref())
            .unwrap_or_else(|| Fact {
                certainty: Certainty::Default,
                ..Fact::settled(
                    false,
                    "the application does not wait for the sidecar (default)",
                )
            })
    }

    /// Tells whether ambient mode is on, as far as an option or the tree says so.
    #[must_use]
    pub fn ambient(&self, workload: &Workload<'t>) -> Option<Fact<bool>> {
        if let Some(value) = self.given(&workload.object).overrides.ambient {
            return Some(Fact::settled(
                value,
                format!("ambient mode = {value} (--override)"),
            ));
        }
        let view = self.install(workload);
        let assumed = || {
            let value = self.given(&workload.object).assume.ambient?;
            Some(Fact::assumed(
                value,
                format!("ambient mode = {value} (--assume)"),
                None,
            ))
        };
        view.fact("--override ambient=true|false", |one| one.ambient.as_ref())
            .or_else(assumed)
    }
}

/// Nothing says which Kubernetes the nodes run, so that `auto` has no answer.
fn unasked(auto: Fact<NativeSidecars>) -> Fact<NativeSidecars> {
    let said = "native sidecars = auto; node version unknown: where a node is of Kubernetes before \
                1.33 the sidecar is no native one";
    let open = Fact::assumed((), said, Some("--assume node-version=1.33"));
    // What is not written is said by the assumption already.
    let because = auto.because.into_iter().filter(|one| one.place.is_some());
    let auto = Fact {
        because: because.collect(),
        ..auto
    };
    auto.resting_on(&open)
}

fn default_port(said: &str) -> Fact<i64> {
    let port = i64::from(DEFAULT_STATUS_PORT);
    Fact::default(port, format!("{said} {port}"), "--assume status-port=PORT")
}

/// Up to 1.26 only "true" is a yes, from 1.27 on only "false" is a no (injection-template.yaml).
fn own_choice(workload: &Workload<'_>, release: Option<Version>) -> Option<Fact<NativeSidecars>> {
    let entry = workload.template.annotation(keys::NATIVE_SIDECAR)?;
    let native = match (entry.value.text()?, release) {
        ("true", _) => true,
        ("false", _) => false,
        (_, release) => release.is_none_or(|release| release >= AUTO_NATIVE),
    };
    let (value, said) = if native {
        (NativeSidecars::On, "the sidecar is a native one")
    } else {
        (NativeSidecars::Off, "the sidecar is no native one")
    };
    let place = workload.object.label_at(entry.value.span(), said);
    Some(Fact::known(value, place))
}
