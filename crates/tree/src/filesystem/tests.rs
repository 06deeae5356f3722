use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::{Confinement, Disk, FileSystem, Kind, ReadFiles as _, canonical};

/// Creates a folder with `real/file`, a link to the file and a link to the folder. Also returns its resolved path.
fn tree() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let root = canonical(directory.path()).unwrap();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file"), "text").unwrap();
    symlink("real/file", root.join("link")).unwrap();
    symlink("real", root.join("folder")).unwrap();
    (directory, root)
}

#[test]
fn a_link_is_not_opened_as_a_file() {
    let (_directory, root) = tree();
    let open = |path: &str| Disk.open_file(&root.join(path));
    assert_eq!(open("real/file").unwrap().read(9).unwrap(), b"text");
    assert!(open("link").is_err() && open("real").is_err());
}

#[test]
fn listings_answer_as_the_disk_does() {
    let (_directory, root) = tree();
    fs::write(root.join("real/Other"), "").unwrap();
    let files = FileSystem::default().for_one_run();
    for folder in ["", "real"] {
        files.entries(&root.join(folder)).unwrap();
    }
    let kind_of = |error: std::io::Error| error.kind();
    for path in [
        "real",
        "real/",
        "real/.",
        "real/file",
        "real/file/",
        "real/file/x",
        "real/none",
        "real/none/x",
        "real/../real/file",
        "real/none/../file",
        "real/OTHER",
        "link",
        "link/",
        "link/x",
        "folder",
        "folder/file",
        "folder/../link",
        "none/..",
        "..",
    ] {
        let path = root.join(path);
        let (ours, disk) = (files.canonical(&path), Disk.canonical(&path));
        assert_eq!(ours.map_err(kind_of), disk.map_err(kind_of), "{path:?}");
        assert_eq!(
            files.kind(&path).map_err(kind_of),
            Disk.kind(&path).map_err(kind_of),
            "{path:?}"
        );
        let (ours, disk) = (files.symlink_kind(&path), Disk.symlink_kind(&path));
        assert_eq!(ours.map_err(kind_of), disk.map_err(kind_of), "{path:?}");
        let (ours, disk) = (files.read_link(&path), Disk.read_link(&path));
        assert_eq!(ours.map_err(kind_of), disk.map_err(kind_of), "{path:?}");
        let open =
            |file: std::io::Result<super::OpenFile>| file.and_then(|file| file.read(9)).is_ok();
        assert_eq!(
            open(files.open_file(&path)),
            open(Disk.open_file(&path)),
            "{path:?}"
        );
    }
}

#[test]
fn entries_are_listed_with_their_kinds() {
    let (_directory, root) = tree();
    let mut found: Vec<(String, Kind)> = Disk
        .entries(&root)
        .unwrap()
        .into_iter()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.name.into_string().unwrap(), entry.kind))
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("folder", Kind::Link),
        ("link", Kind::Link),
        ("real", Kind::Folder),
    ];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn confined_files_end_at_their_folders() {
    let (_directory, root) = tree();
    fs::create_dir(root.join("other")).unwrap();
    fs::write(root.join("other/file"), "secret").unwrap();
    symlink(root.join("other"), root.join("real/out")).unwrap();
    symlink("file", root.join("real/in")).unwrap();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let confinement = Confinement::new(vec![root.join("real")], Arc::clone(&is_stopped));
    let files = confinement.of(FileSystem::default());
    for path in ["real/file", "real/in", "real/../real/file"] {
        let path = root.join(path);
        assert_eq!(files.canonical(&path).unwrap(), root.join("real/file"));
        assert!(files.is_file(&path) && files.open_following(&path).is_ok());
    }
    assert!(files.open_file(&root.join("real/file")).is_ok());
    assert!(files.is_symlink(&root.join("real/out")));
    assert!(files.is_dir(&root.join("real")) && files.entries(&root.join("real")).is_ok());
    let outside = [
        "",
        "other",
        "other/file",
        "real/out",
        "real/out/file",
        "real/../other/file",
        "realistic",
    ];
    for path in outside.map(|path| root.join(path)) {
        let denied = files.canonical(&path).unwrap_err().kind();
        assert_eq!(denied, ErrorKind::PermissionDenied, "{}", path.display());
        assert!(!files.exists(&path) && files.file_length(&path).is_err());
        assert!(files.entries(&path).is_err() && files.open_file(&path).is_err());
        assert!(files.open_following(&path).is_err());
    }
    assert!(files.symlink_kind(&root.join("other")).is_err());
    assert!(files.read_link(&root.join("link")).is_err());
    is_stopped.store(true, Ordering::Relaxed);
    assert!(files.open_file(&root.join("real/file")).is_err());
}
