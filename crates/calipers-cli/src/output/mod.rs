//! Files that appear whole or not at all: written beside their place, made durable, then moved
//! there. So do the files of a folder together; if the process is killed while they are moved, the
//! next run that writes to the folder moves the rest.

pub(crate) mod abandoned;
pub(crate) mod rows;
pub(crate) mod temporary;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::output::abandoned::{COMMIT, NEW, PREFIX, UNFINISHED};
use crate::output::temporary::{Unfinished, uninterrupted};

/// A place for a file, in which it has been seen that one can be written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    folder: PathBuf,
}

impl Output {
    /// Rejects now what would fail after hours of work: a folder that is absent or cannot be
    /// written to.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        Self::find(path).with_context(|| path.display().to_string())
    }

    fn find(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            bail!(
                "must be a file, since it appears whole or not at all, got standard output (./- is a file of that name)"
            );
        }
        // A link stays, and what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => bail!("is a directory, not a file"),
            Ok(metadata) if !metadata.is_file() => bail!("is a device or a pipe, which cannot be replaced by a file"),
            _ => {}
        }
        if path.parent().is_none() {
            bail!("is not the name of a file");
        }
        let output = Output { folder: beside(&path), path };
        abandoned::clean(&output.folder);
        drop(output.unfinished()?);
        Ok(output)
    }

    /// Puts a file with these bytes there; what was there before stays until it is whole.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.prepare(bytes)?.finish()
    }

    /// Writes these bytes beside the place, as a file that has only to be moved there.
    pub(crate) fn prepare(&self, bytes: &[u8]) -> Result<Prepared<'_>> {
        let write = || -> Result<Unfinished<NamedTempFile>> {
            let unfinished = self.unfinished()?;
            if let Some(file) = unfinished.get() {
                file.as_file().write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(cannot_write)?;
            }
            Ok(unfinished)
        };
        let unfinished = write().with_context(|| self.path.display().to_string())?;
        Ok(Prepared { output: self, unfinished })
    }

    /// Puts a file there whose bytes `write` writes, part after part.
    pub(crate) fn write_with<T>(&self, write: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        let unfinished = self.unfinished().with_context(|| self.path.display().to_string())?;
        // proof: it is there until it is finished
        let file = unfinished.get().context("the temporary file is gone")?.as_file();
        let written = write(file)?;
        file.sync_all().map_err(cannot_write)?;
        self.finish(unfinished).with_context(|| self.path.display().to_string())?;
        Ok(written)
    }

    fn finish(&self, unfinished: Unfinished<NamedTempFile>) -> Result<()> {
        let moved = unfinished.finish(|file| file.persist(&self.path));
        moved.transpose().map_err(|error| cannot_write(error.error))?;
        // The name is durable when the folder is. Some file systems cannot do that, and lose
        // nothing but time to a crash.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// A file in the same folder, and so on the same disk, that is gone when it is dropped.
    fn unfinished(&self) -> Result<Unfinished<NamedTempFile>> {
        let builder = builder(0o666);
        Unfinished::make(|| builder.tempfile_in(&self.folder)).map_err(cannot_write)
    }
}

/// A file that is written, and not yet in its place.
pub(crate) struct Prepared<'a> {
    output: &'a Output,
    unfinished: Unfinished<NamedTempFile>,
}

impl Prepared<'_> {
    pub(crate) fn finish(self) -> Result<()> {
        self.output.finish(self.unfinished).with_context(|| self.output.path.display().to_string())
    }
}

/// A folder for files that appear all or not at all.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    path: PathBuf,
}

impl OutputFolder {
    /// Rejects now what would fail after hours of work: a file in its place, or a folder that
    /// cannot be made or written to.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let folder = OutputFolder { path: path.to_owned() };
        let nearest = folder.nearest();
        match fs::metadata(&nearest) {
            Ok(metadata) if !metadata.is_dir() => bail!("{}: is a file, not a folder", nearest.display()),
            Err(_) if nearest.symlink_metadata().is_ok() => bail!("{}: is a link to nothing", nearest.display()),
            _ => abandoned::clean(&nearest),
        }
        drop(folder.unfinished().with_context(|| path.display().to_string())?);
        Ok(folder)
    }

    /// Rejects a folder that stands where a file of such a name would be written, as far as can be
    /// told before it is.
    pub(crate) fn reject_folders(&self, is_written: impl Fn(&str) -> bool) -> Result<()> {
        let Ok(entries) = fs::read_dir(&self.path) else { return Ok(()) };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        match names.iter().find(|name| is_written(name) && self.path(name).is_dir()) {
            Some(name) => bail!("{}: cannot write {name}: a folder has that name", self.path.display()),
            None => Ok(()),
        }
    }

    /// The folder itself, or the nearest one around it that is there.
    fn nearest(&self) -> PathBuf {
        let mut around = self.path.ancestors().filter(|path| !path.as_os_str().is_empty());
        around.find(|path| path.symlink_metadata().is_ok()).map_or(PathBuf::from("."), Path::to_owned)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Puts files with these names and texts there. They are written elsewhere first and then
    /// moved; if one cannot be, those before it are taken back.
    pub(crate) fn write(&self, files: &[(String, String)]) -> Result<()> {
        self.replace(files).with_context(|| self.path.display().to_string())
    }

    fn replace(&self, files: &[(String, String)]) -> Result<()> {
        if let Some((name, _)) = files.iter().find(|(name, _)| self.path(name).is_dir()) {
            bail!("cannot write {name}: a folder has that name");
        }
        let unfinished = self.unfinished()?;
        let new = unfinished.path().join(NEW);
        fs::create_dir(&new).map_err(cannot_write)?;
        for (name, text) in files {
            let written = File::create(new.join(name)).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
            written.map_err(cannot_write)?;
        }
        uninterrupted(|| match self.path.is_dir() {
            true => self.move_in(unfinished.path(), files),
            // The folder that was written becomes the one that was wanted.
            false => {
                let moved = fs::create_dir_all(beside(&self.path)).and_then(|()| fs::rename(&new, &self.path));
                moved.map_err(cannot_write)
            }
        })?;
        for folder in [&self.path, &beside(&self.path)] {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// Each file is replaced in one step. What was there before is kept until the last one is. From
    /// the mark on, the next run moves what this one could not.
    fn move_in(&self, unfinished: &Path, files: &[(String, String)]) -> Result<()> {
        let (new, before, commit) = (unfinished.join(NEW), unfinished.join("before"), unfinished.join(COMMIT));
        fs::create_dir(&before).map_err(cannot_write)?;
        for (name, _) in files.iter().filter(|(name, _)| self.path(name).exists()) {
            fs::copy(self.path(name), before.join(name)).map_err(cannot_write)?;
        }
        for folder in [&new, unfinished] {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        File::create(&commit).and_then(|mark| mark.sync_all()).map_err(cannot_write)?;
        for (place, (name, _)) in files.iter().enumerate() {
            let moved = fs::rename(new.join(name), self.path(name));
            moved.map_err(cannot_write).inspect_err(|_| {
                let _ = fs::remove_file(&commit);
                for (name, _) in &files[..place] {
                    // As well as can be: the disk that failed may fail again.
                    let _ = match before.join(name).exists() {
                        true => fs::rename(before.join(name), self.path(name)),
                        false => fs::remove_file(self.path(name)),
                    };
                }
            })?;
        }
        Ok(())
    }

    /// A folder on the same disk that is gone when it is dropped: inside, since a folder that is
    /// there may be a disk of its own; or in the nearest one around that is there.
    fn unfinished(&self) -> Result<Unfinished<TempDir>> {
        let builder = builder(0o777);
        let nearest = self.nearest();
        Unfinished::make(|| builder.tempdir_in(nearest)).map_err(cannot_write)
    }
}

/// Temporary files and folders with the permissions of any new one, and not for its owner alone.
fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// The folder in which a path is.
pub(crate) fn beside(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

pub(crate) fn cannot_write(error: std::io::Error) -> anyhow::Error {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_moved_are_taken_back_if_a_later_one_cannot_be() {
        let outer = tempfile::tempdir().unwrap();
        let folder = OutputFolder::new(outer.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path(name)).ok();
        fs::write(folder.path("a"), "old").unwrap();
        let files = ["a", "b", "c"].map(|name| (name.to_owned(), "new".to_owned()));
        let unfinished = folder.unfinished().unwrap();
        // The third is not there to be moved.
        fs::create_dir(unfinished.path().join(NEW)).unwrap();
        for (name, text) in &files[..2] {
            fs::write(unfinished.path().join(NEW).join(name), text).unwrap();
        }
        assert!(folder.move_in(unfinished.path(), &files).is_err());
        drop(unfinished);
        assert_eq!(["a", "b", "c"].map(read), [Some("old".to_owned()), None, None]);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
        folder.write(&files).unwrap();
        assert_eq!(["a", "b", "c"].map(read), [(); 3].map(|()| Some("new".to_owned())));
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 3);
    }
}
