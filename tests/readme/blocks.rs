//! The fenced blocks of a text, with what they say that they print.

use std::fmt;

/// What a line before a block says that is not to be run; the reason stands behind it.
const NOT_RUN: &str = "<!-- not run:";
const PROMPT: &str = "tablegate=> ";
const CONTINUED: &str = "tablegate-> ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Console,
    Sql,
    Python,
}

#[derive(Debug)]
pub(super) struct Block {
    pub kind: Kind,
    /// Where its fence is.
    line: usize,
    pub text: String,
    /// Why it is not run.
    pub not_run: Option<String>,
}

impl fmt::Display for Block {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the block at line {}:\n{}", self.line, self.text)
    }
}

/// What a reader types into a console, and what that prints; nothing where the block does not show it.
#[derive(Debug)]
pub(super) enum Step {
    Shell { command: String, prints: Vec<String> },
    Statement { statement: String, prints: Vec<String> },
}

/// The blocks that can be run, in order.
pub(super) fn of(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut not_run = None;
    let mut lines = markdown.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            not_run = line.strip_prefix(NOT_RUN).map(|why| why.trim_end_matches("-->").trim().to_owned());
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let text = inside.map(|line| format!("{line}\n")).collect();
        let kind = match language {
            "console" => Kind::Console,
            "sql" => Kind::Sql,
            "python" => Kind::Python,
            _ => continue,
        };
        blocks.push(Block { kind, line: index + 1, text, not_run: not_run.take() });
    }
    blocks
}

impl Block {
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step::Shell { command: command.to_owned(), prints: Vec::new() });
            } else if let Some(statement) = line.strip_prefix(PROMPT) {
                steps.push(Step::Statement { statement: statement.to_owned(), prints: Vec::new() });
            } else if let (Some(more), Some(Step::Statement { statement, .. })) =
                (line.strip_prefix(CONTINUED), steps.last_mut())
            {
                statement.push('\n');
                statement.push_str(more);
            } else if let Some(Step::Shell { prints, .. } | Step::Statement { prints, .. }) = steps.last_mut()
                && !line.trim_end().is_empty()
                && !line.ends_with(':')
            {
                prints.push(line.trim_end().to_owned());
            }
        }
        steps
    }

    /// The errors that its comments announce.
    pub(super) fn errors(&self) -> Vec<String> {
        errors(&self.text.replace("\n-- ", "\n"))
    }
}

/// The errors and hints among what psql says.
pub(super) fn errors(said: &str) -> Vec<String> {
    let told = |line: &&str| ["ERROR:", "HINT:"].iter().any(|word| line.starts_with(word));
    let lines = said.lines().map(|line| line.find("ERROR:  ").map_or(line, |at| &line[at..]));
    lines.filter(told).map(|line| line.trim_end().to_owned()).collect()
}

/// What is printed, without empty lines and blanks at the end, which nobody sees.
pub(super) fn lines(printed: &str) -> Vec<String> {
    printed.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
