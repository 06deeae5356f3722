//! Decides the mutual TLS mode of a port by the `PeerAuthentication`s that apply to it.

use std::borrow::Cow;

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::{Decider, MtlsMode, Scopes};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::Entry;

use crate::context::istio::mtls_environments::{Modes, of_environments, strictest_first};
use crate::context::istio::pod_facts::{NearestPolicies, PodFacts};
use crate::context::istio::policy_scope::IstioPolicy;
use crate::context::istio::policy_scope::PolicyScope;
use crate::context::nearest::nearest;
use crate::context::run_context::Context;

/// The policies that apply, at most one per scope.
#[derive(Clone, Copy)]
struct Policies<'c, 't> {
    mesh: Option<&'c Object<'t>>,
    namespace: Option<&'c Object<'t>>,
    workload: Option<&'c Object<'t>>,
}

/// Returns each policy of a scope, or a single `None` if there is no policy.
fn candidates<'c, 't>(nearest: &NearestPolicies<'c, 't>) -> Vec<Option<&'c Object<'t>>> {
    match nearest.first.is_empty() {
        true => vec![None],
        false => nearest.first.iter().copied().map(Some).collect(),
    }
}

/// A mode and where it is written.
type WrittenMode = (MtlsMode, Label);

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the mutual TLS mode on `port` of the pods of `workload`.
    #[must_use]
    pub fn mtls(&self, port: i64) -> Fact<MtlsMode> {
        if let Some(mode) = self
            .context
            .user_facts(&self.workload.object)
            .overrides
            .mtls
        {
            return Fact::settled(mode, format!("mTLS is {} (--override)", mode.as_str()));
        }
        match self.modes(port) {
            Err(place) => {
                let message = place
                    .message
                    .replacen("this mode", "the mode of mutual TLS", 1);
                let open = Fact::unknown((), message, Some("--override mtls=MODE"));
                Fact::known(MtlsMode::Permissive, place).depending_on(&open)
            }
            Ok(Modes::OfOnePlace(modes)) => self.of_conflicting(modes),
            Ok(Modes::OfEnvironments(modes)) => of_environments(modes),
        }
    }

    /// Returns the modes of the port where the workload is, or, if the workload may be deployed to several
    /// environments with policies of their own, in each of these.
    ///
    /// # Errors
    ///
    /// Returns the place of a mode that another tool fills in.
    fn modes(&self, port: i64) -> Result<Modes<'c>, Label> {
        let environments = self.environments_with_policies();
        if environments.is_empty() {
            let location = self.workload.object.location_file();
            return Ok(Modes::OfOnePlace(self.modes_of_candidates(port, location)?));
        }
        let modes = environments.into_iter().map(|environment| {
            let modes = self.modes_of_candidates(port, environment)?;
            Ok((environment, self.of_conflicting(modes)))
        });
        Ok(Modes::OfEnvironments(modes.collect::<Result<_, Label>>()?))
    }

    /// Returns the mode of conflicting policies, of which the oldest takes effect.
    fn of_conflicting(&self, modes: Vec<Fact<MtlsMode>>) -> Fact<MtlsMode> {
        let mut modes = modes.into_iter();
        let first = modes
            .next()
            .unwrap_or_else(|| self.context.mtls_without_policy(&self.workload.object));
        match modes.find(|other| other.value != first.value) {
            None => first,
            Some(other) => {
                // The tree does not state which policy is older.
                let message =
                    "the older of two PeerAuthentications with one scope takes precedence";
                let age = Fact::assumed((), message, Some("--override mtls=MODE"));
                first.depending_on(&other).depending_on(&age)
            }
        }
    }

    /// Returns other modes that may apply to `port` instead of the one that [`PodFacts::mtls`] returns,
    /// each with whether the tree contains evidence for it.
    ///
    /// These are the modes of conflicting policies and of other environments, STRICT if another tool fills in the mode, and STRICT
    /// without evidence if no policy is in scope, because the policy of the whole mesh is often in
    /// another repository.
    #[must_use]
    pub fn mtls_otherwise(&self, port: i64) -> Vec<(MtlsMode, bool)> {
        let given = self.context.user_facts(&self.workload.object);
        if given.overrides.mtls.is_some() {
            return Vec::new();
        }
        let verdicts = match self.modes(port) {
            Err(_) => return vec![(MtlsMode::Strict, true)],
            Ok(Modes::OfOnePlace(modes)) => modes,
            Ok(Modes::OfEnvironments(modes)) => strictest_first(modes)
                .into_iter()
                .map(|(_, mode)| mode)
                .collect(),
        };
        let Some((first, others)) = verdicts.split_first() else {
            return Vec::new();
        };
        let mut otherwise: Vec<(MtlsMode, bool)> = Vec::new();
        for other in others {
            if other.value != first.value && !otherwise.contains(&(other.value, true)) {
                otherwise.push((other.value, true));
            }
        }
        // A default applies only as long as no policy outside of the tree overrides it.
        if otherwise.is_empty() && first.certainty == Certainty::Default {
            otherwise.push((MtlsMode::Strict, false));
        }
        otherwise
    }

    /// Returns the policies of the whole mesh, of the namespace, and those that select the pods, each the nearest to the
    /// file or folder at `location`.
    pub(super) fn nearest_policies(
        &self,
        location: &'c str,
    ) -> Cow<'_, [NearestPolicies<'c, 't>; 3]> {
        match location == self.workload.object.location_file() {
            true => Cow::Borrowed(self.policies.get_or_init(|| self.find_policies(location))),
            false => Cow::Owned(self.find_policies(location)),
        }
    }

    fn find_policies(&self, location: &'c str) -> [NearestPolicies<'c, 't>; 3] {
        let object = &self.workload.object;
        let of = |name: &str, is_root| {
            let all = self
                .context
                .policies_without_selector(object, location, name, is_root);
            NearestPolicies::of(all)
        };
        let namespace = self.context.namespace_of(object);
        let root = self.root_namespace().value;
        let mesh = of(&root, true);
        if *namespace.name == *root {
            // A selector in the root namespace is ignored.
            return [mesh, NearestPolicies::default(), NearestPolicies::default()];
        }
        let policies = &self.context.inventory.peer_authentications;
        let labels = self.workload.template.labels();
        let selecting = namespace
            .facts_selecting_at(policies, self.workload, location)
            .filter(|policy| PeerAuthentication::of(policy).selector().matches(labels));
        let own = NearestPolicies::of(nearest(selecting, location));
        [mesh, of(namespace.name, false), own]
    }

    /// Returns the mode for each choice among conflicting policies of one scope, for a workload whose location is the
    /// file or folder at `location`.
    ///
    /// # Errors
    ///
    /// Returns the place of a mode that another tool fills in.
    fn modes_of_candidates(
        &self,
        port: i64,
        location: &'c str,
    ) -> Result<Vec<Fact<MtlsMode>>, Label> {
        let object = &self.workload.object;
        let nearest = self.nearest_policies(location);
        let [mesh, of_namespace, own] = &*nearest;
        let mut undecided = [own, mesh, of_namespace]
            .into_iter()
            .flat_map(|nearest| &nearest.undecided);
        if let Some(place) = undecided.find_map(|policy| self.context.undecided_mode(policy, port))
        {
            return Err(place);
        }
        let (own, mesh, of_namespace) =
            (candidates(own), candidates(mesh), candidates(of_namespace));
        let mut verdicts: Vec<Fact<MtlsMode>> = Vec::new();
        for &mesh in &mesh {
            for &namespace in &of_namespace {
                for &workload in &own {
                    let policies = Policies {
                        mesh,
                        namespace,
                        workload,
                    };
                    verdicts.push(self.context.mode_under(object, policies, port));
                }
            }
        }
        Ok(verdicts)
    }

    /// Returns the mode on the ports of the pods of `workload` that no policy names.
    #[must_use]
    pub fn mtls_of_other_ports(&self) -> Fact<MtlsMode> {
        // No policy names port 0.
        self.mtls(0)
    }
}

impl<'c, 't> IstioPolicy<'c, 't> {
    /// Returns the mode that a policy of this scope inherits if it does not set one.
    #[must_use]
    pub fn inherited_mtls(self, policy_scope: PolicyScope) -> Fact<MtlsMode> {
        let root = self.context.istio_near(self.policy).root_namespace().value;
        let (policy, context) = (self.policy, self.context);
        let location = policy.location_file();
        let first = |name: &str, is_root| {
            let all = context.policies_without_selector(policy, location, name, is_root);
            all.into_iter().min_by_key(|policy| policy.name())
        };
        let mesh = first(&root, true);
        let of_namespace = first(context.namespace_of(policy).name, false);
        let policies = Policies {
            mesh: mesh.filter(|_| policy_scope != PolicyScope::Mesh),
            namespace: of_namespace.filter(|_| policy_scope == PolicyScope::Workloads),
            workload: None,
        };
        self.context.mode_under(self.policy, policies, 0)
    }
}

impl<'t> Context<'t> {
    /// Returns the mode under the assumption that these policies apply.
    fn mode_under(
        &self,
        object: &Object<'t>,
        policies: Policies<'_, 't>,
        port: i64,
    ) -> Fact<MtlsMode> {
        let namespace = self.namespace_of(object).name;
        let mesh = policies
            .mesh
            .and_then(|policy| mode_of(policy, "the whole mesh"));
        let scope = format!("namespace `{namespace}`");
        let of_namespace = policies
            .namespace
            .and_then(|policy| mode_of(policy, &scope));
        let of_workload = policies
            .workload
            .and_then(|policy| mode_of(policy, "this workload"));
        let of_port = policies
            .workload
            .and_then(|policy| self.port_mode(policy, port));
        let written = |mode: &Option<WrittenMode>| mode.as_ref().map(|(mode, _)| *mode);
        let scopes = Scopes {
            mesh: written(&mesh),
            namespace: written(&of_namespace),
            workload: written(&of_workload),
            port: written(&of_port),
        };
        let (mode, decider) = scopes.effective();
        let deciding = match decider {
            Decider::Port => of_port,
            Decider::Workload => of_workload,
            Decider::Namespace => of_namespace,
            Decider::Mesh => mesh,
            Decider::NoPolicy => None,
        };
        match deciding {
            Some((_, place)) => Fact::known(mode, place),
            None => self.mtls_without_policy(object),
        }
    }

    /// Returns the place of a mode that another tool fills in.
    fn undecided_mode(&self, policy: &Object<'t>, port: i64) -> Option<Label> {
        let of_port = mode_of_port(policy, port);
        let mode = [PeerAuthentication::of(policy).mode(), of_port]
            .into_iter()
            .flatten()
            .find(|mode| mode.value.text().is_some_and(placeholder::contains))?;
        Some(policy.placeholder_at(mode.value.span(), "fills in this mode"))
    }

    fn port_mode(&self, policy: &Object<'t>, port: i64) -> Option<WrittenMode> {
        let mode = mode_of_port(policy, port)?;
        written(policy, mode, &format!("port {port}"))
    }

    fn mtls_without_policy(&self, object: &Object<'t>) -> Fact<MtlsMode> {
        let install = self.istio_near(object).installation();
        let mode = install.fact("--override mtls=MODE", |plane| plane.mesh_mtls.as_ref());
        if let Some(mode) = mode {
            return mode;
        }
        match self.user_facts(object).assume.mtls {
            Some(mode) => {
                let message = format!("mTLS is {} (--assume)", mode.as_str());
                Fact::assumed_by_user(mode, message)
            }
            None => Fact::default(
                MtlsMode::Permissive,
                "mTLS is PERMISSIVE (no PeerAuthentication in scope)",
                "--assume mtls=STRICT",
            ),
        }
    }
}

fn mode_of(policy: &Object<'_>, scope: &str) -> Option<WrittenMode> {
    written(policy, PeerAuthentication::of(policy).mode()?, scope)
}

fn written(policy: &Object<'_>, entry: Entry<'_>, scope: &str) -> Option<WrittenMode> {
    let mode = MtlsMode::parse(entry.value.text()?)?;
    let message = format!("{} for {scope}", mode.as_str());
    Some((mode, policy.label_at(entry.value.span(), message)))
}

impl<'t> Context<'t> {
    /// Returns the policies without selector of the namespace of `object`, or of the root namespace, that are nearest to
    /// `location`.
    fn policies_without_selector(
        &self,
        object: &Object<'t>,
        location: &str,
        namespace: &str,
        is_root: bool,
    ) -> Vec<&Object<'t>> {
        let own = self.namespace_of(object);
        let inventory = &self.inventory;
        let all = inventory.peer_authentications.unselective_in(namespace);
        let wanted = all.filter(|policy| {
            let may_apply = |file| inventory.environments.may_apply(file, location);
            (is_root || own.is_that_of(policy))
                && may_apply(policy.location_file())
                && policy.may_share_cluster(object)
        });
        nearest(wanted, location)
    }
}

/// Returns the mode that a policy sets for a port.
fn mode_of_port<'t>(policy: &Object<'t>, port: i64) -> Option<Entry<'t>> {
    let mut modes = PeerAuthentication::of(policy).ports();
    modes.find(|mode| mode.port == Some(port))?.mode
}
