//! Every verb that writes, with what its files are before and after.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::hostile::injected::{self, Ended, Fault};
use crate::support::{Folder, answers, succeed};

/// Arguments with `IN` for the folder of inputs and `OUT` for that of outputs.
pub(super) const WRITERS: [(&str, &str); 15] = [
    ("sketch", "sketch IN/a.csv -o OUT/a.calipers"),
    ("sketch by group", "sketch IN/a.csv --by g -o OUT/a.parquet"),
    ("sketch in folds", "sketch IN/a.csv --n-folds 3 -o OUT/a.parquet"),
    ("merge", "merge IN/hours -o OUT/a.calipers"),
    ("fit", "recalibrate fit IN/a.csv --method platt -o OUT/map.json"),
    ("apply to CSV", "recalibrate apply IN/a.csv --map IN/map.json -o OUT/b.csv"),
    ("apply to JSON lines", "recalibrate apply IN/a.csv --map IN/map.json -o OUT/b.jsonl"),
    ("apply to Parquet", "recalibrate apply IN/a.csv --map IN/map.json -o OUT/b.parquet"),
    ("check", "check IN/a.csv --max ls-ece=0.9 --n-resamples 40 --output-format junit -o OUT/a.xml"),
    ("sweep", "sweep IN/a.csv --bins 5,10 --svg OUT/a.svg"),
    ("monitor", "monitor IN/hours --state OUT/state.json --report OUT/a.html"),
    ("report", "report IN/few.csv --n-resamples 40 -o OUT/a.html"),
    ("report with charts", "report IN/few.csv --n-resamples 40 -o OUT/a.html --svg OUT/charts"),
    ("study", "study discontinuity --quick --out OUT"),
    ("study into a new folder", "study discontinuity --quick --out OUT/new/pages"),
];

/// What a file was before, unless the verb reads it, too.
const OLD: &[u8] = b"what was there before";

/// Files by their path from the folder of outputs.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A verb that writes, and what it writes.
pub(super) struct Writer {
    pub(super) name: &'static str,
    pub(super) args: Vec<String>,
    folder: Folder,
    /// What is there before a run.
    old: Files,
    /// What a run without faults leaves.
    pub(super) new: Files,
}

/// What is left of a run, apart from temporary files.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(super) enum Left {
    AllOld,
    AllNew,
    /// Whole files of both.
    Mixed,
}

impl Writer {
    pub(super) fn all() -> impl Iterator<Item = Writer> {
        WRITERS.iter().map(|(name, args)| Writer::new(name, args))
    }

    pub(super) fn new(name: &'static str, args: &str) -> Self {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.path("in/hours")).unwrap();
        folder.write("in/a.csv", answers(400));
        folder.write("in/few.csv", answers(60));
        for hour in 0..3 {
            let rows = folder.write("in/hour.csv", answers(100 + hour));
            let to = folder.path(&format!("in/hours/{hour}.calipers"));
            succeed(&["sketch", text(&rows), "-o", text(&to)]);
        }
        let (rows, map) = (folder.path("in/a.csv"), folder.path("in/map.json"));
        succeed(&["recalibrate", "fit", text(&rows), "--method", "platt", "-o", text(&map)]);
        let place = |word: &str| word.replace("IN", text(&folder.path("in"))).replace("OUT", text(&folder.path("out")));
        let args = args.split(' ').map(place).collect();
        let mut writer = Writer { name, args, folder, old: Files::new(), new: Files::new() };
        // Once to find the names, and once with the old files.
        writer.new = writer.leaves();
        let makes_folder = writer.new.keys().any(|name| name.starts_with("new/"));
        for name in writer.new.keys().filter(|_| !makes_folder) {
            writer.old.insert(name.clone(), OLD.to_vec());
        }
        if writer.new.contains_key("state.json") {
            let (hour, state) = (writer.folder.path("in/hours/0.calipers"), writer.folder.path("in/state.json"));
            succeed(&["monitor", text(&hour), "--state", text(&state)]);
            writer.old.insert("state.json".to_owned(), std::fs::read(state).unwrap());
        }
        writer.new = writer.leaves();
        writer
    }

    /// What a run without faults leaves.
    fn leaves(&self) -> Files {
        self.reset();
        let clean = self.run(Fault { kind: "kill", number: 0 });
        assert_eq!(clean.code, Some(0), "{} {clean:?}", self.name);
        self.files()
    }

    pub(super) fn out(&self) -> PathBuf {
        self.folder.path("out")
    }

    /// The folder of outputs as it was before the verb ran.
    pub(super) fn reset(&self) {
        for name in ["out", "out.gone"] {
            let path = self.folder.path(name);
            if path.exists() {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
        std::fs::create_dir(self.out()).unwrap();
        for (name, bytes) in &self.old {
            let path = self.out().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    }

    pub(super) fn run(&self, fault: Fault) -> Ended {
        injected::run(&self.args, &self.out(), fault)
    }

    /// A run after one that was killed. A state that it goes on from is the old one.
    pub(super) fn run_again(&self) -> Ended {
        if let Some(state) = self.old.get("state.json") {
            std::fs::write(self.out().join("state.json"), state).unwrap();
        }
        self.run(Fault { kind: "kill", number: 0 })
    }

    pub(super) fn n_calls(&self) -> usize {
        self.reset();
        injected::n_calls(&self.args, &self.out(), "kill")
    }

    /// Another verb that writes to the same folders.
    pub(super) fn write_another(&self) {
        let rows = self.folder.path("in/few.csv");
        for folder in [self.out(), self.out().join("charts")] {
            if folder.exists() {
                let path = folder.join("next.calipers");
                succeed(&["sketch", text(&rows), "-o", text(&path)]);
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    /// All files of outputs; temporary ones too.
    pub(super) fn files(&self) -> Files {
        let mut files = Files::new();
        read_into(&self.out(), "", &mut files);
        files
    }

    /// What is left in a folder: each file must be whole, old or new.
    pub(super) fn left(&self, context: &str) -> Left {
        let found: Files = self.files().into_iter().filter(|(path, _)| !is_temporary(path)).collect();
        let (mut n_old, mut n_new) = (0, 0);
        for (name, bytes) in &found {
            let new = self.new.get(name).unwrap_or_else(|| panic!("{}, {context}: a file {name}", self.name));
            match bytes {
                bytes if bytes == new => n_new += 1,
                bytes if Some(bytes) == self.old.get(name) => n_old += 1,
                bytes => panic!("{}, {context}: {name} has {} bytes of {}", self.name, bytes.len(), new.len()),
            }
        }
        match (n_old, n_new) {
            (_, 0) => Left::AllOld,
            (0, n) if n == self.new.len() => Left::AllNew,
            _ => Left::Mixed,
        }
    }

    /// Paths of temporary files and folders.
    pub(super) fn temporary(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        find_temporary(&self.out(), &mut found);
        found
    }

    /// Makes temporary files look as if the run had been an hour ago.
    pub(super) fn age(&self) {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for path in self.temporary() {
            std::fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
    }

    /// Are all files moved to one folder, and so together?
    pub(super) fn is_one_folder(&self) -> bool {
        self.args[0] == "study"
    }
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn is_temporary(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(".calipers-"))
}

fn read_into(folder: &Path, before: &str, files: &mut Files) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().into_string().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => read_into(&entry.path(), &format!("{name}/"), files),
            false => drop(files.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
}

fn find_temporary(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        if is_temporary(entry.file_name().to_str().unwrap()) {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            find_temporary(&entry.path(), found);
        }
    }
}
