//! How much memory one kind of data may take in a run: estimated bytes that are held at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The memory that is held, and its limit. Threads share it.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    held: AtomicUsize,
    /// Nothing more is taken once something did not fit.
    stops: bool,
    exceeded: AtomicBool,
    /// Held by the one thread that reads something large.
    large: Mutex<()>,
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
            large: Mutex::new(()),
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

    /// Waits until no other thread reads something large: what is in progress is not counted yet.
    pub fn wait_for_turn(&self) -> MutexGuard<'_, ()> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::MemoryBudget;

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
    fn an_attempt_ends_with_the_first_that_does_not_fit() {
        let budget = MemoryBudget::new(100).attempt();
        assert!(budget.hold(60) && !budget.hold(41));
        assert!(budget.is_over() && !budget.hold(1));
    }
}
