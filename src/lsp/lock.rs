//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, which stays usable after a panic while it was locked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
