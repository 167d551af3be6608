//! Tables: CSV for programs, Markdown for people.

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = T>) -> Self {
        Table { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// As CSV, with quotes where they are needed.
    pub fn to_csv(&self) -> String {
        let cell = |text: &String| {
            let plain = !text.contains([',', '"', '\n', '\r']);
            if plain { text.clone() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
        };
        let line = |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        line(&self.columns) + &self.rows.iter().map(line).collect::<String>()
    }

    /// As a Markdown table.
    pub fn to_markdown(&self) -> String {
        let cell = |text: &String| text.replace('|', "\\|").replace('\n', " ");
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.iter().map(cell).collect::<Vec<_>>().join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.columns.len()));
        line(&self.columns) + &rule + &self.rows.iter().map(line).collect::<String>()
    }
}

/// A number with so many digits after the point.
pub(crate) fn fixed(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// A number with three significant digits, with an exponent where it is small.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1e-3 => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 1000.0 => format!("{value:.3}"),
        _ => format!("{value:.0}"),
    }
}

/// All digits: for tables that programs read.
pub(crate) fn full(value: f64) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn commas_quotes_and_bars_are_escaped() {
        let mut table = Table::new(["a", "b"]);
        table.row(["1,5", "say \"x\"|y"]);
        table.row(["2"]);
        assert_eq!(table.to_csv(), "a,b\n\"1,5\",\"say \"\"x\"\"|y\"\n2,\n");
        assert_eq!(table.to_markdown(), "| a | b |\n|---|---|\n| 1,5 | say \"x\"\\|y |\n| 2 |  |\n");
    }
}
