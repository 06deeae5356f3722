//! Facts of the installation that applies to a workload: from options, the tree or defaults.

use std::fmt::Display;

use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::istio::install::{
    Carrier, Install, version_of_image, version_of_revision,
};
use meshprobe_mesh::mesh::istio::keys::{self, DEFAULT_ROOT_NAMESPACE};
use meshprobe_mesh::mesh::{Fact, Mesh, ReleaseChange, Version};

use crate::context::istio::install::serving::IstioNear;
use crate::context::istio::install::view::InstallView;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::istio::rewriting::{proxy_config, proxy_container};
use crate::context::run_context::Context;

/// The option that settles the rewrite default.
pub const REWRITE: &str = "--assume rewrite=true|false";

/// A fact of the installation and the options that set it.
pub(in crate::context) struct Question<T> {
    /// The name of the fact in messages.
    pub(in crate::context) what: &'static str,
    /// The option that settles it.
    pub(in crate::context) settle: &'static str,
    /// The value of `--override`.
    pub(in crate::context) overridden: Option<T>,
    /// The value of `--assume`.
    pub(in crate::context) assumed: Option<T>,
}

impl<'a> InstallView<'a> {
    /// Returns the fact from the first source that states it: `--override`, the tree, `--assume`, the
    /// documented default.
    pub(in crate::context) fn answer<T: Clone + PartialEq + Display + 'a>(
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
            let message = format!("{what} = {value} (--override)");
            return Fact::settled(value, message);
        }
        if let Some(fact) = self.fact(settle, get) {
            return fact;
        }
        if let Some(value) = assumed {
            let message = format!("{what} = {value} (--assume)");
            return Fact::assumed_by_user(value, message);
        }
        match self.unread() {
            Some(unread) => default().depending_on(&unread),
            None => default(),
        }
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the release of Istio for a workload. `None` means unknown; the latest is assumed then.
    #[must_use]
    pub fn version(&self) -> Fact<Option<Version>> {
        const SETTLE: &str = "--mesh-version 1.N";
        if let Some(version) = self.context.release {
            return Fact::settled(Some(version), format!("Istio {version}"));
        }
        if let Some(version) = self.context.mesh_version(&self.workload.object) {
            return Fact::settled(Some(version), format!("Istio {version} (--mesh-version)"));
        }
        let view = self.view();
        if let Some(fact) = view.fact(SETTLE, |plane| plane.version.as_ref()) {
            return fact.map(Some);
        }
        version_of_own_sidecar(self.workload)
            .or_else(|| self.version_by_revision(view))
            .map_or_else(
                || {
                    let message =
                        "the tree does not state the release of Istio; the latest is assumed";
                    Fact::unknown(None, message, Some(SETTLE))
                },
                |fact| fact.map(Some),
            )
    }

    /// Returns whether the release has a change that patch releases of earlier ones have, too. The newest patch level is
    /// assumed if none is known.
    #[must_use]
    pub fn has(&self, change: &ReleaseChange) -> Fact<bool> {
        let version = self.version();
        let release = version.value;
        let fact = version.map(|release| change.is_in(release));
        match release.filter(|_| change.depends_on_patch(release)) {
            Some(release) => {
                let message = format!(
                    "the patch level of Istio {release} is not known; the newest is assumed"
                );
                fact.depending_on(&Fact::assumed((), message, Some(ReleaseChange::SETTLE)))
            }
            None => fact,
        }
    }

    /// Returns the release that the name of the revision contains: revisions are often named after their
    /// release, such as `1-26-8`.
    fn version_by_revision(&self, view: &InstallView<'_>) -> Option<Fact<Version>> {
        let message = "the revision is named after its release";
        let by_convention = Fact::assumed((), message, Some("--mesh-version 1.N"));
        let named = view.candidates.iter().find_map(|plane| {
            let fact = plane.revision.as_ref()?;
            let version = version_of_revision(&fact.value)?;
            Some(fact.clone().map(|_| version).depending_on(&by_convention))
        });
        if named.is_some() {
            return named;
        }
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object).manifest();
        let of_namespace = namespace.and_then(|found| Some((found, found.label(keys::REVISION)?)));
        let of_pod = self
            .workload
            .template
            .label(keys::REVISION)
            .map(|entry| (object, entry));
        let (holder, entry) = of_namespace.or(of_pod)?;
        let version = version_of_revision(entry.value.text()?)?;
        let place = holder.label_at(entry.value.span(), format!("revision of Istio {version}"));
        Some(Fact::known(version, place).depending_on(&by_convention))
    }

    /// Returns whether the agent, and the sidecar for it, call the application on 127.0.0.1 instead of
    /// the pod's address: the behaviour of releases before 1.10, which a pod or the mesh can enable.
    /// Source: Istio 1.31, `pilot/cmd/pilot-agent/status/server.go`
    /// (`REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION`) and `injection-template.yaml`, which sets it
    /// for `meshConfig.inboundTrafficPolicy.mode: LOCALHOST`.
    #[must_use]
    pub fn calls_localhost(&self) -> bool {
        let release = self.version().value;
        if release.is_some_and(|release| release < Version::new(1, 10)) {
            return true;
        }
        if proxy_config(self.workload).is_some_and(|config| config.calls_localhost()) {
            return true;
        }
        let view = self.view();
        view.candidates.iter().any(|plane| {
            let legacy = plane.probe_localhost.as_ref();
            let policy = plane.inbound_traffic_policy.as_ref();
            legacy.is_some_and(|on| on.value)
                || policy.is_some_and(|mode| mode.value == "LOCALHOST")
        })
    }

    /// Returns the root namespace of the mesh that serves a workload.
    #[must_use]
    pub fn root_namespace(&self) -> Fact<String> {
        root_in(self.context, &self.workload.object, self.view())
    }
}

impl<'c, 't> IstioNear<'c, 't> {
    /// Returns the release of the mesh that reads a policy: if no installation may apply to the policy, the only one that
    /// those of other environments state. `None` if it is unknown.
    #[must_use]
    pub fn version(self) -> Option<Version> {
        let view = self.installation();
        let written = || view.fact("--mesh-version 1.N", |plane| plane.version.as_ref());
        let of_others = || {
            let planes = self.context.control_planes.iter();
            let planes = planes.filter(|plane| self.context.is_in_cluster(plane, self.object));
            let mut releases = planes.filter_map(|plane| Some(plane.version.as_ref()?.value));
            let first = releases.next().filter(|_| view.candidates.is_empty())?;
            releases.all(|other| other == first).then_some(first)
        };
        self.context
            .release_of(Mesh::ISTIO, self.object)
            .or_else(|| written().map(|fact| fact.value))
            .or_else(of_others)
    }

    /// Returns the root namespace of the mesh that reads a policy.
    #[must_use]
    pub fn root_namespace(self) -> Fact<String> {
        root_in(self.context, self.object, &self.installation())
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the mesh-wide default of the probe rewrite.
    #[must_use]
    pub fn rewrite_default(&self) -> Fact<bool> {
        let question = Question {
            what: "rewrite default",
            settle: REWRITE,
            overridden: self
                .context
                .user_facts(&self.workload.object)
                .overrides
                .rewrite,
            assumed: self
                .context
                .user_facts(&self.workload.object)
                .assume
                .rewrite,
        };
        let view = self.view();
        let default = || self.documented_rewrite(view);
        view.answer(question, |plane| plane.rewrite.as_ref(), default)
    }

    /// Returns the default of the release: on in istioctl's profiles since 1.6, in the charts since 1.7.
    fn documented_rewrite(&self, view: &InstallView<'_>) -> Fact<bool> {
        let by_istioctl = |plane: &&Install| plane.carrier == Carrier::IstioOperator;
        let all = !view.candidates.is_empty() && view.candidates.iter().all(by_istioctl);
        let since = if all {
            Version::new(1, 6)
        } else {
            Version::new(1, 7)
        };
        let version = self.version().value;
        let value = version.is_none_or(|version| version >= since);
        let release = version.map_or_else(|| "current releases".into(), |v| format!("Istio {v}"));
        let message = format!("rewrite default = {value} (default of {release})");
        Fact::default(value, message, REWRITE)
    }

    /// Returns whether istiod rewrites tcpSocket probes; `None` if nothing states it. Releases 1.12 to
    /// 1.18 have a setting for it.
    #[must_use]
    pub fn rewrites_tcp(&self) -> Option<Fact<bool>> {
        self.view().fact("--override rewrite=false", |plane| {
            plane.rewrite_tcp.as_ref()
        })
    }
}

/// Returns the root namespace that a view of the installation states for an object.
fn root_in<'t>(context: &Context<'t>, object: &Object<'t>, view: &InstallView<'_>) -> Fact<String> {
    const SETTLE: &str = "--assume root-namespace=NAME";
    let given = context.user_facts(object);
    let question = Question {
        what: "root namespace",
        settle: SETTLE,
        overridden: given.overrides.root_namespace.clone(),
        assumed: given.assume.root_namespace.clone(),
    };
    view.answer(
        question,
        |plane| plane.root_namespace.as_ref(),
        || {
            let message = format!("root namespace = {DEFAULT_ROOT_NAMESPACE} (default)");
            Fact::default(DEFAULT_ROOT_NAMESPACE.to_owned(), message, SETTLE)
        },
    )
}

/// Returns the release of a sidecar that the manifest contains.
fn version_of_own_sidecar(workload: &Workload<'_>) -> Option<Fact<Version>> {
    let container = proxy_container(workload)?;
    let node = container.node.get("image")?;
    let version = version_of_image(node.text()?)?;
    let message = format!("the sidecar runs Istio {version}");
    Some(Fact::known(
        version,
        workload.object.label_at(node.span(), message),
    ))
}
