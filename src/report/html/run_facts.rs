//! What a run read and assumed: the releases of the meshes, the assumptions, and what is not shown.

use std::collections::BTreeMap;

use maud::{Markup, html};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::context::NotJudged;

use super::finding_block::field_list;
use super::lines::{certainty, place_of};
use super::markup::{Message, Text};
use super::places::Places;
use crate::report::counted::counted;
use crate::report::prediction::ProbeView;

/// Returns the release of each mesh, with its certainty and the number of predictions.
fn releases(views: &[ProbeView]) -> impl Iterator<Item = (&'static str, Markup)> {
    let mut known: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for view in views {
        let Some(mesh) = view.route.mesh.map(Mesh::title) else {
            continue;
        };
        let release = view.release.as_ref();
        let (release, sure) = release.map_or(("", ""), |(release, sure)| (release.as_str(), *sure));
        *known.entry((mesh, release, sure)).or_default() += 1;
    }
    known.into_iter().map(|((mesh, release, sure), count)| {
        let value = html! {
            (Text(format!("{mesh} {release}").trim_end())) (certainty(sure))
            span.n { (counted(count, "prediction")) }
        };
        ("mesh", value)
    })
}

/// Returns the facts of the run: the version, the releases of the meshes, and sentences.
pub(super) fn run_facts(views: &[ProbeView], sentences: &[String]) -> Markup {
    let version = html! { "meshprobe " (env!("CARGO_PKG_VERSION")) };
    let mut rows = vec![("tool", version)];
    rows.extend(releases(views));
    rows.extend(
        sentences
            .iter()
            .map(|text| ("note", html! { (Message(text)) })),
    );
    field_list(rows)
}

/// Returns the assumptions behind the predictions, with the number of predictions that each affects.
pub(super) fn assumptions(views: &[ProbeView]) -> Markup {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for text in views.iter().flat_map(|view| &view.assumptions) {
        *known.entry(text).or_default() += 1;
    }
    html! {
        @if !known.is_empty() {
            ul.lines {
                @for (text, count) in known {
                    li { span { (Message(text)) } span.n { (counted(count, "prediction")) } }
                }
            }
        }
    }
}

/// Returns what is not judged, with what to do.
pub(super) fn not_judged_list(places: Places<'_>, found: &[NotJudged]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.lines {
                @for found in found {
                    li {
                        (place_of(&places.place(&found.place)))
                        span { (Message(&found.place.message)) }
                        p { b { "help" } " " (Message(&found.help)) }
                    }
                }
            }
        }
    }
}
