//! The facts of the installation that holds for a workload: option, tree, assumption, default.

use std::fmt::Display;

use crate::kube::{Object, Workload};
use crate::mesh::istio::install::{Carrier, Install, version_of_image, version_of_revision};
use crate::mesh::istio::keys::{self, DEFAULT_ROOT_NAMESPACE};
use crate::mesh::{Fact, Mesh, Version};

use super::super::Context;
use super::super::pod::{proxy_config, proxy_container};
use super::InstallView;

/// The option that settles the rewrite default.
const REWRITE: &str = "--assume rewrite=true|false";

/// One question about the installation.
pub(super) struct Question<T> {
    /// What the fact is called in messages.
    pub(super) what: &'static str,
    /// The option that settles it.
    pub(super) settle: &'static str,
    /// `--override`.
    pub(super) overridden: Option<T>,
    /// `--assume`.
    pub(super) assumed: Option<T>,
}

impl<'a> InstallView<'a> {
    /// Answers in this order: `--override`, the tree, `--assume`, the documented default.
    pub(super) fn answer<T: Clone + PartialEq + Display + 'a>(
        &self,
        question: Question<T>,
        get: impl Fn(&'a Install) -> Option<&'a Fact<T>>,
        default: impl FnOnce() -> Fact<T>,
    ) -> Fact<T> {
        let Question {
            what,
            settle,
            overridden,
            assumed,
        } = question;
        if let Some(value) = overridden {
            let said = format!("{what} = {value} (--override)");
            return Fact::settled(value, said);
        }
        if let Some(fact) = self.fact(settle, get) {
            return fact;
        }
        if let Some(value) = assumed {
            let said = format!("{what} = {value} (--assume)");
            return Fact::assumed(value, said, None);
        }
        match self.unread() {
            Some(unread) => default().resting_on(&unread),
            None => default(),
        }
    }
}

impl<'t> Context<'t> {
    /// Returns the release to judge by; `None` stands for an unknown one, which is taken as the
    /// latest.
    #[must_use]
    pub fn version(&self, workload: &Workload<'t>) -> Fact<Option<Version>> {
        const SETTLE: &str = "--mesh-version 1.N";
        if let Some(version) = self.release {
            return Fact::settled(Some(version), format!("Istio {version}"));
        }
        if let Some(version) = self.settings.mesh_version {
            return Fact::settled(Some(version), format!("Istio {version} (--mesh-version)"));
        }
        let view = self.install(workload);
        if let Some(fact) = view.fact(SETTLE, |one| one.version.as_ref()) {
            return fact.map(Some);
        }
        own_proxy(workload)
            .or_else(|| self.version_by_revision(workload, &view))
            .map_or_else(
                || {
                    let said = "the release of Istio is not in the tree: taken as the latest";
                    Fact::unknown(None, said, Some(SETTLE))
                },
                |fact| fact.map(Some),
            )
    }

    /// Returns the release of the mesh that a policy speaks to, where it is known.
    #[must_use]
    pub fn version_near(&self, policy: &Object<'t>) -> Option<Version> {
        let view = self.install_near(policy);
        let written = || view.fact("--mesh-version 1.N", |one| one.version.as_ref());
        self.other_release(Some(Mesh::Istio))
            .or_else(|| written().map(|fact| fact.value))
    }

    /// Revisions are often named after their release: `1-26-8`.
    fn version_by_revision(
        &self,
        workload: &Workload<'t>,
        view: &InstallView<'_>,
    ) -> Option<Fact<Version>> {
        let said = "revisions are named after their release";
        let by_convention = Fact::assumed((), said, Some("--mesh-version 1.N"));
        let named = view.candidates.iter().find_map(|one| {
            let fact = one.revision.as_ref()?;
            let version = version_of_revision(&fact.value)?;
            Some(fact.clone().map(|_| version).resting_on(&by_convention))
        });
        if named.is_some() {
            return named;
        }
        let object = &workload.object;
        let namespace = self.namespace_object(object);
        let of_namespace = namespace.and_then(|found| Some((found, found.label(keys::REVISION)?)));
        let of_pod = workload
            .template
            .label(keys::REVISION)
            .map(|entry| (object, entry));
        let (holder, entry) = of_namespace.or(of_pod)?;
        let version = version_of_revision(entry.value.text()?)?;
        let place = holder.label_at(entry.value.span(), format!("revision of Istio {version}"));
        Some(Fact::known(version, place).resting_on(&by_convention))
    }

    /// Returns the mesh default of the probe rewrite.
    #[must_use]
    pub fn rewrite_default(&self, workload: &Workload<'t>) -> Fact<bool> {
        let question = Question {
            what: "rewrite default",
            settle: REWRITE,
            overridden: self.given(&workload.object).overrides.rewrite,
            assumed: self.given(&workload.object).assume.rewrite,
        };
        let view = self.install(workload);
        let default = || self.documented_rewrite(workload, &view);
        view.answer(question, |one| one.rewrite.as_ref(), default)
    }

    /// On in istioctl's profiles since 1.6, in the charts since 1.7.
    fn documented_rewrite(&self, workload: &Workload<'t>, view: &InstallView<'_>) -> Fact<bool> {
        let by_istioctl = |one: &&Install| one.carrier == Carrier::IstioOperator;
        let all = !view.candidates.is_empty() && view.candidates.iter().all(by_istioctl);
        let since = if all {
            Version::new(1, 6)
        } else {
            Version::new(1, 7)
        };
        let version = self.version(workload).value;
        let value = version.is_none_or(|version| version >= since);
        let release = version.map_or_else(|| "current releases".into(), |v| format!("Istio {v}"));
        let said = format!("rewrite default = {value} (default of {release})");
        Fact::default(value, said, REWRITE)
    }

    /// Tells whether istiod rewrites tcpSocket probes; it could be told not to from 1.12 to 1.18.
    #[must_use]
    pub fn rewrites_tcp(&self, workload: &Workload<'t>) -> Option<Fact<bool>> {
        self.install(workload)
            .fact("--override rewrite=false", |one| one.rewrite_tcp.as_ref())
    }

    /// Tells whether the agent, and the sidecar for it, call the application on 127.0.0.1 instead
    /// of the pod's address: the way of releases before 1.10, which a pod or the mesh can ask for.
    /// Source: Istio 1.31, `pilot/cmd/pilot-agent/status/server.go`
    /// (`REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION`) and `injection-template.yaml`, which sets it
    /// for `meshConfig.inboundTrafficPolicy.mode: LOCALHOST`.
    #[must_use]
    pub fn calls_localhost(&self, workload: &Workload<'t>) -> bool {
        let release = self.version(workload).value;
        if release.is_some_and(|release| release < Version::new(1, 10)) {
            return true;
        }
        if proxy_config(workload).is_some_and(|config| config.calls_localhost()) {
            return true;
        }
        let view = self.install(workload);
        let mut planes = view.candidates.iter();
        planes.any(|plane| {
            let legacy = plane.probe_localhost.as_ref();
            let policy = plane.inbound_traffic_policy.as_ref();
            legacy.is_some_and(|on| on.value)
                || policy.is_some_and(|mode| mode.value == "LOCALHOST")
        })
    }

    /// Returns the root namespace of the mesh that serves a workload.
    #[must_use]
    pub fn root_namespace(&self, workload: &Workload<'t>) -> Fact<String> {
        self.root_in(&workload.object, &self.install(workload))
    }

    /// Returns the root namespace of the mesh that a policy speaks to.
    #[must_use]
    pub fn root_namespace_near(&self, policy: &Object<'t>) -> Fact<String> {
        self.root_in(policy, &self.install_near(policy))
    }

    fn root_in(&self, object: &Object<'t>, view: &InstallView<'_>) -> Fact<String> {
        const SETTLE: &str = "--assume root-namespace=NAME";
        let given = self.given(object);
        let question = Question {
            what: "root namespace",
            settle: SETTLE,
            overridden: given.overrides.root_namespace.clone(),
            assumed: given.assume.root_namespace.clone(),
        };
        view.answer(
            question,
            |one| one.root_namespace.as_ref(),
            || {
                let said = format!("root namespace = {DEFAULT_ROOT_NAMESPACE} (default)");
                Fact::default(DEFAULT_ROOT_NAMESPACE.to_owned(), said, SETTLE)
            },
        )
    }
}

/// The release of a sidecar that the manifest brings along.
fn own_proxy(workload: &Workload<'_>) -> Option<Fact<Version>> {
    let container = proxy_container(workload)?;
    let node = container.node.get("image")?;
    let version = version_of_image(node.text()?)?;
    let said = format!("the sidecar is of Istio {version}");
    Some(Fact::known(
        version,
        workload.object.label_at(node.span(), said),
    ))
}
