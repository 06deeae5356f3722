//! Draws the way of a probe: a list of hops, which the style sheet shows as boxes with arrows.

use maud::{Markup, html};
use meshprobe_predict::predict::{Hop, HopKind, HopState, Outcome, RouteFacts};

use super::markup::{Message, Text};
use super::tone::{hop_class, hop_text};

/// What the drawing says about a probe, in addition to its hops.
#[derive(Clone, Copy, Debug)]
pub(super) struct WayTexts<'a> {
    /// The handler as written.
    pub(super) written: &'a str,
    /// The handler after the rewrite; empty if it is not rewritten.
    pub(super) rewritten_to: &'a str,
    /// The outcome.
    pub(super) outcome: Outcome,
    /// Why.
    pub(super) why: &'a str,
}

/// Returns the drawing; empty if nothing sends a request.
pub(super) fn way(route: &RouteFacts, texts: WayTexts<'_>) -> Markup {
    let hops = route.hops();
    html! {
        @if !hops.is_empty() {
            ol.way {
                @for hop in &hops {
                    @let (detail, state) = (detail(hop, texts), hop_text(hop.state, texts.outcome));
                    li class=(hop_class(hop.state)) {
                        b { (Text(&hop.kind.title(route.mesh))) }
                        @if !detail.is_empty() { code { (Text(detail)) } }
                        @if !state.is_empty() { em { (state) } }
                        @if matches!(hop.state, HopState::Fault | HopState::Unknown) { small { (Message(texts.why)) } }
                    }
                }
            }
        }
    }
}

/// Returns what is known about a hop: the request that the kubelet sends, or the detail of the model.
fn detail<'a>(hop: &'a Hop, texts: WayTexts<'a>) -> &'a str {
    match hop.kind {
        HopKind::Kubelet if hop.state == HopState::NotReached => "",
        HopKind::Kubelet if texts.rewritten_to.is_empty() => texts.written,
        HopKind::Kubelet => texts.rewritten_to,
        HopKind::MachineAgent => texts.written,
        _ => &hop.detail,
    }
}
