//! Checks all files for a caller that keeps the facts and the predictions to answer questions about them.

use std::borrow::Cow;
use std::sync::OnceLock;

use meshprobe_deploy::kustomize::Rendering;
use meshprobe_deploy::kustomize::roots::Group;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;
use rayon::ThreadPool;

use super::check::{Fixes, check};
use super::check_both::{Read, check_kept};
use super::input_diagnostics::input_diagnostics;
use super::live_edit::{FactChange, Kept, LiveEdit, is_workload};
use super::outcome::Outcome;
use super::panic_report::catch_panic;
use super::rendered_overlays::RenderedOverlays;
use super::suppress::Suppressions;

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
    /// Whether the facts of the state before were kept, except those that were replaced, instead of collecting all facts.
    pub has_kept_facts: bool,
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

    /// Returns whether the files have changed since the state `set` whose check is under way, which is not shown then.
    fn is_outdated(&mut self, set: &SourceSet) -> bool {
        let _ = set;
        false
    }
}

/// Checks all files as [`check`](super::check()) does, with their verified fixes, on the threads of `pool`, and shows the
/// result on the current thread.
///
/// Repeats this after edits, with the result of a check of all files. This takes less time if an edit keeps all facts, so that
/// only the edited workloads are predicted again, or changes only facts that can be replaced. Returns the files of the last
/// state. `rendered` is empty, or belongs to `set`.
pub fn check_live(
    files: (SourceSet, RenderedOverlays<'static>),
    settings: &Settings,
    pool: &ThreadPool,
    view: &mut impl LiveView,
) -> (SourceSet, RenderedOverlays<'static>) {
    let mut files = files;
    loop {
        let (after, end) = check_states(files, settings, pool, view);
        files = after;
        if end != End::FactsChanged {
            return files;
        }
    }
}

/// Why no further state is checked with the same facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The view does not know a further edit.
    NoEdit,
    /// The last state may have other facts.
    FactsChanged,
    /// meshprobe panicked on the last state.
    Panicked,
}

/// Checks the state `set` and those after edits that keep or replace its facts. Returns the last state, which is not shown if
/// its facts have to be collected.
fn check_states(
    (set, mut rendered): (SourceSet, RenderedOverlays<'static>),
    settings: &Settings,
    pool: &ThreadPool,
    view: &mut impl LiveView,
) -> ((SourceSet, RenderedOverlays<'static>), End) {
    let edits: Vec<OnceLock<LiveEdit<'static>>> =
        std::iter::repeat_with(OnceLock::new).take(EDITS).collect();
    let groups = rendered.groups(&set);
    let renderings = pool.install(|| catch_panic(|| rendered.of(&set)));
    let shown = renderings.ok().and_then(|renderings| {
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
    let end = shown.unwrap_or_else(|| {
        view.show(LiveCheck {
            set: &set,
            outcome: pool.install(|| check(&set, settings)),
            facts: None,
            has_kept_facts: false,
        });
        End::Panicked
    });
    let mut last = set;
    for edit in edits.into_iter().filter_map(OnceLock::into_inner) {
        match edit.rendered {
            Some(changed) => rendered.replace(changed),
            None => {
                let render = || RenderedOverlays::after(&edit.set, (&last, rendered));
                rendered = pool.install(|| catch_panic(render)).unwrap_or_default();
            }
        }
        last = edit.set.into_owned();
    }
    ((last, rendered), end)
}

/// A state of the files with its renderings.
struct State<'t> {
    set: &'t SourceSet,
    /// The renderings of the first state. Those of later ones differ from them only in objects that are replaced.
    renderings: &'t [Rendering],
    current: Vec<&'t Rendering>,
    /// The groups of the kustomizations, and the bytes that rendering them has reserved.
    groups: (&'t [Group], usize),
    settings: &'t Settings,
    pool: &'t ThreadPool,
}

impl<'t> State<'t> {
    /// Shows the check of this state, and of those after edits that keep or replace its facts. Returns `None` if meshprobe
    /// panicked before this state was shown.
    fn show_all(
        mut self,
        edits: &'t [OnceLock<LiveEdit<'static>>],
        view: &mut impl LiveView,
    ) -> Option<End> {
        let (set, settings, renderings, pool) =
            (self.set, self.settings, self.renderings, self.pool);
        let mut edits = edits.iter();
        if view.is_outdated(set) {
            return Some(match view.edited(set).zip(edits.next()) {
                Some((after, place)) => self.leave(place, after),
                None => End::NoEdit,
            });
        }
        let collect = || {
            let read = || (Suppressions::read(set), input_diagnostics(set));
            let facts = || {
                let context = Context::new(set, renderings, settings);
                let predictions = predict::predict_all(&context);
                (context, predictions)
            };
            rayon::join(facts, read)
        };
        let ((mut context, mut predictions), read) = pool.install(|| catch_panic(collect)).ok()?;
        let mut read = Some(read);
        let mut has_kept_facts = false;
        loop {
            // The facts of a state that is not shown still serve the next one.
            if let Some(read) = read.take().filter(|_| !view.is_outdated(self.set)) {
                let check = || self.check(&context, &mut predictions, read);
                let outcome = match pool.install(|| catch_panic(check)) {
                    Ok(outcome) => outcome,
                    Err(_) if has_kept_facts => return Some(End::Panicked),
                    Err(_) => return None,
                };
                let facts = LiveFacts {
                    context: &context,
                    predictions: &predictions,
                };
                view.show(LiveCheck {
                    set: self.set,
                    outcome,
                    facts: Some(facts),
                    has_kept_facts,
                });
            }
            let Some((after, place)) = view.edited(self.set).zip(edits.next()) else {
                return Some(End::NoEdit);
            };
            if edits.len() == 0 {
                return Some(self.leave(place, after));
            }
            let apply = || self.apply(place, after, &mut context, &mut predictions);
            match pool.install(|| catch_panic(apply)) {
                Ok(Some(found)) => read = Some(found),
                Ok(None) => return Some(End::FactsChanged),
                Err(_) => return Some(End::Panicked),
            }
            has_kept_facts = true;
        }
    }

    /// Keeps the state after an edit, with what has to be rendered again, for a collection of all facts.
    fn leave(&self, place: &'t OnceLock<LiveEdit<'static>>, after: SourceSet) -> End {
        place.get_or_init(|| LiveEdit::unknown(Cow::Owned(after)));
        End::FactsChanged
    }

    /// Applies an edit to the facts and the predictions, and reads what the texts state. Returns `None` if all facts have to
    /// be collected again.
    fn apply(
        &mut self,
        place: &'t OnceLock<LiveEdit<'static>>,
        after: SourceSet,
        context: &mut Context<'t>,
        predictions: &mut Vec<WorkloadPrediction<'t>>,
    ) -> Option<Read> {
        let edit = LiveEdit::between(
            self.set,
            &self.current,
            self.groups,
            (Cow::Owned(after), Kept::Text),
        );
        let edit = place.get_or_init(|| edit);
        if edit.facts == FactChange::Unknown {
            return None;
        }
        let (workloads, others): (Vec<_>, Vec<_>) =
            edit.objects().into_iter().partition(is_workload);
        let positions = context.replace_workloads(&edit.set, &workloads)?;
        if edit.facts == FactChange::Replaced {
            context.replace_facts(&edit.files, &others)?;
        }
        self.set = &edit.set;
        for (at, rendering) in edit.rendered.iter().flatten() {
            if let Some(current) = self.current.get_mut(*at) {
                *current = rendering;
            }
        }
        let set = self.set;
        let predict = || match edit.facts {
            FactChange::None => predict::predict_again(context, predictions, &positions),
            _ => *predictions = predict::predict_all(context),
        };
        let read = || (Suppressions::read(set), input_diagnostics(set));
        let (read, ()) = rayon::join(read, predict);
        Some(read)
    }

    /// Runs the rules on the predictions.
    fn check(
        &self,
        context: &Context<'t>,
        predictions: &mut Vec<WorkloadPrediction<'t>>,
        read: Read,
    ) -> Outcome {
        let state = (context, self.renderings);
        check_kept(state, predictions, read, Fixes::Verified, |_| ()).0
    }
}
