//! Loads the files of a folder, and reuses what has not changed since the last load.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::ThreadPool;

use super::loader::Plan;
use crate::engine::{self, RenderedOverlays};
use crate::git::ChangedPaths;
use crate::source::{Request, SharedFiles, SourceSet, TrackedHidden};

/// The files of a folder, with their renderings.
pub(super) struct Loaded {
    pub(super) plan: Plan,
    pub(super) set: SourceSet,
    pub(super) rendered: RenderedOverlays<'static>,
}

/// Loads the files of a plan. Files of `previous` are used again unless they are among the changed paths.
pub(super) fn load(
    plan: Plan,
    previous: Option<&Loaded>,
    changed: &[PathBuf],
    pool: &ThreadPool,
) -> Loaded {
    let shared = previous.map(|previous| {
        let changed = ChangedPaths::of_files(changed.iter().cloned());
        Arc::new(SharedFiles::new(&previous.set, changed))
    });
    let request = Request {
        shared,
        ..plan.request.clone()
    };
    let (set, rendered) = pool.install(|| {
        let mut set = engine::load(&request);
        set.context_option = plan.context_option.clone();
        let rendered = match previous {
            Some(previous) => RenderedOverlays::after(&set, (&previous.set, &previous.rendered)),
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

/// Loads the files again as a rewrite does, which also depends on overlays that ignore files hide.
pub(super) fn load_for_rewrite(plan: &Plan, set: &SourceSet, pool: &ThreadPool) -> SourceSet {
    let mut request = plan.request.clone();
    request.walk.tracked_hidden = TrackedHidden::Overlays;
    request.shared = Some(Arc::new(SharedFiles::new(set, ChangedPaths::default())));
    pool.install(|| {
        let mut set = engine::load(&request);
        set.context_option = plan.context_option.clone();
        set
    })
}
