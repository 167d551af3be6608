//! Files that appear whole or not at all: written beside their place, made durable, then moved there.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::{Builder, NamedTempFile};

/// A place for a file, in which it has been seen that one can be written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    folder: PathBuf,
}

impl Output {
    /// Refuses now what would be refused after hours of work: a folder that is absent or cannot be written to.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        Self::find(path).with_context(|| path.display().to_string())
    }

    fn find(path: &Path) -> Result<Self> {
        // A link stays, and what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => bail!("is a directory, not a file"),
            Ok(metadata) if !metadata.is_file() => bail!("is a device or a pipe, which cannot be replaced by a file"),
            _ => {}
        }
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
            Some(folder) => folder.to_owned(),
            None => bail!("is not the name of a file"),
        };
        let output = Output { path, folder };
        drop(output.unfinished()?);
        Ok(output)
    }

    /// Puts a file with these bytes there; what was there before stays until it is whole.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.replace(bytes).with_context(|| self.path.display().to_string())
    }

    fn replace(&self, bytes: &[u8]) -> Result<()> {
        let mut file = self.unfinished()?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(cannot_write)?;
        file.persist(&self.path).map_err(|error| cannot_write(error.error))?;
        // The name is durable when the folder is. Some file systems cannot do that, and lose nothing but time to a crash.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// A file in the same folder, and so on the same disk, that is gone when it is dropped.
    fn unfinished(&self) -> Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(".calipers-").suffix(".unfinished");
        #[cfg(unix)]
        {
            // As any new file, and not for its owner alone, as temporary files are.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(&self.folder).map_err(cannot_write)
    }
}

fn cannot_write(error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!("cannot write: no such folder"),
        std::io::ErrorKind::PermissionDenied => anyhow!("cannot write: permission denied"),
        // The error of a temporary file names the temporary file.
        _ => anyhow!(
            "cannot write: {}",
            error.get_ref().and_then(|inner| inner.source()).map_or(error.to_string(), |source| source.to_string())
        ),
    }
}
