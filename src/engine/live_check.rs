//! Checks all files for a caller that keeps the facts and the predictions to answer questions about them.

use std::borrow::Cow;
use std::sync::OnceLock;

use rayon::ThreadPool;

use crate::context::Context;
use crate::finding::Finding;
use crate::kustomize::Rendering;
use crate::kustomize::roots::Group;
use crate::predict::{self, WorkloadPrediction};
use crate::settings::Settings;
use crate::source::SourceSet;

use super::analysis::Analysis;
use super::check::{Fixes, check, check_analysed, finish};
use super::live_edit::{Kept, LiveEdit};
use super::outcome::Outcome;
use super::panic_report::catch_panic;
use super::rendered_overlays::RenderedOverlays;
use super::suppress::Suppressions;
use crate::engine::input_diagnostics::input_diagnostics;

/// The number of edits after which all facts are collected again. Each of them keeps a list of the files in memory.
const EDITS: usize = 12;

/// The result of a check, and what it follows from.
#[derive(Debug)]
pub struct LiveCheck<'s, 't> {
    /// The files.
    pub set: &'s SourceSet,
    /// The findings.
    pub outcome: Outcome,
    /// The facts and the predictions; `None` if meshprobe panicked on a file.
    pub facts: Option<LiveFacts<'s, 't>>,
}

/// The facts about a set of files, and the predictions of all workloads.
#[derive(Clone, Copy, Debug)]
pub struct LiveFacts<'s, 't> {
    /// The facts.
    pub context: &'s Context<'t>,
    /// The predictions, sorted by kustomization.
    pub predictions: &'s [WorkloadPrediction<'t>],
}

/// A caller of [`check_live`].
pub trait LiveView {
    /// Uses the check of a state of the files until they change.
    fn show(&mut self, live: LiveCheck<'_, '_>);

    /// Returns the files after the change, if only the contents of some of them differ and the settings still apply.
    fn edited(&mut self, set: &SourceSet) -> Option<SourceSet>;
}

/// Checks all files as [`check`](super::check()) does, with their verified fixes, on the threads of `pool`, and shows the
/// result on the current thread.
///
/// Repeats this after edits that keep all facts, with the result of a check of all files, and in less time: only the edited
/// workloads are predicted again. Returns the files that it has shown last. `rendered` is empty, or belongs to `set`.
pub fn check_live(
    (set, mut rendered): (SourceSet, RenderedOverlays<'static>),
    settings: &Settings,
    pool: &ThreadPool,
    view: &mut impl LiveView,
) -> (SourceSet, RenderedOverlays<'static>) {
    let edits: Vec<OnceLock<LiveEdit<'static>>> =
        std::iter::repeat_with(OnceLock::new).take(EDITS).collect();
    let groups = rendered.groups(&set);
    let shown = pool
        .install(|| catch_panic(|| rendered.of(&set)))
        .ok()
        .map(|renderings| {
            let state = State {
                set: &set,
                renderings,
                current: renderings.iter().collect(),
                groups: (&groups, rendered.in_use()),
                settings,
                pool,
            };
            state.show_all(&edits, view)
        });
    if shown.flatten().is_none() {
        view.show(LiveCheck {
            set: &set,
            outcome: pool.install(|| check(&set, settings)),
            facts: None,
        });
    }
    let mut last = set;
    for edit in edits.into_iter().filter_map(OnceLock::into_inner) {
        last = edit.set.into_owned();
        rendered.replace(edit.rendered);
    }
    (last, rendered)
}

/// A state of the files with its renderings.
struct State<'t> {
    set: &'t SourceSet,
    /// The renderings of the first state. Those of later ones differ from them only in workloads.
    renderings: &'t [Rendering],
    current: Vec<&'t Rendering>,
    /// The groups of the kustomizations, and the bytes that rendering them has reserved.
    groups: (&'t [Group], usize),
    settings: &'t Settings,
    pool: &'t ThreadPool,
}

impl<'t> State<'t> {
    /// Shows the check of this state, and of those after edits that keep all facts. Returns `None` if meshprobe panicked
    /// on this state.
    fn show_all(
        mut self,
        edits: &'t [OnceLock<LiveEdit<'static>>],
        view: &mut impl LiveView,
    ) -> Option<()> {
        let (set, settings, renderings, pool) =
            (self.set, self.settings, self.renderings, self.pool);
        let collect = || {
            let read = || (Suppressions::read(set), input_diagnostics(set));
            rayon::join(|| Context::new(set, renderings, settings), read)
        };
        let (mut context, read) = pool.install(|| catch_panic(collect)).ok()?;
        let mut predictions = Vec::new();
        let check = || {
            predictions = predict::predict_all(&context);
            self.check(&context, &mut predictions, read)
        };
        let mut outcome = pool.install(|| catch_panic(check)).ok()?;
        let mut edits = edits.iter();
        loop {
            let facts = LiveFacts {
                context: &context,
                predictions: &predictions,
            };
            view.show(LiveCheck {
                set: self.set,
                outcome,
                facts: Some(facts),
            });
            let place = edits.next();
            let checked = place.zip(view.edited(self.set)).and_then(|(place, after)| {
                let check = || self.apply(place, after, &mut context, &mut predictions);
                pool.install(|| catch_panic(check)).ok().flatten()
            });
            match checked {
                Some(found) => outcome = found,
                None => return Some(()),
            }
        }
    }

    /// Checks the state after an edit. Returns `None` if the edit does not keep all facts.
    fn apply(
        &mut self,
        place: &'t OnceLock<LiveEdit<'static>>,
        after: SourceSet,
        context: &mut Context<'t>,
        predictions: &mut Vec<WorkloadPrediction<'t>>,
    ) -> Option<Outcome> {
        let edit = LiveEdit::between(
            self.set,
            &self.current,
            self.groups,
            (Cow::Owned(after), Kept::Text),
        )?;
        let edit = place.get_or_init(|| edit);
        let positions = context.replace_workloads(&edit.set, &edit.workloads())?;
        self.set = &edit.set;
        for (at, rendering) in &edit.rendered {
            if let Some(current) = self.current.get_mut(*at) {
                *current = rendering;
            }
        }
        let set = self.set;
        let (read, ()) = rayon::join(
            || (Suppressions::read(set), input_diagnostics(set)),
            || predict::predict_again(context, predictions, &positions),
        );
        Some(self.check(context, predictions, read))
    }

    /// Runs the rules on the predictions.
    fn check(
        &self,
        context: &Context<'t>,
        predictions: &mut Vec<WorkloadPrediction<'t>>,
        (suppressions, problems): (Suppressions, Vec<Finding>),
    ) -> Outcome {
        let analysis = Analysis {
            renderings: self.renderings,
            context,
            predictions: std::mem::take(predictions),
        };
        let (set, settings) = (self.set, self.settings);
        let checked = check_analysed::<()>(set, settings, &analysis, suppressions);
        let problems = (Vec::new(), problems);
        let (outcome, _) = finish(set, settings, Fixes::Verified, checked, problems);
        *predictions = analysis.predictions;
        outcome
    }
}
