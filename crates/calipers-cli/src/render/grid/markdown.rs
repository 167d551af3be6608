//! A table as Markdown, and text that Markdown shows as it is.

use super::{Cell, Grid};

/// Characters with a meaning in a line of Markdown, or in the HTML that it may contain. A line
/// that begins with another one, as a list does, stands in a cell or after a word here.
const SPECIAL: [char; 12] = ['\\', '`', '*', '_', '[', ']', '<', '>', '&', '|', '~', '$'];

/// Text in which no character has a meaning to Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let text = crate::printable(text);
    text.chars().flat_map(|c| SPECIAL.contains(&c).then_some('\\').into_iter().chain([c])).collect()
}

impl Grid {
    /// One table, however wide it is.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let header = row(self.header.iter().map(|heading| escaped(heading)).collect());
        let aligned = |place: usize| if self.numbers.contains(&place) { "---:" } else { ":---" };
        let rule = row((0..self.columns.len()).map(|place| aligned(place).to_owned()).collect());
        let text = |cell: &Cell| escaped(&cell.text);
        let rows =
            (0..self.n_rows()).map(|number| row(self.columns.iter().map(|column| text(&column[number])).collect()));
        header + &rule + &rows.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_column_for_each_column_whatever_is_in_its_cells() {
        let mut grid = Grid::default();
        grid.names("model", ["a|b", "<b>*c*_d_`e`"]);
        grid.numbers("n", ["1,000", "7"]);
        let expected = "| model | n |\n| :--- | ---: |\n| a\\|b | 1,000 |\n| \\<b\\>\\*c\\*\\_d\\_\\`e\\` | 7 |\n";
        assert_eq!(grid.markdown(), expected);
    }
}
