//! Revisions that are read from the objects of git.

mod changes;
mod clones;
mod contents;
mod discovery;
mod environment;
mod random;
mod renderings;
mod repository;
mod revisions;
mod sharing;
mod snapshots;
