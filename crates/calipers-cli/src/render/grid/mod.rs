//! A table as data, column by column, and its text for a screen: `fit` decides what is wrapped and
//! where it is cut, this file draws.

mod fit;
mod markdown;

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::render::screen::{Screen, Tone};
use fit::{Block, Shape};
pub(crate) use markdown::escaped as escaped_markdown;

/// Between two columns.
const GAP: &str = "  ";

/// What stands at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }

    /// In place of what is not available.
    pub(crate) fn dash() -> Self {
        Cell::toned("-", Tone::Quiet)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::toned(text, Tone::Plain)
    }
}

/// A table: columns of names first, then of numbers, then perhaps of notes.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    header: Vec<String>,
    columns: Vec<Vec<Cell>>,
    /// Columns of numbers, which are set to the right and never broken. Those before name the row,
    /// those after are text.
    numbers: Range<usize>,
    /// Columns that stay in one table if any screen has place for them: a value and its floor.
    together: Vec<Range<usize>>,
    /// Names are never broken either, so that they can be searched for.
    whole_names: bool,
}

impl Grid {
    pub(crate) fn with_whole_names() -> Self {
        Grid { whole_names: true, ..Grid::default() }
    }

    /// A column that names the rows, before those of numbers.
    pub(crate) fn names<C: Into<Cell>>(&mut self, heading: &str, cells: impl IntoIterator<Item = C>) {
        self.notes(heading, cells);
        self.numbers = self.columns.len()..self.columns.len();
    }

    pub(crate) fn numbers<C: Into<Cell>>(&mut self, heading: &str, cells: impl IntoIterator<Item = C>) {
        self.notes(heading, cells);
        self.numbers.end = self.columns.len();
    }

    /// Numbers that belong to those of the column before.
    pub(crate) fn beside<C: Into<Cell>>(&mut self, heading: &str, cells: impl IntoIterator<Item = C>) {
        self.numbers(heading, cells);
        let end = self.columns.len();
        match self.together.last_mut() {
            Some(together) if together.end == end - 1 => together.end = end,
            _ => self.together.push(end - 2..end),
        }
    }

    /// A column of text, after those of numbers.
    pub(crate) fn notes<C: Into<Cell>>(&mut self, heading: &str, cells: impl IntoIterator<Item = C>) {
        self.header.push(heading.to_owned());
        self.columns.push(cells.into_iter().map(Into::into).collect());
    }

    fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// The text, in one table if it fits, else in as few as will do, each with the names of its
    /// rows.
    pub(crate) fn draw(&self, screen: &Screen) -> String {
        let Grid { header, columns, numbers, together, whole_names } = self;
        let shape = Shape { header, columns, numbers, together, whole_names: *whole_names };
        let blocks = shape.blocks(screen.width);
        blocks.iter().map(|block| self.draw_block(block, screen)).collect::<Vec<String>>().join("\n")
    }

    fn draw_block(&self, block: &Block, screen: &Screen) -> String {
        let header: Vec<Cell> =
            block.iter().map(|column| Cell::toned(self.header[column.place].as_str(), Tone::Heading)).collect();
        let widths: usize = block.iter().map(|column| column.width).sum();
        let rule = "-".repeat(widths + GAP.len() * (block.len() - 1) + 1);
        let mut text = self.draw_row(&header.iter().collect::<Vec<_>>(), block, screen);
        text += &(screen.paint(&rule, Tone::Quiet) + "\n");
        for row in 0..self.n_rows() {
            let cells: Vec<&Cell> = block.iter().map(|column| &self.columns[column.place][row]).collect();
            text += &self.draw_row(&cells, block, screen);
        }
        text
    }

    /// As many lines as the longest cell needs.
    fn draw_row(&self, cells: &[&Cell], block: &Block, screen: &Screen) -> String {
        let in_lines: Vec<Vec<String>> =
            cells.iter().zip(block).map(|(cell, column)| fit::lines(&cell.text, column.width)).collect();
        let n_lines = in_lines.iter().map(Vec::len).max().unwrap_or(1);
        let line = |number: usize| {
            let pieces = cells.iter().zip(block).zip(&in_lines).map(|((cell, column), lines)| {
                let text = lines.get(number).map_or("", String::as_str);
                let space = " ".repeat(column.width.saturating_sub(text.width()));
                let text = screen.paint(text, cell.tone);
                if self.numbers.contains(&column.place) { space + &text } else { text + &space }
            });
            format!("{}\n", pieces.collect::<Vec<String>>().join(GAP).trim_end())
        };
        (0..n_lines).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPED: Screen = Screen { width: None, colours: false };

    fn models() -> Grid {
        let mut grid = Grid::default();
        grid.names("predictions", ["naive_bayes", "mlp"]);
        grid.numbers("n", ["569", "1,569"]);
        grid.numbers("LS-ECE", ["0.05567", "0.01"]);
        grid.beside("floor", ["0.0050 ± 0.0017", "0.0093 ± 0.0023"]);
        grid.numbers("ECE (15 bins)", ["0.06027", "0.02"]);
        grid.beside("floor", ["0.0087 ± 0.0016", "0.0146 ± 0.0027"]);
        grid.notes("notes", ["497 clipped, tied", ""]);
        grid
    }

    #[test]
    fn numbers_are_set_to_the_right_and_names_to_the_left() {
        let mut grid = Grid::default();
        grid.names("model", ["a", "数字"]);
        grid.numbers("n", ["1,000", "7"]);
        assert_eq!(grid.draw(&PIPED), "model      n\n-------------\na      1,000\n数字       7\n");
    }

    #[test]
    fn no_number_is_cut_at_any_width() {
        let grid = models();
        for width in 40..140 {
            let text = grid.draw(&Screen { width: Some(width), colours: false });
            for line in text.lines() {
                assert!(line.width() <= width, "{width}\n{text}");
            }
            for number in ["0.05567", "0.0050 ± 0.0017", "0.06027", "0.0087 ± 0.0016", "1,569", "0.0146 ± 0.0027"] {
                assert!(text.contains(number), "{width}: {number}\n{text}");
            }
        }
    }

    #[test]
    fn a_value_stays_with_its_floor() {
        let text = models().draw(&Screen { width: Some(60), colours: false });
        let tables: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(tables.len(), 2, "{text}");
        assert!(tables[0].contains("LS-ECE            floor") && !tables[0].contains("ECE (15"), "{text}");
        assert!(tables[1].starts_with("predictions") && tables[1].contains("notes"), "{text}");
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let mut grid = Grid::default();
        grid.names("verdict", [Cell::toned("failed", Tone::Bad)]);
        grid.numbers("n", ["7"]);
        let painted = grid.draw(&Screen { width: None, colours: true });
        assert!(painted.contains("\x1b[31mfailed\x1b[0m") && painted.contains("\x1b[1mverdict\x1b[0m"), "{painted:?}");
        assert_eq!(console::strip_ansi_codes(&painted), grid.draw(&PIPED));
    }
}
