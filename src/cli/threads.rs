//! Starts threads with a stack that is large enough.

use meshprobe_engine::engine::{Exit, PanicReport, catch_panic};

use super::stop::Stop;

/// The stack size of every thread, in bytes: large enough for documents as deep as the parser allows.
const STACK: usize = 4 << 20;

/// Runs `work` on a thread with a large enough stack, because that of the caller may be small.
pub(super) fn with_stack(work: impl Fn() -> Exit + Sync) -> Result<Exit, PanicReport> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, &work) {
            Ok(started) => started.join().map_err(|payload| PanicReport::of(&*payload)),
            // The system may not allow another thread.
            Err(_) => catch_panic(&work),
        }
    })
}

/// Builds the thread pool; falls back to one thread, then to the current thread.
pub(super) fn pool(threads: usize) -> Result<rayon::ThreadPool, Stop> {
    let new_threads = |threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.stack_size(STACK).build()
    };
    let current_thread = || {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(1);
        builder.use_current_thread().build()
    };
    new_threads(threads)
        .or_else(|_| new_threads(1))
        .or_else(|_| current_thread())
        .map_err(|error| Stop::usage(format!("cannot start threads: {error}")))
}

/// Returns the number of cores; 1 if it is not known.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
