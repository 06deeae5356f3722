//! Which `PeerAuthentication`s hold for a port of a workload.

use std::sync::Arc;

use crate::finding::{Certainty, Label};
use crate::kube::{Object, PeerAuthentication, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::mtls::{Decider, MtlsMode, Scopes};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::nearest_policies::{NearestPolicies, PolicyScope};
use super::{Context, Reach};

/// The policies that hold, one per scope at most.
#[derive(Clone, Copy)]
struct Policies<'c, 't> {
    mesh: Option<&'c Object<'t>>,
    namespace: Option<&'c Object<'t>>,
    workload: Option<&'c Object<'t>>,
}

/// Returns each policy of a scope in turn; none where there is none.
fn candidates<'c, 't>(
    nearest: &'c NearestPolicies,
    all: &'c [Object<'t>],
) -> Vec<Option<&'c Object<'t>>> {
    let mut first = nearest.first(all).map(Some).collect::<Vec<_>>();
    if first.is_empty() {
        first.push(None);
    }
    first
}

/// A mode and where it is written.
type Written = (MtlsMode, Label);

impl<'t> Context<'t> {
    /// Returns the mode that holds on `port` of the pods of `workload`.
    #[must_use]
    pub fn mtls(&self, workload: &Workload<'t>, port: i64) -> Fact<MtlsMode> {
        if let Some(mode) = self.given(&workload.object).overrides.mtls {
            return Fact::settled(mode, format!("mTLS is {} (--override)", mode.as_str()));
        }
        let verdicts = match self.rivals(workload, port) {
            Ok(verdicts) => verdicts,
            Err(place) => {
                let said = "the mode of mutual TLS is filled in by another tool";
                let open = Fact::unknown((), said, Some("--override mtls=MODE"));
                return Fact::known(MtlsMode::Permissive, place).resting_on(&open);
            }
        };
        let mut verdicts = verdicts.into_iter();
        let first = verdicts
            .next()
            .unwrap_or_else(|| self.without_policy(&workload.object));
        match verdicts.find(|other| other.value != first.value) {
            None => first,
            Some(other) => {
                // Nothing in the tree says which of them is older.
                let said = "the older of two PeerAuthentications of one scope wins";
                let age = Fact::assumed((), said, Some("--override mtls=MODE"));
                first.resting_on(&other).resting_on(&age)
            }
        }
    }

    /// Returns the modes that may hold on `port` as well as the one that [`Context::mtls`] returns,
    /// each with whether something in the tree speaks for it: those of rival policies, STRICT where
    /// another tool fills the mode in, and STRICT where no policy is in scope, for which nothing
    /// speaks but that the policy of the whole mesh often lies elsewhere.
    #[must_use]
    pub fn mtls_otherwise(&self, workload: &Workload<'t>, port: i64) -> Vec<(MtlsMode, bool)> {
        let given = self.given(&workload.object);
        if given.overrides.mtls.is_some() {
            return Vec::new();
        }
        let Ok(verdicts) = self.rivals(workload, port) else {
            return vec![(MtlsMode::Strict, true)];
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
        // A default is what it is taken for only as long as nobody says more.
        if otherwise.is_empty() && first.certainty == Certainty::Default {
            otherwise.push((MtlsMode::Strict, false));
        }
        otherwise
    }

    /// Returns the mode for each choice among policies of one scope, or the place of one that
    /// another tool fills in.
    fn rivals(&self, workload: &Workload<'t>, port: i64) -> Result<Vec<Fact<MtlsMode>>, Label> {
        let object = &workload.object;
        let (namespace, _) = self.namespace_of(object);
        let root = self.root_namespace(workload).value;
        let root = root.as_str();
        let own = if namespace == root {
            // A selector in the root namespace is ignored.
            Arc::default()
        } else {
            self.policies_selecting(workload)
        };
        let mesh = self.policies_without_selector(object, root, PolicyScope::Mesh);
        let of_namespace = if namespace == root {
            Arc::default()
        } else {
            self.policies_without_selector(object, namespace, PolicyScope::Namespace)
        };
        let all = &self.inventory.peer_authentications;
        let undecided = [&own, &mesh, &of_namespace].into_iter();
        let mut undecided = undecided.flat_map(|nearest| nearest.undecided(all));
        if let Some(place) = undecided.find_map(|policy| self.undecided_mode(policy, port)) {
            return Err(place);
        }
        let (own, mesh, of_namespace) = (
            candidates(&own, all),
            candidates(&mesh, all),
            candidates(&of_namespace, all),
        );
        let mut verdicts: Vec<Fact<MtlsMode>> = Vec::new();
        for &mesh in &mesh {
            for &namespace in &of_namespace {
                for &workload in &own {
                    let policies = Policies {
                        mesh,
                        namespace,
                        workload,
                    };
                    verdicts.push(self.effective(object, policies, port));
                }
            }
        }
        Ok(verdicts)
    }

    /// Returns the mode that holds on the ports of the pods of `workload` of which no policy
    /// speaks.
    #[must_use]
    pub fn mtls_of_other_ports(&self, workload: &Workload<'t>) -> Fact<MtlsMode> {
        // No port has the number 0.
        self.mtls(workload, 0)
    }

    /// Returns the mode that a policy of this reach inherits where it sets none itself.
    #[must_use]
    pub fn inherited_mtls(&self, policy: &Object<'t>, reach: Reach) -> Fact<MtlsMode> {
        let root = self.root_namespace_near(policy).value;
        let mesh = self.policies_without_selector(policy, &root, PolicyScope::Mesh);
        let namespace = self.namespace_of(policy).0;
        let of_namespace =
            self.policies_without_selector(policy, namespace, PolicyScope::Namespace);
        let all = &self.inventory.peer_authentications;
        let policies = Policies {
            mesh: mesh.first(all).next().filter(|_| reach != Reach::Mesh),
            namespace: of_namespace
                .first(all)
                .next()
                .filter(|_| reach == Reach::Workloads),
            workload: None,
        };
        self.effective(policy, policies, 0)
    }

    /// The mode if these policies, one per scope at most, are the ones that hold.
    fn effective(
        &self,
        object: &Object<'t>,
        policies: Policies<'_, 't>,
        port: i64,
    ) -> Fact<MtlsMode> {
        let (namespace, _) = self.namespace_of(object);
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
        let written = |mode: &Option<Written>| mode.as_ref().map(|(mode, _)| *mode);
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
            Decider::Nobody => None,
        };
        match deciding {
            Some((_, place)) => Fact::known(mode, place),
            None => self.without_policy(object),
        }
    }

    /// Returns the place of a mode that another tool fills in.
    fn undecided_mode(&self, policy: &Object<'t>, port: i64) -> Option<Label> {
        let of_port = self.inventory.ports.mode(policy, port);
        let of_port = of_port.and_then(|one| one.mode);
        let mode = [PeerAuthentication::of(policy).mode(), of_port]
            .into_iter()
            .flatten()
            .find(|mode| mode.value.text().is_some_and(placeholder::contains))?;
        Some(policy.label_at(mode.value.span(), "the mode is filled in by another tool"))
    }

    fn port_mode(&self, policy: &Object<'t>, port: i64) -> Option<Written> {
        let mode = self.inventory.ports.mode(policy, port)?.mode?;
        written(policy, mode, &format!("port {port}"))
    }

    fn without_policy(&self, object: &Object<'t>) -> Fact<MtlsMode> {
        match self.given(object).assume.mtls {
            Some(mode) => {
                let said = format!("mTLS is {} (--assume)", mode.as_str());
                Fact {
                    certainty: Certainty::Assumed,
                    ..Fact::settled(mode, said)
                }
            }
            None => Fact::default(
                MtlsMode::Permissive,
                "mTLS is PERMISSIVE (no PeerAuthentication in scope)",
                "--assume mtls=STRICT",
            ),
        }
    }
}

fn mode_of(policy: &Object<'_>, scope: &str) -> Option<Written> {
    written(policy, PeerAuthentication::of(policy).mode()?, scope)
}

fn written(policy: &Object<'_>, entry: Entry<'_>, scope: &str) -> Option<Written> {
    let mode = MtlsMode::parse(entry.value.text()?)?;
    let said = format!("{} for {scope}", mode.as_str());
    Some((mode, policy.label_at(entry.value.span(), said)))
}
