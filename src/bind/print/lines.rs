//! What is printed so far, and how its lines are indented: PostgreSQL's `appendContextKeyword`.

use super::Printing;

/// From here on lines are indented by less for each level.
const MOST_INDENT: isize = 40;
const SCALE: isize = 4;

pub(super) struct Printer<'p> {
    pub settings: Printing<'p>,
    pub text: String,
    pub indent: isize,
}

impl<'p> Printer<'p> {
    pub(super) fn new(settings: Printing<'p>, indent: isize) -> Self {
        Self { settings, text: String::new(), indent }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A word that begins a line.
    pub(super) fn line(&mut self, word: &str) {
        self.line_at(word, 0);
    }

    /// The same, so many columns to the right of where lines begin.
    pub(super) fn line_at(&mut self, word: &str, further: usize) {
        self.trim();
        let columns = match self.indent.max(0) - MOST_INDENT {
            less if less < 0 => less + MOST_INDENT,
            more => (MOST_INDENT + more / SCALE) % MOST_INDENT,
        };
        self.push("\n");
        self.text.extend(std::iter::repeat_n(' ', columns.unsigned_abs() + further));
        self.push(word);
    }

    /// Takes the spaces off the end.
    pub(super) fn trim(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }

    /// What `print` prints, apart from what is printed so far.
    pub(super) fn apart(&mut self, print: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.text);
        print(self);
        std::mem::replace(&mut self.text, before)
    }
}
