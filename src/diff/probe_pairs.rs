//! Pairs the handlers of two states.

use super::pairing::{Pairing, Repeated};
use super::probe_state::ProbeState;

/// Pairs the handlers of both states: by their whole identity, then by what remains if a folder, a namespace, a
/// container or an object is renamed.
pub(super) fn pair_probes<'p>(before: &'p [ProbeState], after: &'p [ProbeState]) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((&state.id, &*state.file))
    });
    pairing.by(before, after, Repeated::InOrder, |state| Some(&state.id));
    // One of several clusters that deploy a folder remains, or was the only one.
    pairing.by(before, after, Repeated::InOrder, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.namespace, &id.name, &*state.file);
        Some((state.deployer.as_ref()?, object, &id.container, id.slot))
    });
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        Some((&id.kind, &id.namespace, &id.name, &id.container, id.slot))
    });
    // The folder above several environments.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.namespace, &id.name);
        Some((&state.environment_name, object, &id.container, id.slot))
    });
    // The number of environments: the others are new or removed. An added or removed kustomization can change the
    // environment and the namespace together. Of several candidates, one with the same prediction comes first, so that
    // an old fault is not paired with a probe that works.
    let prediction = |state: &'p ProbeState| (state.outcome.as_str(), &*state.why);
    let in_file = |state: &'p ProbeState| {
        let id = &state.id;
        (&id.kind, &id.name, &*state.file, &id.container, id.slot)
    };
    let in_namespace = |state: &'p ProbeState| (in_file(state), &state.id.namespace);
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_namespace(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_namespace(state))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_file(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_file(state))
    });
    // A renamed container or object has the same handler. One with another handler replaces it.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &id.namespace, &id.name);
        Some((object, id.slot, &state.written))
    });
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &*state.file);
        Some((object, &id.container, id.slot, &state.written))
    });
    pairing
}
