//! Loads the files of a folder, and reuses what has not changed since the last load.

use std::sync::Arc;

use meshprobe_tree::git::ChangedPaths;
use meshprobe_tree::source::{Request, SharedFiles, SourceSet};
use rayon::ThreadPool;

use super::jobs::Change;
use super::loader::Plan;
use crate::engine::{self, RenderedOverlays};

/// The files of a folder, with their renderings.
pub(super) struct Loaded {
    pub(super) plan: Plan,
    pub(super) set: SourceSet,
    pub(super) rendered: RenderedOverlays<'static>,
}

/// Loads the files of a plan. Files of `previous` are used again unless they are among the changed paths.
pub(super) fn load(
    plan: Plan,
    previous: Option<Loaded>,
    change: &Change,
    pool: &ThreadPool,
) -> Loaded {
    let (set, rendered) = pool.install(|| {
        let set = read(&plan, previous.as_ref(), change);
        let rendered = match previous {
            Some(Loaded {
                set: before,
                rendered,
                ..
            }) => RenderedOverlays::after(&set, (&before, rendered)),
            None => RenderedOverlays::default(),
        };
        (set, rendered)
    });
    Loaded {
        plan,
        set,
        rendered,
    }
}

fn read(plan: &Plan, previous: Option<&Loaded>, change: &Change) -> SourceSet {
    if let Some(previous) = previous.filter(|_| change.is_of_contents()) {
        let files = &plan.request.filesystem;
        if let Some(set) = previous.set.with_changed_contents(&change.paths, files) {
            return set;
        }
    }
    let shared = previous.filter(|_| !change.anything).map(|previous| {
        let changed = ChangedPaths::of_files(change.paths.iter().cloned());
        Arc::new(SharedFiles::new(&previous.set, changed))
    });
    let mut set = engine::load(&Request {
        shared,
        ..plan.request.clone()
    });
    set.context_option = plan.context_option.clone();
    set
}
