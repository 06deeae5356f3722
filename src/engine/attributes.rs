//! What a file has besides its bytes: permissions, owner, extended attributes.

use std::fs::File;
use std::io;

/// Gives a file the owner, the extended attributes and the permissions of another.
///
/// # Errors
/// What the system reports for permissions, and for an extended attribute that the user may set:
/// a file that would lose one is not replaced.
pub(super) fn copy(original: &File, file: &File) -> io::Result<()> {
    let metadata = original.metadata()?;
    give(file, &metadata)?;
    extended::copy(original, file, |name| !is_access_list(name))?;
    // A change of owner may take bits away, so permissions follow it.
    file.set_permissions(metadata.permissions())?;
    // Setting permissions rewrites an access control list, so lists come last.
    extended::copy(original, file, is_access_list)
}

/// Returns whether an extended attribute is an access control list.
/// Source: Linux, `include/uapi/linux/xattr.h`.
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_")
}

/// Gives a file the owner and group of another, as far as the system allows: only root gives files
/// away.
#[cfg(unix)]
fn give(file: &File, like: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    let (user, group) = (Some(like.uid()), Some(like.gid()));
    if (own.uid(), own.gid()) != (like.uid(), like.gid())
        && fchown(file, user, group).is_err()
        && own.gid() != like.gid()
    {
        // Then it belongs to the user, as with any editor that writes a new file.
        let _ = fchown(file, None, group);
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "there is something to give on Unix"
)]
fn give(_: &File, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod extended {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use rustix::io::Errno;

    /// The system limits lists and values to so many bytes.
    /// Source: Linux, `include/uapi/linux/limits.h`.
    const LIMIT: usize = 64 << 10;

    /// Copies the extended attributes whose names are wanted.
    pub(super) fn copy(
        original: &File,
        file: &File,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> io::Result<()> {
        let mut list = vec![0; LIMIT];
        let length = match flistxattr(original, list.as_mut_slice()) {
            Ok(length) => length,
            // The file system has none.
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        list.truncate(length);
        let names = list.split(|byte| *byte == 0);
        for name in names.filter(|name| !name.is_empty() && is_wanted(name)) {
            if let Err(error) = copy_one(original, file, name)
                && !is_of_system(name)
            {
                let name = String::from_utf8_lossy(name);
                let message = format!("the extended attribute {name} cannot be kept");
                return Err(io::Error::new(error.kind(), message));
            }
        }
        Ok(())
    }

    fn copy_one(original: &File, file: &File, name: &[u8]) -> io::Result<()> {
        let name = CString::new(name)?;
        let mut value = vec![0; LIMIT];
        let length = fgetxattr(original, &name, value.as_mut_slice())?;
        value.truncate(length);
        Ok(fsetxattr(file, &name, &value, XattrFlags::empty())?)
    }

    /// Labels of security modules: the system sets those of a new file, and not every user may.
    fn is_of_system(name: &[u8]) -> bool {
        name.starts_with(b"security.") || name.starts_with(b"trusted.")
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod extended {
    use std::fs::File;
    use std::io;

    /// Copies nothing: the system's extended attributes cannot be read.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "there is something to copy elsewhere"
    )]
    pub(super) fn copy(_: &File, _: &File, _: impl Fn(&[u8]) -> bool) -> io::Result<()> {
        Ok(())
    }
}
