//! How much memory one kind of data may take in a run: estimated bytes that are held at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A file that is smaller does not wait for others: bytes.
const SMALL: u64 = 256 << 10;
/// What may be read and parsed at a time, of files that wait for each other: bytes. A file that is larger is alone.
const AT_A_TIME: u64 = 16 << 20;

/// The memory that is held, and its limit. Threads share it.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    held: AtomicUsize,
    /// Nothing more is taken once something did not fit.
    stops: bool,
    exceeded: AtomicBool,
    in_progress: InProgress,
}

impl MemoryBudget {
    /// The limit of a run whose input is small: bytes. Larger input raises the limit.
    pub const FLOOR: usize = 192 << 20;

    /// Returns a budget of `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self::with(limit, 0, false)
    }

    /// Returns a budget that everything fits in.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    const fn with(limit: usize, held: usize, stops: bool) -> Self {
        Self {
            limit,
            held: AtomicUsize::new(held),
            stops,
            exceeded: AtomicBool::new(false),
            in_progress: InProgress::new(),
        }
    }

    /// Returns a budget for a first attempt on several threads. It ends as soon as something does not fit, because
    /// what fits would depend on the threads.
    #[must_use]
    pub fn attempt(&self) -> Self {
        Self::with(self.limit, self.held(), true)
    }

    /// Returns the budget that continues after an attempt that fitted.
    #[must_use]
    pub fn settled(&self) -> Self {
        Self::with(self.limit, self.held(), false)
    }

    /// Takes `bytes`; returns `false` where they do not fit.
    pub fn hold(&self, bytes: usize) -> bool {
        let take = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.limit);
        let taken = !self.is_over()
            && self
                .held
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok();
        if !taken {
            self.refuse();
        }
        taken
    }

    /// Notes that something did not fit that was not taken with [`MemoryBudget::hold`].
    pub fn refuse(&self) {
        self.exceeded.store(true, Ordering::Relaxed);
    }

    /// Gives back what [`MemoryBudget::hold`] took.
    pub fn release(&self, bytes: usize) {
        let give = |held: usize| Some(held.saturating_sub(bytes));
        let _ = self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }

    /// Waits until there is memory to read and parse `bytes` of text: what is in progress is not held yet, and takes
    /// several times its size. Small texts do not wait. The turn ends when the value is dropped.
    pub fn wait_for_turn(&self, bytes: u64) -> Turn<'_> {
        self.in_progress.wait(bytes)
    }

    /// Returns the limit in bytes.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.held())
    }

    /// Returns whether something did not fit.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// Returns whether to stop.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stops && self.is_exceeded()
    }
}

/// How many bytes are read and parsed at the moment, small texts left out.
#[derive(Debug)]
struct InProgress {
    bytes: Mutex<u64>,
    ended: Condvar,
}

impl InProgress {
    const fn new() -> Self {
        Self {
            bytes: Mutex::new(0),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, bytes: u64) -> Turn<'_> {
        let bytes = if bytes < SMALL { 0 } else { bytes };
        if bytes > 0 {
            let must_wait =
                |others: &mut u64| *others > 0 && others.saturating_add(bytes) > AT_A_TIME;
            let mut all = self
                .ended
                .wait_while(self.lock(), must_wait)
                .unwrap_or_else(PoisonError::into_inner);
            *all = all.saturating_add(bytes);
        }
        Turn { all: self, bytes }
    }
}

/// The right to read and parse a text.
#[derive(Debug)]
pub struct Turn<'b> {
    all: &'b InProgress,
    bytes: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut all = self.all.lock();
            *all = all.saturating_sub(self.bytes);
            drop(all);
            self.all.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_A_TIME, InProgress, MemoryBudget, SMALL};

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let budget = MemoryBudget::new(100);
        assert!(budget.hold(60) && !budget.hold(41) && budget.is_exceeded());
        // What is smaller may still fit.
        assert!(budget.hold(40) && !budget.is_over() && budget.left() == 0);
        budget.release(60);
        assert!(budget.hold(60) && !budget.hold(1));
    }

    #[test]
    fn large_texts_wait_for_each_other_and_small_ones_do_not() {
        let all = InProgress::new();
        let _small = (0..100).map(|_| all.wait(SMALL - 1)).collect::<Vec<_>>();
        let half = (all.wait(AT_A_TIME / 2), all.wait(AT_A_TIME / 2));
        let has_started = std::sync::atomic::AtomicBool::new(false);
        let started = || has_started.load(std::sync::atomic::Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _turn = all.wait(AT_A_TIME * 8);
                has_started.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!started());
            drop(half);
        });
        assert!(started());
        assert_eq!(*all.lock(), 0);
    }

    #[test]
    fn an_attempt_ends_with_the_first_that_does_not_fit() {
        let budget = MemoryBudget::new(100).attempt();
        assert!(budget.hold(60) && !budget.hold(41));
        assert!(budget.is_over() && !budget.hold(1));
    }
}
