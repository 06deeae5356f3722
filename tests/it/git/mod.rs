//! Revisions that are read from the objects of git.

mod changes;
mod clones;
mod random;
mod repository;
mod revisions;
mod sharing;
mod snapshots;
