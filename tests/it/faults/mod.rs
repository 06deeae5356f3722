//! The faults that a file system, a user or a hostile repository can cause: each is reported in one line,
//! and no file is lost. The rows are written to `docs/evidence/faults.csv`.

mod folders;
mod kustomizations;
mod names;
mod page;
mod readings;
mod scene;
mod surroundings;
mod text;
mod writing;
