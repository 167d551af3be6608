//! A table as data, and its text for a screen: `fit` decides what is wrapped and where it is cut, this file draws.

mod fit;

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::render::screen::{Screen, Tone};
use fit::{Block, Shape};

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

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::toned(text, Tone::Plain)
    }
}

/// A table: names first, then numbers, then perhaps notes.
#[derive(Debug)]
pub(crate) struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Columns of numbers, which are set to the right and never broken. Those before name the row, those after are text.
    numbers: Range<usize>,
    /// Columns that stay in one table if any screen has place for them.
    together: Vec<Range<usize>>,
}

impl Grid {
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>, numbers: Range<usize>) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Grid { header, rows: Vec::new(), numbers, together: Vec::new() }
    }

    /// Columns that belong to each other: a figure and its floor.
    pub(crate) fn together(mut self, columns: Range<usize>) -> Self {
        self.together.push(columns);
        self
    }

    /// Adds a row; places that it leaves out stay empty.
    pub(crate) fn add(&mut self, row: impl IntoIterator<Item = impl Into<Cell>>) {
        let mut row: Vec<Cell> = row.into_iter().map(Into::into).collect();
        row.resize(self.header.len(), Cell::default());
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, in one table if it fits, else in as few as will do, each with the names of its rows.
    pub(crate) fn draw(&self, screen: &Screen) -> String {
        let cells: Vec<Vec<&str>> =
            self.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        let shape = Shape { header: &self.header, rows: &cells, numbers: &self.numbers, together: &self.together };
        let blocks = shape.blocks(screen.width);
        blocks.iter().map(|block| self.draw_block(block, screen)).collect::<Vec<String>>().join("\n")
    }

    fn draw_block(&self, block: &Block, screen: &Screen) -> String {
        let header: Vec<Cell> =
            block.columns.iter().map(|column| Cell::toned(self.header[column.place].as_str(), Tone::Heading)).collect();
        let widths: usize = block.columns.iter().map(|column| column.width).sum();
        let rule = "-".repeat(widths + GAP.len() * (block.columns.len() - 1) + 1);
        let mut text = self.draw_row(&header.iter().collect::<Vec<_>>(), block, screen);
        text += &(screen.paint(&rule, Tone::Quiet) + "\n");
        for row in &self.rows {
            let cells: Vec<&Cell> = block.columns.iter().map(|column| &row[column.place]).collect();
            text += &self.draw_row(&cells, block, screen);
        }
        text
    }

    /// As many lines as the longest cell needs.
    fn draw_row(&self, cells: &[&Cell], block: &Block, screen: &Screen) -> String {
        let in_lines: Vec<Vec<String>> =
            cells.iter().zip(&block.columns).map(|(cell, column)| fit::lines(&cell.text, column.width)).collect();
        let n_lines = in_lines.iter().map(Vec::len).max().unwrap_or(1);
        let line = |number: usize| {
            let pieces = cells.iter().zip(&block.columns).zip(&in_lines).map(|((cell, column), lines)| {
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
        let mut grid = Grid::new(["predictions", "n", "LS-ECE", "floor", "ECE (15 bins)", "floor", "notes"], 1..6)
            .together(2..4)
            .together(4..6);
        grid.add([
            "naive_bayes",
            "569",
            "0.05567",
            "0.0050 ± 0.0017",
            "0.06027",
            "0.0087 ± 0.0016",
            "497 clipped, tied",
        ]);
        grid.add(["mlp", "1,569", "0.01", "0.0093 ± 0.0023", "0.02", "0.0146 ± 0.0027"]);
        grid
    }

    #[test]
    fn numbers_are_set_to_the_right_and_names_to_the_left() {
        let mut grid = Grid::new(["model", "n"], 1..2);
        grid.add(["a", "1,000"]);
        grid.add(["数字", "7"]);
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
    fn a_figure_stays_with_its_floor() {
        let text = models().draw(&Screen { width: Some(60), colours: false });
        let tables: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(tables.len(), 2, "{text}");
        assert!(tables[0].contains("LS-ECE            floor") && !tables[0].contains("ECE (15"), "{text}");
        assert!(tables[1].starts_with("predictions") && tables[1].contains("notes"), "{text}");
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let mut grid = Grid::new(["verdict", "n"], 1..2);
        grid.add([Cell::toned("failed", Tone::Bad), Cell::from("7")]);
        let painted = grid.draw(&Screen { width: None, colours: true });
        assert!(painted.contains("\x1b[31mfailed\x1b[0m") && painted.contains("\x1b[1mverdict\x1b[0m"), "{painted:?}");
        assert_eq!(console::strip_ansi_codes(&painted), grid.draw(&PIPED));
    }
}
