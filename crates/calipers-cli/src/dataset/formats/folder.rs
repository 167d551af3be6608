//! The files of a folder as one table: the rows of one file after those of another.

use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow, bail};

use super::{Compression, Dialect, Extent, Failure, Part, Parts, Role, Stream, Table};

/// Rows are numbered file by file, each from its own multiple of this: so a number tells the file,
/// and no file has to be read to number the rows of the next.
const ROWS_OF_A_FILE: u64 = 1 << 40;

/// A file of the folder.
struct Member {
    /// For people.
    name: String,
    table: Box<dyn Table>,
    n_bytes: u64,
}

pub(crate) struct FolderTable {
    /// At least one.
    members: Vec<Member>,
    names: Vec<String>,
}

impl FolderTable {
    /// Of files with their names, of which there is one at least. The columns are those of the
    /// first; whichever are wanted must be in all.
    pub(crate) fn new(files: Vec<(String, Box<dyn Table>, u64)>) -> Self {
        let names = files.first().map_or_else(Vec::new, |(_, table, _)| table.names().to_vec());
        let members = files.into_iter().map(|(name, table, n_bytes)| Member { name, table, n_bytes });
        FolderTable { members: members.collect(), names }
    }

    fn first(&self) -> &dyn Table {
        &*self.members[0].table
    }

    /// The wanted columns as a file has them.
    fn wanted_of(&self, member: &Member, wanted: &[(usize, Role)]) -> Result<Vec<(usize, Role)>> {
        let find = |&(place, role): &(usize, Role)| {
            let (noun, name) = (self.noun(), &self.names[place]);
            let same = |other: &String| other == name;
            match member.table.names().iter().position(same) {
                Some(place) => Ok((place, role)),
                None => Err(anyhow!("{}: has no {noun} {name}, which {} has", member.name, self.members[0].name)),
            }
        };
        wanted.iter().map(find).collect()
    }
}

impl Table for FolderTable {
    fn noun(&self) -> &'static str {
        self.first().noun()
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn type_name(&self, place: usize) -> Option<String> {
        self.first().type_name(place)
    }

    fn listed_role(&self, place: usize) -> Option<Role> {
        self.first().listed_role(place)
    }

    fn dialect(&self) -> Option<Dialect> {
        self.first().dialect()
    }

    fn compression(&self) -> Option<Compression> {
        self.first().compression()
    }

    fn place(&self, row: u64) -> String {
        let member = &self.members[usize::try_from(row / ROWS_OF_A_FILE).map_or(0, |file| file % self.members.len())];
        format!("{} of {}", member.table.place(row % ROWS_OF_A_FILE), member.name)
    }

    fn stream<'a>(&'a self, wanted: &[(usize, Role)], limit: u64) -> Result<Box<dyn Stream + 'a>> {
        let members = self.members.iter().map(|member| {
            let wanted = self.wanted_of(member, wanted)?;
            Ok(OpenMember { member, wanted, stream: OnceLock::new() })
        });
        let members = members.collect::<Result<_>>()?;
        Ok(Box::new(Members { members, limit, n_classes: Mutex::default() }))
    }
}

/// All files, which threads go through in their order.
struct Members<'a> {
    members: Vec<OpenMember<'a>>,
    limit: u64,
    /// Values of a row in each column, which are the same in all files.
    n_classes: Mutex<Option<Vec<usize>>>,
}

struct OpenMember<'a> {
    member: &'a Member,
    wanted: Vec<(usize, Role)>,
    /// Opened by the first thread that comes to it.
    stream: OnceLock<Box<dyn Stream + 'a>>,
}

impl<'a> OpenMember<'a> {
    fn stream(&self, limit: u64) -> Result<&(dyn Stream + 'a)> {
        if self.stream.get().is_none() {
            // If another thread was faster, its stream is the one.
            let _ = self.stream.set(self.member.table.stream(&self.wanted, limit)?);
        }
        // proof: it was there, or has been set
        self.stream.get().map(|stream| &**stream).ok_or_else(|| anyhow!("cannot be opened"))
    }
}

impl Stream for Members<'_> {
    fn extent(&self) -> Extent {
        Extent::Bytes(self.members.iter().map(|open| open.member.n_bytes).sum())
    }

    fn parts(&self) -> Parts<'_> {
        Box::new((0..self.members.len()).flat_map(|file| self.parts_of(file)))
    }

    fn finish(&self) -> Result<()> {
        let mut opened = self.members.iter().filter_map(|open| Some((open, open.stream.get()?)));
        opened.try_for_each(|(open, stream)| stream.finish().with_context(|| open.member.name.clone()))
    }
}

impl Members<'_> {
    fn parts_of(&self, file: usize) -> Parts<'_> {
        let open = &self.members[file];
        let start = file as u64 * ROWS_OF_A_FILE;
        let failure = move |row: u64, error: anyhow::Error| Failure {
            first_row: start + row,
            error: error.context(open.member.name.clone()),
        };
        let stream = match open.stream(self.limit) {
            Ok(stream) => stream,
            Err(error) => return Box::new(std::iter::once(Err(failure(0, error)))),
        };
        Box::new(stream.parts().map(move |part| {
            let part = part.map_err(|Failure { first_row, error }| failure(first_row, error))?;
            self.check_classes(&part).map_err(|error| failure(part.first_row, error))?;
            let extent = match stream.extent() {
                Extent::Rows(n_rows) => part.extent * open.member.n_bytes / n_rows.max(1),
                Extent::Bytes(_) => part.extent,
            };
            Ok(Part { first_row: start + part.first_row, extent, ..part })
        }))
    }

    fn check_classes(&self, part: &Part) -> Result<()> {
        let found: Vec<usize> = part.columns.iter().map(|column| column.n_classes).collect();
        let mut known = self.n_classes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| found.clone());
        match known.iter().zip(&found).find(|(known, found)| known != found) {
            Some((known, found)) => bail!("has {found} classes, and another file of the folder {known}"),
            None => Ok(()),
        }
    }
}
