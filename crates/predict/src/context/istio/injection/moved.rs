//! Decides for pods whose namespace the user moves between sidecars and ambient mode.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Reason};
use meshprobe_mesh::settings::{DataplaneMove, MeshKind};

use crate::context::istio::pod_facts::PodFacts;
use crate::context::mesh::Dataplane;

/// A move, with the option that sets it.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub(super) to: DataplaneMove,
    option: &'static str,
    certainty: Certainty,
}

impl Move {
    /// Returns the option as the reason of a fact.
    pub(super) fn reason(self, namespace: &str) -> Reason {
        let mode = match self.to {
            DataplaneMove::Ambient => "in the ambient mesh",
            DataplaneMove::Sidecar => "injected",
            DataplaneMove::None => "not in the mesh",
        };
        let message = format!("namespace `{namespace}` is {mode} ({})", self.option);
        if self.certainty == Certainty::Known {
            Reason::without_place(message, None)
        } else {
            Reason::assumed_by_user(message)
        }
    }

    pub(super) const fn certainty(self) -> Certainty {
        self.certainty
    }
}

impl PodFacts<'_, '_> {
    /// Returns the move of a namespace whose Namespace is in the tree.
    fn move_of_known_namespace(&self) -> Option<Move> {
        let given = self.context.user_facts(&self.workload.object);
        let by_override = given.overrides.dataplane.map(|to| Move {
            to,
            option: "--override dataplane",
            certainty: Certainty::Known,
        });
        let is_ambient = self.context.settings.mesh == MeshKind::Ambient;
        by_override.or_else(|| {
            is_ambient.then_some(Move {
                to: DataplaneMove::Ambient,
                option: "--mesh ambient",
                certainty: Certainty::Known,
            })
        })
    }

    /// Returns the move of a namespace whose Namespace is not in the tree, where `--assume` counts, too.
    pub(super) fn move_of_unknown_namespace(&self) -> Option<Move> {
        let given = self.context.user_facts(&self.workload.object);
        let by_assume = given.assume.dataplane.map(|to| Move {
            to,
            option: "--assume dataplane",
            certainty: Certainty::Assumed,
        });
        let Some(found) = self.move_of_known_namespace() else {
            return by_assume;
        };
        // Whether such a namespace belongs to the mesh remains an assumption.
        Some(Move {
            certainty: Certainty::Assumed,
            ..found
        })
    }

    /// Returns how the pods take part after the move of their namespace, if the user moves it, given how they take part
    /// now. A label of the pod that requests a sidecar or ambient mode, or that keeps it out of the ambient mesh, still
    /// applies.
    pub(super) fn after_move(&self, now: Fact<Dataplane>) -> Fact<Dataplane> {
        let Some(found) = self.move_of_known_namespace() else {
            return now;
        };
        let namespace = self.context.namespace_of(&self.workload.object).name;
        match (found.to, now.value) {
            (DataplaneMove::Ambient, Dataplane::Sidecar) => {
                if self.requests_sidecar() {
                    return now;
                }
                self.opted_out_of_ambient().unwrap_or_else(|| Fact {
                    value: Dataplane::Ambient,
                    certainty: found.certainty,
                    because: vec![found.reason(namespace)],
                })
            }
            (DataplaneMove::Sidecar, Dataplane::Ambient) if !self.requests_ambient() => {
                self.as_if_injected(found.reason(namespace), found.certainty)
            }
            (
                DataplaneMove::None,
                Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Ambient,
            ) if !self.requests_sidecar() && !self.requests_ambient() => Fact {
                value: Dataplane::None,
                certainty: found.certainty,
                because: vec![found.reason(namespace)],
            },
            _ => now,
        }
    }

    /// Returns whether a label of the pods requests a sidecar, so that a webhook selects them in a namespace without
    /// labels for injection. Source: Istio 1.31, `templates/mutatingwebhook.yaml` of the chart istio-discovery.
    pub(super) fn requests_sidecar(&self) -> bool {
        let label = |key| self.workload.template.label(key);
        let text = |key| label(key).and_then(|entry| entry.value.text());
        text(keys::INJECT) == Some("true")
            || (text(keys::INJECT) != Some("false") && label(keys::REVISION).is_some())
    }

    /// Returns whether a label of the pods adds them to ambient mode, whatever the mode of their namespace is.
    fn requests_ambient(&self) -> bool {
        let mode = self.workload.template.label(keys::DATAPLANE_MODE);
        mode.is_some_and(|mode| mode.value.text() == Some("ambient"))
    }

    /// Returns that a label keeps the pods out of the ambient mesh, if they have it.
    pub(super) fn opted_out_of_ambient(&self) -> Option<Fact<Dataplane>> {
        let mode = self.workload.template.label(keys::DATAPLANE_MODE)?;
        (mode.value.text() == Some("none")).then(|| {
            let message = "this label keeps the pod out of the ambient mesh";
            let place = self.workload.object.label_at(mode.value.span(), message);
            Fact::known(Dataplane::None, place)
        })
    }
}
