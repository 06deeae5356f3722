//! A folder with files in which the program runs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{Run, meshprobe};

pub(crate) struct Project {
    directory: TempDir,
}

impl Project {
    /// Creates an empty folder that is the root of a repository, so that nothing above it is read.
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join(".git")).unwrap();
        Self { directory }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Creates a pipe that no process writes to.
    #[cfg(unix)]
    pub(crate) fn pipe_file(&self, path: &str) {
        let made = Command::new("mkfifo").arg(self.path(path)).status();
        assert!(made.unwrap().success());
    }

    /// Runs git in a folder of the project, without the configuration of the user.
    pub(crate) fn git(&self, folder: &str, arguments: &[&str]) {
        let mut git = Command::new("git");
        for configuration in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            git.env(configuration, "/dev/null");
        }
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(variable);
        }
        let done = git.args(arguments).current_dir(self.path(folder)).output();
        let done = done.unwrap();
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_in("", arguments, "")
    }

    /// Checks that a rewrite changes a file, and that `--undo` restores every byte of it.
    #[track_caller]
    pub(crate) fn assert_reversible(&self, path: &str) {
        let text = self.read(path);
        self.run(&["rewrite", "--write", "--mesh-version", "1.28", "."])
            .exits(0);
        assert_ne!(self.read(path), text);
        self.run(&["rewrite", "--undo", "--write", "."]).exits(0);
        assert_eq!(self.read(path), text);
    }

    pub(crate) fn pipe(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Run {
        self.run_in("", arguments, stdin)
    }

    pub(crate) fn run_in(
        &self,
        directory: &str,
        arguments: &[&str],
        stdin: impl AsRef<[u8]>,
    ) -> Run {
        meshprobe(&self.path(directory), arguments, stdin)
    }
}
