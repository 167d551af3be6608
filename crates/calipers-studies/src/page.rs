//! The result of a study: a page of Markdown with its figures and tables.

use calipers_report::Chart;

use crate::{Setting, Table};

/// Whether the study confirms a claim of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The result is as the paper states.
    Seen,
    /// The result is not as the paper states, or only under conditions that it does not name.
    NotSeen,
    /// A statement of calipers' own, or a value without a claim.
    Noted,
}

impl Agreement {
    /// `Seen` if a claim of the paper holds.
    pub(crate) fn seen_if(holds: bool) -> Self {
        if holds { Agreement::Seen } else { Agreement::NotSeen }
    }

    /// The word on the page.
    pub fn words(self) -> &'static str {
        match self {
            Agreement::Seen => "Seen",
            Agreement::NotSeen => "Not seen",
            Agreement::Noted => "Noted",
        }
    }
}

/// What a study found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it confirms a claim of the paper.
    pub agreement: Agreement,
    /// The finding, in words that are clear without the page.
    pub text: String,
}

/// A file of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A page with its figures and tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    name: &'static str,
    markdown: String,
    /// Where the text after the title and the setting begins.
    start: usize,
    findings: Vec<Finding>,
    files: Vec<File>,
}

impl Page {
    /// A page that begins with the setting.
    pub(crate) fn new(name: &'static str, title: &str, setting: &Setting) -> Self {
        let markdown = format!("# {title}\n\n`calipers study {name}`. {}\n\n", setting.words());
        Page { name, start: markdown.len(), markdown, findings: Vec::new(), files: Vec::new() }
    }

    /// Puts all findings so far before the rest: the answer first.
    pub(crate) fn begin_with_findings(&mut self) {
        let line = |found: &Finding| format!("- **{}:** {}\n", found.agreement.words(), found.text);
        let lines: String = self.findings.iter().map(line).collect();
        self.markdown.insert_str(self.start, &format!("## In short\n\n{lines}\n"));
    }

    /// Adds a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.markdown += &format!("## {text}\n\n");
    }

    /// Adds a paragraph.
    pub(crate) fn text(&mut self, text: &str) {
        self.markdown += &format!("{}\n\n", text.trim());
    }

    /// Adds a finding, and whether it confirms a claim of the paper.
    pub(crate) fn finding(&mut self, agreement: Agreement, text: &str) {
        self.markdown += &format!("**{}:** {text}\n\n", agreement.words());
        self.findings.push(Finding { agreement, text: text.to_owned() });
    }

    /// Adds a figure, in a file of its own.
    pub(crate) fn figure(&mut self, name: &str, chart: &Chart, caption: &str) {
        let name = format!("{}-{name}.svg", self.name);
        self.markdown += &format!("![{caption}]({name})\n\n{caption}\n\n");
        self.files.push(File { name, text: chart.to_svg() });
    }

    /// Adds a table for people.
    pub(crate) fn table(&mut self, table: &Table) {
        self.markdown += &format!("{}\n", table.to_markdown());
    }

    /// Adds a table for programs, in a file of its own.
    pub(crate) fn csv(&mut self, name: &str, table: &Table) {
        let name = format!("{}-{name}.csv", self.name);
        self.markdown += &format!("All values: [{name}]({name}).\n\n");
        self.files.push(File { name, text: table.to_csv() });
    }

    /// Adds an HTML page, in a file of its own.
    pub(crate) fn html(&mut self, name: &str, html: String, caption: &str) {
        let name = format!("{}-{name}.html", self.name);
        self.markdown += &format!("{caption}: [{name}]({name}).\n\n");
        self.files.push(File { name, text: html });
    }

    /// The study's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The page itself, then its figures and tables.
    pub fn files(&self) -> impl Iterator<Item = File> + '_ {
        let page = File { name: format!("{}.md", self.name), text: self.markdown.trim_end().to_owned() + "\n" };
        std::iter::once(page).chain(self.files.iter().cloned())
    }
}
