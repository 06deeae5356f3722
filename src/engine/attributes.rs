//! Copies permissions, owner and extended attributes of files.

use std::fs::File;
use std::io;

/// Copies the owner, the extended attributes and the permissions of a file to another one.
///
/// # Errors
/// The error of the system for permissions, and for an extended attribute that the user may set: a file is not replaced
/// if it would lose such an attribute.
pub(super) fn copy(original: &File, file: &File) -> io::Result<()> {
    let metadata = original.metadata()?;
    copy_owner(file, &metadata)?;
    extended::copy(original, file, |name| !is_access_list(name))?;
    // A change of the owner may clear permission bits, so permissions are set after it.
    file.set_permissions(metadata.permissions())?;
    // Setting permissions changes an access control list, so lists are copied last.
    extended::copy(original, file, is_access_list)
}

/// Returns whether an extended attribute is an access control list.
/// Source: Linux, `include/uapi/linux/xattr.h`.
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_")
}

/// Copies the owner and group of another file, as far as the system allows: only root may change the owner.
#[cfg(unix)]
fn copy_owner(file: &File, original: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let current = file.metadata()?;
    let (user, group) = (Some(original.uid()), Some(original.gid()));
    if (current.uid(), current.gid()) != (original.uid(), original.gid())
        && fchown(file, user, group).is_err()
        && current.gid() != original.gid()
    {
        // The file then belongs to the user, as with any editor that writes a new file.
        let _ = fchown(file, None, group);
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "changing the owner can fail on Unix"
)]
fn copy_owner(_: &File, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod extended {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use rustix::io::Errno;

    /// The limit of the system for lists and values, in bytes.
    /// Source: Linux, `include/uapi/linux/limits.h`.
    const LIMIT: usize = 64 << 10;

    /// Copies the extended attributes whose names `is_wanted` accepts.
    pub(super) fn copy(
        original: &File,
        file: &File,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> io::Result<()> {
        let mut list = vec![0; LIMIT];
        let length = match flistxattr(original, list.as_mut_slice()) {
            Ok(length) => length,
            // The file system does not support extended attributes.
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
                let message = format!("the extended attribute `{name}` cannot be kept");
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

    /// Returns whether the system sets an attribute: the labels of security modules, which not every user may set.
    fn is_of_system(name: &[u8]) -> bool {
        name.starts_with(b"security.") || name.starts_with(b"trusted.")
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod extended {
    use std::fs::File;
    use std::io;

    /// Copies nothing, because meshprobe cannot read extended attributes on this system.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "copying can fail on other systems"
    )]
    pub(super) fn copy(_: &File, _: &File, _: impl Fn(&[u8]) -> bool) -> io::Result<()> {
        Ok(())
    }
}
