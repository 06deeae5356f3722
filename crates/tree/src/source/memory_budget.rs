//! Memory limit for one kind of data in a run, in estimated bytes of live data.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Smaller files (in bytes) do not wait for others.
const SMALL: u64 = 256 << 10;
/// Maximum total size in bytes of files that are read and parsed concurrently, without small ones. A larger file is
/// processed alone.
const AT_A_TIME: u64 = 16 << 20;

/// Memory in use and its limit, shared by threads.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    in_use: AtomicUsize,
    /// Whether to refuse everything after the first refusal.
    stops: bool,
    exceeded: AtomicBool,
    in_progress: InProgress,
}

impl MemoryBudget {
    /// The limit in bytes for small inputs. Larger inputs raise the limit.
    pub const FLOOR: usize = 192 << 20;

    /// Creates a budget of `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self::with(limit, 0, false)
    }

    /// Creates a budget without a limit.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    const fn with(limit: usize, in_use: usize, stops: bool) -> Self {
        Self {
            limit,
            in_use: AtomicUsize::new(in_use),
            stops,
            exceeded: AtomicBool::new(false),
            in_progress: InProgress::new(),
        }
    }

    /// Returns a budget for a first attempt on several threads. After the first refusal it refuses everything, because
    /// the data that fits would depend on the order of the threads.
    #[must_use]
    pub fn attempt(&self) -> Self {
        Self::with(self.limit, self.in_use(), true)
    }

    /// Returns the budget that continues after an attempt without refusals.
    #[must_use]
    pub fn settled(&self) -> Self {
        Self::with(self.limit, self.in_use(), false)
    }

    /// Reserves `bytes`. Returns `false` if they exceed the limit.
    pub fn reserve(&self, bytes: usize) -> bool {
        let take = |in_use: usize| {
            in_use
                .checked_add(bytes)
                .filter(|in_use| *in_use <= self.limit)
        };
        let taken = !self.is_over()
            && self
                .in_use
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok();
        if !taken {
            self.record_refusal();
        }
        taken
    }

    /// Records a refusal of data that was not reserved with [`MemoryBudget::reserve`].
    pub fn record_refusal(&self) {
        self.exceeded.store(true, Ordering::Relaxed);
    }

    /// Releases bytes that [`MemoryBudget::reserve`] reserved.
    pub fn release(&self, bytes: usize) {
        let give = |in_use: usize| Some(in_use.saturating_sub(bytes));
        let _ = self
            .in_use
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }

    /// Waits until there is memory to read and parse `bytes` of text. Texts in progress are not reserved yet, and
    /// need several times their size. Small texts do not wait. The turn ends when the value is dropped.
    pub fn wait_for_turn(&self, bytes: u64) -> Turn<'_> {
        self.in_progress.wait(bytes)
    }

    /// Returns the limit in bytes.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.in_use())
    }

    /// Returns whether data was refused.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// Returns whether an attempt has failed and should stop.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stops && self.is_exceeded()
    }
}

/// Number of bytes that are currently read and parsed, without small texts.
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

/// Permission to read and parse a text, which ends when it is dropped.
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
    fn data_beyond_the_limit_is_refused() {
        let budget = MemoryBudget::new(100);
        assert!(budget.reserve(60) && !budget.reserve(41) && budget.is_exceeded());
        // Smaller data may still fit.
        assert!(budget.reserve(40) && !budget.is_over() && budget.left() == 0);
        budget.release(60);
        assert!(budget.reserve(60) && !budget.reserve(1));
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
    fn an_attempt_ends_with_the_first_refusal() {
        let budget = MemoryBudget::new(100).attempt();
        assert!(budget.reserve(60) && !budget.reserve(41));
        assert!(budget.is_over() && !budget.reserve(1));
    }
}
