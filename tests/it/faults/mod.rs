//! What a file system, a user or a hostile repository can do to a run: the user learns it in one
//! plain line, and no file is lost. The rows make `docs/evidence/faults.csv`.

mod folders;
mod kustomizations;
mod names;
mod page;
mod readings;
mod scene;
mod surroundings;
mod text;
mod writing;
