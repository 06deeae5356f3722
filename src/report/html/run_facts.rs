//! What a run read and assumed: the releases of the meshes, the assumptions, and what is not shown.

use std::collections::BTreeMap;

use crate::context::NotJudged;
use crate::mesh::Mesh;
use crate::report::counted::counted;
use crate::report::prediction::ProbeView;

use super::finding_block::field_list;
use super::lines::{certainty, place_of};
use super::markup::{Markup, element};
use super::places::Places;

/// Returns the release of each mesh, with its certainty and the number of predictions.
fn releases(views: &[ProbeView]) -> Vec<(&'static str, Markup)> {
    let mut known: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for view in views {
        let Some(mesh) = view.route.mesh.map(Mesh::title) else {
            continue;
        };
        let release = view.release.as_ref();
        let (release, sure) = release.map_or(("", ""), |(release, sure)| (release.as_str(), *sure));
        *known.entry((mesh, release, sure)).or_default() += 1;
    }
    let rows = known.into_iter().map(|((mesh, release, sure), count)| {
        let mut value = Markup::text(format!("{mesh} {release}").trim_end());
        value.push(certainty(sure));
        value.push(
            element("span")
                .class("n")
                .text(&counted(count, "prediction")),
        );
        ("mesh", value)
    });
    rows.collect()
}

/// Returns the facts of the run: the version, the releases of the meshes, and sentences.
pub(super) fn run_facts(views: &[ProbeView], sentences: &[String]) -> Markup {
    let version = Markup::text(concat!("meshprobe ", env!("CARGO_PKG_VERSION")));
    let mut rows = vec![("tool", version)];
    rows.extend(releases(views));
    rows.extend(sentences.iter().map(|text| ("note", Markup::message(text))));
    field_list(rows)
}

/// Returns the assumptions behind the predictions, with the number of predictions that each affects.
pub(super) fn assumptions(views: &[ProbeView]) -> Markup {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for text in views.iter().flat_map(|view| &view.assumptions) {
        *known.entry(text).or_default() += 1;
    }
    if known.is_empty() {
        return Markup::new();
    }
    let items = known.into_iter().map(|(text, count)| {
        let mut content = element("span").message(text);
        content.push(
            element("span")
                .class("n")
                .text(&counted(count, "prediction")),
        );
        element("li").holding(content)
    });
    element("ul").class("lines").holding(items.collect())
}

/// Returns what is not judged, with what to do.
pub(super) fn not_judged_list(places: Places<'_>, found: &[NotJudged]) -> Markup {
    if found.is_empty() {
        return Markup::new();
    }
    let items = found.iter().map(|found| {
        let mut content = place_of(&places.place(&found.place));
        content.push(element("span").message(&found.place.message));
        let mut help = element("b").text("help");
        help.push(Markup::text(" "));
        help.push(Markup::message(&found.help));
        content.push(element("p").holding(help));
        element("li").holding(content)
    });
    element("ul").class("lines").holding(items.collect())
}
