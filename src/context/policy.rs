//! Which `PeerAuthentication`s hold for a port of a workload.

use crate::finding::{Certainty, Label};
use crate::kube::{Object, PeerAuthentication, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::mtls::{Decider, MtlsMode, Scopes};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::inventory::nearest;
use super::{Context, Reach};

/// How many policies of one scope are weighed against each other; more of them are a fault of
/// their own.
const RIVALS: usize = 4;

/// The policies that hold, one per scope at most.
#[derive(Clone, Copy)]
struct Policies<'c, 't> {
    mesh: Option<&'c Object<'t>>,
    namespace: Option<&'c Object<'t>>,
    workload: Option<&'c Object<'t>>,
}

/// Each policy of a scope in turn; none where there is none.
fn candidates<'c, 't>(policies: &[&'c Object<'t>]) -> Vec<Option<&'c Object<'t>>> {
    match policies {
        [] => vec![None],
        some => some
            .iter()
            .take(RIVALS)
            .map(|policy| Some(*policy))
            .collect(),
    }
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
        let own = self.selecting(workload, namespace, root);
        let mesh = self.unselective(object, root, true);
        let of_namespace = if namespace == root {
            Vec::new()
        } else {
            self.unselective(object, namespace, false)
        };
        let policies = own.iter().chain(&mesh).chain(&of_namespace);
        let undecided = |policy| self.undecided_mode(policy, port);
        if let Some(place) = policies.copied().find_map(undecided) {
            return Err(place);
        }
        let mut verdicts: Vec<Fact<MtlsMode>> = Vec::new();
        for mesh in candidates(&mesh) {
            for of_namespace in candidates(&of_namespace) {
                for own in candidates(&own) {
                    let policies = Policies {
                        mesh,
                        namespace: of_namespace,
                        workload: own,
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
        let mesh = self.unselective(policy, &root, true);
        let of_namespace = self.unselective(policy, self.namespace_of(policy).0, false);
        let policies = Policies {
            mesh: mesh.first().copied().filter(|_| reach != Reach::Mesh),
            namespace: of_namespace
                .first()
                .copied()
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

    /// The policies without selector of a namespace, nearest first.
    fn unselective(&self, object: &Object<'t>, namespace: &str, is_root: bool) -> Vec<&Object<'t>> {
        let policies = &self.inventory.peer_authentications;
        let wanted = policies.unselective_in(namespace).filter(|policy| {
            (is_root || self.shares_namespace(policy, object))
                && self.inventory.forks.join(policy.home(), object.home())
        });
        sorted(nearest(wanted, object.home()))
    }

    /// The policies that select the workload; a selector in the root namespace is ignored.
    fn selecting(&self, workload: &Workload<'t>, namespace: &str, root: &str) -> Vec<&Object<'t>> {
        if namespace == root {
            return Vec::new();
        }
        let labels = workload.template.labels();
        let object = &workload.object;
        let wanted = self
            .beside_selecting(&self.inventory.peer_authentications, workload)
            .filter(|policy| PeerAuthentication::of(policy).selector().matches(labels));
        sorted(nearest(wanted, object.home()))
    }
}

/// Equal age falls back to the name.
fn sorted<'a, 't>(mut policies: Vec<&'a Object<'t>>) -> Vec<&'a Object<'t>> {
    policies.sort_by_key(|policy| policy.name());
    policies
}

fn mode_of(policy: &Object<'_>, scope: &str) -> Option<Written> {
    written(policy, PeerAuthentication::of(policy).mode()?, scope)
}

fn written(policy: &Object<'_>, entry: Entry<'_>, scope: &str) -> Option<Written> {
    let mode = MtlsMode::parse(entry.value.text()?)?;
    let said = format!("{} for {scope}", mode.as_str());
    Some((mode, policy.label_at(entry.value.span(), said)))
}
