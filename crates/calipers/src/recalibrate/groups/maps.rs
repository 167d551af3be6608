//! The groups of rows, and a map for each of them.

use crate::Error;
use crate::recalibrate::binary::map::BinaryMap;
use crate::recalibrate::method::Method;

/// Which group each row belongs to.
///
/// # Example
/// ```
/// use calipers::recalibrate::Groups;
///
/// let groups = Groups::new(&["north", "south", "north"]);
/// assert_eq!(groups.names(), ["north", "south"]);
/// assert_eq!(groups.numbers(), [0, 1, 0]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Ascending.
    names: Vec<String>,
    /// For each row the place of its name.
    numbers: Vec<u32>,
}

impl Groups {
    /// By the name of the group of each row.
    pub fn new(of_rows: &[impl AsRef<str>]) -> Self {
        let mut names: Vec<String> = of_rows.iter().map(|name| name.as_ref().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let place = |name: &str| names.binary_search_by(|own| own.as_str().cmp(name)).unwrap_or_default() as u32;
        let numbers = of_rows.iter().map(|name| place(name.as_ref())).collect();
        Groups { names, numbers }
    }

    /// By names, each once and in any order, and for each row the place of its own.
    pub fn numbered(names: &[impl AsRef<str>], numbers: &[u32]) -> Result<Self, Error> {
        let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::setting("groups", "of different names", format!("{:?} twice", pair[0])));
        }
        if let Some(number) = numbers.iter().find(|number| **number as usize >= names.len()) {
            return Err(Error::setting("groups", format!("numbers below {}", names.len()), number));
        }
        let place = |name: &str| sorted.binary_search(&name).unwrap_or_default() as u32;
        let places: Vec<u32> = names.iter().map(|name| place(name.as_ref())).collect();
        let numbers = numbers.iter().map(|number| places[*number as usize]).collect();
        Ok(Groups { names: sorted.into_iter().map(str::to_owned).collect(), numbers })
    }

    /// The names, in ascending order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For each row the place of its group's name.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none, since there are no rows.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A map for each group of rows, and one for the groups that it does not know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupMaps {
    /// The column whose values are the names of groups, if that is known.
    pub by: Option<String>,
    /// What all groups have in common: the map of a group that is not listed.
    pub pooled: BinaryMap,
    /// The names of groups, in ascending order.
    pub names: Vec<String>,
    /// The map of each, of the same method as the pooled one.
    pub maps: Vec<BinaryMap>,
    /// How much each parameter differs among groups: a standard deviation.
    pub spread: Vec<f64>,
}

impl GroupMaps {
    /// With the name of the column that the groups come from.
    pub fn by(mut self, column: impl Into<String>) -> Self {
        self.by = Some(column.into());
        self
    }

    /// The family.
    pub fn method(&self) -> Method {
        self.pooled.method
    }

    /// The place of a group among the names; `None` for one that is not listed.
    pub fn place(&self, group: &str) -> Option<usize> {
        self.names.binary_search_by(|name| name.as_str().cmp(group)).ok()
    }

    /// The map of a group: the pooled one where the group is not listed.
    pub fn of(&self, group: &str) -> &BinaryMap {
        self.place(group).map_or(&self.pooled, |place| &self.maps[place])
    }
}
