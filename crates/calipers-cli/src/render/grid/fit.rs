//! How a table is made to fit: first headings and notes are wrapped, then names, and then it is cut
//! into tables under each other. Numbers are never broken: a cut number is a wrong one.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::{Cell, GAP};
use crate::render::wrap;

/// Notes are wrapped to no less, as long as they are that long.
const LEAST_NOTES: usize = 16;

/// Names are wrapped to no less.
const LEAST_NAME: usize = 18;

/// What the width of a table depends on.
pub(super) struct Shape<'a> {
    pub(super) header: &'a [String],
    pub(super) columns: &'a [Vec<Cell>],
    pub(super) numbers: &'a Range<usize>,
    pub(super) together: &'a [Range<usize>],
    pub(super) whole_names: bool,
}

/// A column of a block, and how wide it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) place: usize,
    pub(super) width: usize,
}

/// Columns beside each other.
pub(super) type Block = Vec<Placed>;

impl Shape<'_> {
    /// One block if it fits, else as few as will do.
    pub(super) fn blocks(&self, width: Option<usize>) -> Vec<Block> {
        let natural: Vec<Placed> =
            (0..self.header.len()).map(|place| Placed { place, width: self.natural(place) }).collect();
        let Some(width) = width.filter(|width| total(&natural) > *width) else {
            return vec![natural];
        };
        for names_wrapped in [false, true] {
            let mut columns: Vec<Placed> =
                natural.iter().map(|column| Placed { width: self.narrow(*column, names_wrapped), ..*column }).collect();
            if total(&columns) <= width {
                self.widen(&mut columns, width);
                return vec![columns];
            }
        }
        self.cut(&natural, width)
    }

    /// Blocks that all begin with the names of the rows. Columns that belong together are cut apart
    /// only where they are too wide for one block.
    fn cut(&self, natural: &[Placed], width: usize) -> Vec<Block> {
        let narrow = |column: &Placed| Placed { width: self.narrow(*column, true), ..*column };
        let names: Vec<Placed> = natural[..self.numbers.start].iter().map(narrow).collect();
        let mut blocks = vec![names.clone()];
        for unit in self.units() {
            let unit: Vec<Placed> = natural[unit].iter().map(narrow).collect();
            let fits = total(&[&names[..], &unit].concat()) <= width;
            for columns in unit.chunks(if fits { unit.len() } else { 1 }) {
                match blocks.last_mut() {
                    Some(last) if last.len() == names.len() || total(&[&last[..], columns].concat()) <= width => {
                        last.extend(columns);
                    }
                    _ => blocks.push([&names[..], columns].concat()),
                }
            }
        }
        blocks.iter_mut().for_each(|block| self.widen(block, width));
        blocks
    }

    /// What is left of the line, given to headings, then to names, then to notes.
    fn widen(&self, columns: &mut [Placed], width: usize) {
        let mut left = width.saturating_sub(total(columns));
        let (mut order, n_names) = ((0..columns.len()).collect::<Vec<usize>>(), self.numbers.start);
        order.rotate_left(n_names.min(columns.len()));
        order.sort_by_key(|index| (self.is_notes(columns[*index].place), *index < n_names));
        for index in order {
            let more = (self.natural(columns[index].place) - columns[index].width).min(left);
            // Part of what a heading needs is of no use to it.
            if more == left && self.numbers.contains(&columns[index].place) && more > 0 {
                continue;
            }
            columns[index].width += more;
            left -= more;
        }
    }

    /// The columns after the names, of which those that belong together are one.
    fn units(&self) -> Vec<Range<usize>> {
        let mut units = Vec::new();
        let mut place = self.numbers.start;
        while place < self.header.len() {
            let end = self.together.iter().find(|together| together.start == place).map_or(place + 1, |all| all.end);
            units.push(place..end);
            place = end;
        }
        units
    }

    fn is_notes(&self, place: usize) -> bool {
        place >= self.numbers.end
    }

    fn natural(&self, place: usize) -> usize {
        self.cells(place).chain([self.header[place].as_str()]).map(widest_line).max().unwrap_or_default()
    }

    /// The width with wrapped headings and notes, and wrapped names if so requested.
    fn narrow(&self, column: Placed, names_wrapped: bool) -> usize {
        let Placed { place, width } = column;
        let heading = longest_piece(&self.header[place]);
        let cells = self.cells(place);
        if self.numbers.contains(&place) {
            return cells.map(widest_line).max().unwrap_or_default().max(heading);
        }
        let longest = cells.map(longest_piece).max().unwrap_or_default().max(heading);
        match (self.is_notes(place), names_wrapped) {
            (true, _) => longest.max(LEAST_NOTES).min(width),
            (false, true) if !self.whole_names => longest.max(LEAST_NAME).min(width),
            (false, _) => width,
        }
    }

    fn cells(&self, place: usize) -> impl Iterator<Item = &str> {
        self.columns[place].iter().map(|cell| cell.text.as_str())
    }
}

/// Characters of a line with these columns, and one for the rule under the header.
fn total(columns: &[Placed]) -> usize {
    columns.iter().map(|column| column.width).sum::<usize>() + GAP.len() * columns.len().saturating_sub(1) + 1
}

fn widest_line(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or_default()
}

/// After these a line of a cell may end.
const SEPARATORS: [char; 2] = ['_', ' '];

fn longest_piece(text: &str) -> usize {
    let pieces = text.lines().flat_map(|line| line.split_inclusive(SEPARATORS));
    pieces.map(|piece| piece.trim_end().width()).max().unwrap_or_default()
}

/// A text in lines of at most so many characters, where its pieces allow it.
pub(super) fn lines(text: &str, width: usize) -> Vec<String> {
    wrap::lines(text, &SEPARATORS, width, 0)
}
