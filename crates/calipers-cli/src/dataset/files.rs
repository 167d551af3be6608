//! Names of files as they were typed -> files. Patterns that the shell did not expand are expanded
//! here, and `-` is standard input.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use rayon::prelude::*;
use tempfile::NamedTempFile;

use crate::dataset::formats::sketch_rows;
use crate::dataset::formats::{self, Compression, FolderTable, Format, N_FIRST_BYTES, Reading, Table};
use crate::dataset::sketches::{self, MOST_SKETCH_BYTES, Sketches};
use crate::output::abandoned;
use crate::output::temporary::Unfinished;
use crate::progress::many_files;

/// Files for each thread from which on a thread reads a file alone.
const MANY_FOR_A_THREAD: usize = 4;

/// Bytes up to which it does: long files are better read by all threads, and some are held in
/// memory as they are.
const SMALL: u64 = 32 << 20;

/// Bytes of text that are looked at for the end of lines at once.
const COPIED_AT_ONCE: usize = 1 << 16;

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A file that is read, or a folder of files that are read as one.
#[derive(Debug, Clone)]
pub(crate) struct InputFile {
    /// As it was typed, or as a pattern found it.
    pub(crate) name: PathBuf,
    /// Where its bytes are.
    pub(crate) path: PathBuf,
    /// If the name does not tell it.
    format: Option<Format>,
    /// The copy of standard input, which is gone with the last that reads it.
    _copy: Option<Arc<Unfinished<NamedTempFile>>>,
}

impl InputFile {
    fn named(name: PathBuf, format: Option<Format>) -> Self {
        InputFile { path: name.clone(), name, format, _copy: None }
    }

    fn is_small(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= SMALL)
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        shown(&self.name)
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.path.is_dir()
    }

    /// The files of a folder and of all folders in it, sorted. Those whose names begin with `.` or
    /// `_` are not part of the data: Spark and Hadoop leave such.
    pub(crate) fn members(&self) -> Result<Vec<InputFile>> {
        let mut paths = Vec::new();
        list(&self.path, &mut paths)?;
        if paths.is_empty() {
            bail!("the folder has no files");
        }
        Ok(paths.into_iter().map(|path| InputFile::named(path, self.format)).collect())
    }

    /// The columns of the file, or of all files of the folder.
    pub(crate) fn open_table(&self, reading: &Reading) -> Result<Box<dyn Table>> {
        if !self.is_folder() {
            return formats::open(&self.path, self.format()?, reading);
        }
        let open = |file: InputFile| {
            let name = file.path.strip_prefix(&self.path).unwrap_or(&file.path).display().to_string();
            let n_bytes = file.path.metadata().map_or(0, |metadata| metadata.len());
            let open = || match file.is_sketch() {
                true => bail!("is a sketch, among files of rows"),
                false if file.format()? == Format::Npy => {
                    bail!("an .npy file is one array, and cannot be part of a folder")
                }
                false => formats::open(&file.path, file.format()?, reading),
            };
            open().map(|table| (name.clone(), table, n_bytes)).context(name)
        };
        Ok(Box::new(FolderTable::new(self.members()?.into_iter().map(open).collect::<Result<_>>()?)))
    }

    pub(crate) fn format(&self) -> Result<Format> {
        if let Some(format) = self.format.or_else(|| Format::by_extension(&self.path)) {
            return Ok(format);
        }
        if self.begins_as_sketch() {
            return Ok(Format::Sketch);
        }
        // A name without a file is the likelier mistake.
        formats::open_file(&self.path)?;
        bail!(
            "the format is unknown; name the file .csv, .tsv, .jsonl, .ndjson (these also with .gz or .zst), .parquet, .arrow, \
             .feather, .ipc, .npy or .npz, or pass --format"
        );
    }

    /// Whether the file is one of sketches, known by its first bytes whatever its name, or by its
    /// columns where it is Parquet; or claims to be.
    pub(crate) fn is_sketch(&self) -> bool {
        if self.is_folder() {
            return self.members().is_ok_and(|members| members[0].is_sketch());
        }
        match self.format.or_else(|| Format::by_extension(&self.path)) {
            Some(Format::Sketch) => true,
            Some(Format::Parquet) => sketch_rows::is_one(&self.path),
            // A format that was given is believed.
            _ if self.format.is_some() => false,
            _ => self.begins_as_sketch() || sketch_rows::is_one(&self.path),
        }
    }

    fn begins_as_sketch(&self) -> bool {
        let mut start = Vec::new();
        let is_file = std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.is_file());
        let mut read = || File::open(&self.path).and_then(|file| file.take(9).read_to_end(&mut start));
        is_file && read().is_ok() && Sketches::begin(&start)
    }
}

/// All files in a folder, in the order of their paths.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let cannot_list = |error: std::io::Error| anyhow!("cannot list the folder: {error}");
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        if !entry.file_name().to_string_lossy().starts_with(['.', '_']) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    for path in paths {
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

pub(crate) fn is_standard_input(name: &Path) -> bool {
    name == Path::new(STANDARD_INPUT)
}

/// The name of a file for people.
pub(crate) fn shown(name: &Path) -> String {
    if is_standard_input(name) { "standard input".to_owned() } else { name.display().to_string() }
}

/// The names of files as JSON has them.
pub(crate) fn names(files: &[InputFile]) -> serde_json::Value {
    files.iter().map(|file| file.name.display().to_string()).collect()
}

/// The files that are named; those of a pattern are sorted. A format that is given is that of all.
/// Standard input and pipes are copied, of which no more is read than the limit needs.
pub(crate) fn expand(names: &[PathBuf], format: Option<Format>, limit: u64) -> Result<Vec<InputFile>> {
    if names.iter().filter(|name| is_standard_input(name)).count() > 1 {
        bail!("standard input can be read once, got - twice");
    }
    let mut files = Vec::new();
    for name in names {
        if is_standard_input(name) {
            let copied = copied(name, &mut std::io::stdin().lock(), format, limit);
            files.push(copied.context("standard input")?);
            continue;
        }
        if is_pipe(name) {
            let copied = File::open(name).map_err(|error| anyhow!("cannot open: {error}")).and_then(|mut pipe| {
                let format = format.or_else(|| Format::by_extension(name));
                copied(name, &mut pipe, format, limit)
            });
            files.push(copied.with_context(|| shown(name))?);
            continue;
        }
        match pattern(name) {
            None => files.push(InputFile::named(name.clone(), format)),
            Some(pattern) => files.extend(matches(pattern)?.into_iter().map(|name| InputFile::named(name, format))),
        }
    }
    Ok(files)
}

/// Whether a name is that of a pipe or a device, which can be read once.
fn is_pipe(name: &Path) -> bool {
    std::fs::metadata(name).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Standard input or a pipe in a temporary file, since most formats are not read from their
/// beginning to their end, and text twice where its types turn out to be others.
fn copied(name: &Path, input: &mut dyn Read, format: Option<Format>, limit: u64) -> Result<InputFile> {
    let mut start = Vec::new();
    let cannot_read = |error: std::io::Error| anyhow!("cannot read: {error}");
    (&mut *input).take(N_FIRST_BYTES as u64).read_to_end(&mut start).map_err(cannot_read)?;
    if start.is_empty() {
        bail!("is empty");
    }
    let format = format.map_or_else(|| Format::by_content(&start), Ok).context("pass the format with --format")?;
    abandoned::clean(&std::env::temp_dir());
    let make = || tempfile::Builder::new().prefix(abandoned::PREFIX).suffix(abandoned::INPUT).tempfile();
    let cannot_keep = |error: std::io::Error| anyhow!("cannot keep it in a temporary file: {error}");
    let copy = Unfinished::make(make).map_err(cannot_keep)?;
    if let Some(file) = copy.get() {
        let mut file = file.as_file();
        match (format, Compression::by_content(&start)) {
            (Format::Sketch, _) => {
                let mut rest = input.take(MOST_SKETCH_BYTES);
                let n_bytes = file.write_all(&start).and_then(|()| std::io::copy(&mut rest, &mut file));
                sketches::check_size(n_bytes.map_err(cannot_keep)?.saturating_add(start.len() as u64))?;
            }
            (format, None) if format.is_text() && limit < u64::MAX => {
                // And the names of columns.
                let quotes_have_lines = format != Format::Jsonl;
                copy_rows(start, input, &mut file, limit.saturating_add(1), quotes_have_lines).map_err(cannot_keep)?;
            }
            _ => {
                let copied = file.write_all(&start).and_then(|()| std::io::copy(input, &mut file));
                copied.map_err(cannot_keep)?;
            }
        }
    }
    let path = copy.path().to_owned();
    Ok(InputFile { name: name.to_owned(), path, format: Some(format), _copy: Some(Arc::new(copy)) })
}

/// Copies text up to so many lines that are not empty, and then no more is read. Where quotes may
/// have lines in them and there is one, all is copied.
fn copy_rows(
    start: Vec<u8>,
    input: &mut dyn Read,
    file: &mut impl Write,
    limit: u64,
    quotes_have_lines: bool,
) -> std::io::Result<()> {
    let (mut n_lines, mut is_plain, mut is_empty_line) = (0, true, true);
    let (mut n_bytes, mut bytes) = (start.len(), start);
    while n_bytes > 0 {
        let read = &bytes[..n_bytes];
        is_plain &= !quotes_have_lines || memchr::memchr(b'"', read).is_none();
        for byte in read {
            match byte {
                b'\n' => {
                    n_lines += u64::from(!is_empty_line);
                    is_empty_line = true;
                }
                b'\r' => {}
                _ => is_empty_line = false,
            }
        }
        if is_plain && n_lines >= limit {
            // Without the line that is cut off.
            let end = memchr::memrchr(b'\n', read).map_or(read.len(), |place| place + 1);
            return file.write_all(&read[..end]);
        }
        file.write_all(read)?;
        bytes.resize(COPIED_AT_ONCE, 0);
        n_bytes = read_some(input, &mut bytes)?;
    }
    Ok(())
}

/// What there is to read now; no bytes at the end.
fn read_some(input: &mut dyn Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Hands what `read` makes of each file to `take`, in their order. A file is read on all threads;
/// where there are many small ones, as many at once as there are threads, each on one.
///
/// The file is named where either fails; of several that cannot be read it is the first.
fn for_each<T: Send>(
    files: &[InputFile],
    read: impl Fn(&InputFile) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let n_threads = rayon::current_num_threads();
    let in_turn = |files: &[InputFile], take: &mut dyn FnMut(T) -> Result<()>| {
        files.iter().try_for_each(|file| read(file).and_then(&mut *take).with_context(|| file.shown()))
    };
    if n_threads == 1 || files.len() < MANY_FOR_A_THREAD * n_threads {
        return in_turn(files, &mut take);
    }
    let progress = many_files(files.len());
    // Some at once, so that what they give is not held for all of them.
    for some in files.chunks(n_threads) {
        if !some.iter().all(InputFile::is_small) {
            in_turn(some, &mut take)?;
            continue;
        }
        let read = |file: &InputFile| {
            let result = read(file);
            progress.inc(1);
            result
        };
        let results: Vec<Result<T>> = some.par_iter().map(read).collect();
        for (file, result) in some.iter().zip(results) {
            result.and_then(&mut take).with_context(|| file.shown())?;
        }
    }
    Ok(())
}

/// What `read` makes of all files, each merged into those before it.
pub(crate) fn merged<T: Send>(
    files: &[InputFile],
    read: impl Fn(&InputFile) -> Result<T> + Sync,
    mut merge: impl FnMut(&mut T, T) -> Result<()>,
) -> Result<T> {
    let mut all = None;
    for_each(files, read, |more| match &mut all {
        None => {
            all = Some(more);
            Ok(())
        }
        Some(all) => merge(all, more),
    })?;
    all.context("no files")
}

/// The name as a pattern, if it has a wildcard and is not itself the name of a file.
fn pattern(name: &Path) -> Option<&str> {
    let text = name.to_str()?;
    (text.contains(['*', '?', '[']) && name.symlink_metadata().is_err()).then_some(text)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern).map_err(|error| anyhow!("{pattern}: no pattern of file names: {error}"))?;
    let files = paths.collect::<Result<Vec<_>, _>>().map_err(|error| anyhow!("{pattern}: cannot list: {error}"))?;
    if files.is_empty() {
        bail!("{pattern}: no file has such a name");
    }
    Ok(files)
}

/// Rejects an output that is an input, or a folder of inputs: an interrupt or a full disk must
/// leave all input.
pub(crate) fn reject_overwriting(output: &Path, inputs: &[InputFile]) -> Result<()> {
    let places = [output.to_owned(), crate::output::beside(output)];
    let places: Vec<PathBuf> = places.iter().flat_map(|place| place.canonicalize()).collect();
    let is_input = |input: &Path| input.canonicalize().is_ok_and(|input| places.contains(&input));
    let parent = output.parent().map(|parent| if parent == Path::new("") { Path::new(".") } else { parent });
    let parent = parent.and_then(|parent| parent.canonicalize().ok());
    let is_around = |input: &InputFile| {
        let folder = input.path.canonicalize().ok().filter(|_| input.is_folder());
        folder.zip(parent.as_ref()).is_some_and(|(folder, parent)| parent.starts_with(folder))
    };
    match inputs.iter().find(|input| is_input(&input.path) || is_around(input)) {
        Some(input) => bail!("{}: must not be an input too, got {}", output.display(), input.shown()),
        None => Ok(()),
    }
}
