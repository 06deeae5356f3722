//! The releases that an oracle has compared with meshprobe.
//!
//! `tests/oracle/NAME.sh --record` writes `crates/mesh/src/mesh/NAME/proven.csv` if it finds no difference.

use super::version::Version;

/// The comparison of a release of a mesh with meshprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenRelease {
    /// The release.
    pub release: Version,
    /// The tag or branch of the mesh's repository.
    pub reference: &'static str,
    /// The commit.
    pub commit: &'static str,
    /// The number of compared pods.
    pub pods: u32,
}

/// The first line of a file of proven releases.
const HEADER: &str = "release,ref,commit,pods";

/// Returns the releases of a file, in its order. Lines that cannot be read are left out; a test reads every file.
pub(super) fn releases(csv: &'static str) -> impl Iterator<Item = ProvenRelease> {
    csv.lines().filter(|line| *line != HEADER).filter_map(read)
}

fn read(line: &'static str) -> Option<ProvenRelease> {
    let mut fields = line.split(',');
    let release = ProvenRelease {
        release: fields.next()?.parse().ok()?,
        reference: fields.next()?,
        commit: fields.next()?,
        pods: fields.next()?.parse().ok()?,
    };
    fields.next().is_none().then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::registry::DEFINITIONS;

    #[test]
    fn every_line_of_every_mesh_is_read() {
        for definition in DEFINITIONS {
            let csv = definition.proven;
            let read: Vec<Version> = releases(csv).map(|proven| proven.release).collect();
            assert_eq!(read.len(), csv.lines().count().saturating_sub(1), "{csv}");
            assert!(read.is_sorted(), "{csv}");
            assert!(csv.is_empty() || csv.starts_with(HEADER), "{csv}");
        }
    }

    #[test]
    fn other_lines_are_left_out() {
        assert_eq!(
            releases("release,ref,commit,pods\nmaster,a,b,1\n1.31,a,b\n1.31,a,b,1,2").count(),
            0
        );
    }
}
