//! PostgreSQL's advanced regular expressions, in the syntax of the regex engine.
//!
//! Most of it is the same. What is not: names of classes and of word boundaries, the meaning of `$`, what must be quoted,
//! and the directives in front. What the engine cannot do - back references and look-around - is refused. On the way it is
//! found out whether the expression as a whole prefers the longest match or the shortest one.

use std::iter::Peekable;
use std::str::Chars;

use super::options::Options;
use crate::error::{ErrorKind, SqlError, SqlResult};

/// Most repetitions.
const REPEAT_MAX: u32 = 255;

/// An expression in the engine's syntax.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub pattern: String,
    pub ignore_case: bool,
    /// The shortest match is meant, not the longest.
    pub shortest: bool,
}

/// # Errors
/// 2201B for what is not a regular expression, 0A000 for what the engine does not do.
pub(super) fn translate(expression: &str, options: Options) -> SqlResult<Translated> {
    let mut options = options;
    let mut rest = expression;
    if let Some(director) = rest.strip_prefix("***") {
        rest = director.get(1..).unwrap_or_default();
        match director.chars().next() {
            Some('=') => options.quoted = true,
            Some(':') => options.quoted = false,
            _ => return Err(invalid("invalid argument to regex function")),
        }
    }
    if !options.quoted {
        rest = embedded_options(rest, &mut options)?;
    }
    if options.basic {
        return Err(SqlError::not_supported("basic regular expression syntax (option b)"));
    }
    let mut translator =
        Translator { chars: rest.chars().peekable(), options, out: String::with_capacity(rest.len() + 8) };
    if options.quoted {
        rest.chars().for_each(|c| translator.literal(c));
        return Ok(Translated { pattern: translator.out, ignore_case: options.ignore_case, shortest: false });
    }
    let preference = translator.alternatives(0)?;
    if translator.chars.next().is_some() {
        return Err(invalid("parentheses () not balanced"));
    }
    let shortest = preference == Some(false);
    Ok(Translated { pattern: translator.out, ignore_case: options.ignore_case, shortest })
}

/// `(?in)` in front of the expression; gives what is behind it.
fn embedded_options<'e>(expression: &'e str, options: &mut Options) -> SqlResult<&'e str> {
    let Some(letters) =
        expression.strip_prefix("(?").filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    else {
        return Ok(expression);
    };
    let (letters, rest) = letters.split_once(')').ok_or_else(|| invalid("invalid embedded option"))?;
    if letters.chars().all(|letter| options.apply(letter)) { Ok(rest) } else { Err(invalid("invalid embedded option")) }
}

fn invalid(what: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidRegularExpression, format!("invalid regular expression: {what}"))
}

/// Whether a piece prefers the longest match, the shortest one, or says nothing.
type Preference = Option<bool>;

struct Translator<'e> {
    chars: Peekable<Chars<'e>>,
    options: Options,
    out: String,
}

impl Translator<'_> {
    /// Branches up to the end or the closing parenthesis.
    fn alternatives(&mut self, depth: usize) -> SqlResult<Preference> {
        const DEPTH_MAX: usize = 200;
        if depth > DEPTH_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        let mut preference = self.branch(depth)?;
        while self.chars.next_if_eq(&'|').is_some() {
            self.out.push('|');
            self.branch(depth)?;
            // With branches an expression is greedy, whatever they are.
            preference = Some(true);
        }
        Ok(preference)
    }

    /// The first quantified piece decides for the branch.
    fn branch(&mut self, depth: usize) -> SqlResult<Preference> {
        let mut preference = None;
        loop {
            self.skip_expanded()?;
            match self.chars.peek() {
                None | Some('|' | ')') => return Ok(preference),
                Some(_) => {}
            }
            let start = self.out.len();
            let (is_constraint, own) = self.atom(depth)?;
            self.skip_expanded()?;
            let quantified = self.quantifier(is_constraint, start)?;
            preference = preference.or(quantified).or(own);
        }
    }

    fn skip_expanded(&mut self) -> SqlResult<()> {
        loop {
            if self.options.expanded {
                while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
                if self.chars.next_if_eq(&'#').is_some() {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                    continue;
                }
            }
            let mut ahead = self.chars.clone();
            if (ahead.next(), ahead.next(), ahead.next()) != (Some('('), Some('?'), Some('#')) {
                return Ok(());
            }
            self.chars.by_ref().find(|c| *c == ')').ok_or_else(|| invalid("parentheses () not balanced"))?;
        }
    }

    /// Translates one atom. Says whether it is a place rather than characters, and which match it prefers.
    fn atom(&mut self, depth: usize) -> SqlResult<(bool, Preference)> {
        let Some(c) = self.chars.next() else { return Ok((false, None)) };
        match c {
            '(' => return self.group(depth),
            '[' => return self.bracket(),
            '\\' => return self.escape(),
            '.' if self.options.newline_stops => self.out.push_str("[^\\n]"),
            '.' => self.out.push_str("(?s:.)"),
            '^' => {
                self.out.push_str(if self.options.newline_anchors { "(?m:^)" } else { "\\A" });
                return Ok((true, None));
            }
            '$' => {
                self.out.push_str(if self.options.newline_anchors { "(?m:$)" } else { "\\z" });
                return Ok((true, None));
            }
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            '{' if self.chars.peek().is_some_and(char::is_ascii_digit) => {
                return Err(invalid("quantifier operand invalid"));
            }
            c => self.literal(c),
        }
        Ok((false, None))
    }

    fn literal(&mut self, c: char) {
        push_quoted(c, &mut self.out);
    }

    fn group(&mut self, depth: usize) -> SqlResult<(bool, Preference)> {
        self.out.push('(');
        if self.chars.next_if_eq(&'?').is_some() {
            match self.chars.next() {
                Some(':') => self.out.push_str("?:"),
                Some('=' | '!' | '<') => {
                    return Err(SqlError::not_supported("look-around in a regular expression")
                        .with_hint("Match what is around, and take the part that is meant with parentheses."));
                }
                _ => return Err(invalid("quantifier operand invalid")),
            }
        }
        let preference = self.alternatives(depth + 1)?;
        if self.chars.next() != Some(')') {
            return Err(invalid("parentheses () not balanced"));
        }
        self.out.push(')');
        Ok((false, preference))
    }

    fn escape(&mut self) -> SqlResult<(bool, Preference)> {
        let Some(c) = self.chars.next() else { return Err(invalid("invalid escape \\ sequence")) };
        let place = match c {
            'A' => "\\A",
            'm' => "\\b{start}",
            'M' => "\\b{end}",
            'y' => "\\b",
            'Y' => "\\B",
            'Z' => "\\z",
            _ => {
                self.escaped_character(c)?;
                return Ok((false, None));
            }
        };
        self.out.push_str(place);
        Ok((true, None))
    }

    fn escaped_character(&mut self, c: char) -> SqlResult<()> {
        match c {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.negated("0-9"),
            's' => self.out.push_str("\\s"),
            'S' => self.negated("\\s"),
            'w' => self.out.push_str(&format!("[{WORD}]")),
            'W' => self.negated(WORD),
            '1'..='9' => {
                // More digits than there are groups would be octal; no sane expression means that.
                return Err(SqlError::not_supported("a back reference in a regular expression"));
            }
            _ => {
                let meant = self.escaped_literal(c)?;
                self.literal(meant);
            }
        }
        Ok(())
    }

    fn negated(&mut self, class: &str) {
        let newline = if self.options.newline_stops { "\\n" } else { "" };
        self.out.push_str(&format!("[^{class}{newline}]"));
    }

    /// The character that an escape stands for.
    fn escaped_literal(&mut self, c: char) -> SqlResult<char> {
        let code = match c {
            'a' => 0x07,
            'b' => 0x08,
            'B' => u32::from('\\'),
            'c' => self.chars.next().map_or(0, |c| u32::from(c) & 0x1f),
            'e' => 0x1b,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'v' => 0x0b,
            'u' => self.code(16, 4, 4)?,
            'U' => self.code(16, 8, 8)?,
            'x' => self.code(16, 1, 255)?,
            '0' => self.code(8, 0, 2)?,
            c if c.is_ascii_alphanumeric() => return Err(invalid("invalid escape \\ sequence")),
            c => return Ok(c),
        };
        char::from_u32(code).ok_or_else(|| invalid("invalid escape \\ sequence"))
    }

    fn code(&mut self, radix: u32, least: usize, most: usize) -> SqlResult<u32> {
        let mut code = 0_u32;
        let mut digits = 0;
        while digits < most
            && let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(radix))
        {
            code = code.saturating_mul(radix).saturating_add(digit);
            digits += 1;
            self.chars.next();
        }
        if digits < least { Err(invalid("invalid escape \\ sequence")) } else { Ok(code) }
    }

    /// `[...]`, behind its opening bracket.
    fn bracket(&mut self) -> SqlResult<(bool, Preference)> {
        let unbalanced = || invalid("brackets [] not balanced");
        for (word_end, place) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            let ahead: String = self.chars.clone().take(word_end.len()).collect();
            if ahead == word_end {
                self.chars.by_ref().take(word_end.len()).for_each(drop);
                self.out.push_str(place);
                return Ok((true, None));
            }
        }
        let mut items = String::new();
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut first = true;
        loop {
            let c = self.chars.next().ok_or_else(unbalanced)?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let Some(low) = self.bracket_item(c, &mut items)? else { continue };
            let mut ahead = self.chars.clone();
            if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
                self.chars.next();
                let c = self.chars.next().ok_or_else(unbalanced)?;
                let high = self.bracket_item(c, &mut items)?.ok_or_else(|| invalid("invalid character range"))?;
                if low > high {
                    return Err(invalid("invalid character range"));
                }
                push_range(low, high, &mut items);
            } else {
                push_range(low, low, &mut items);
            }
        }
        if negated && self.options.newline_stops {
            items.push_str("\\n");
        }
        self.out.push('[');
        if negated {
            self.out.push('^');
        }
        self.out.push_str(&items);
        self.out.push(']');
        Ok((false, None))
    }

    /// One character of a bracket; a class goes to `items` at once.
    fn bracket_item(&mut self, c: char, items: &mut String) -> SqlResult<Option<char>> {
        match c {
            '\\' => {
                let c = self.chars.next().ok_or_else(|| invalid("brackets [] not balanced"))?;
                match c {
                    'd' => items.push_str("0-9"),
                    's' => items.push_str("\\s"),
                    'w' => items.push_str(WORD),
                    'D' | 'S' | 'W' => return Err(invalid("invalid escape \\ sequence")),
                    c => return self.escaped_literal(c).map(Some),
                }
                Ok(None)
            }
            '[' => match self.chars.peek() {
                Some(kind @ (':' | '.' | '=')) => {
                    let kind = *kind;
                    self.chars.next();
                    self.bracket_name(kind, items)
                }
                _ => Ok(Some('[')),
            },
            c => Ok(Some(c)),
        }
    }

    /// `[:alpha:]`, `[.x.]`, `[=x=]`, behind their opening.
    fn bracket_name(&mut self, kind: char, items: &mut String) -> SqlResult<Option<char>> {
        let mut name = String::new();
        loop {
            match (self.chars.next(), self.chars.peek()) {
                (Some(c), Some(']')) if c == kind => {
                    self.chars.next();
                    break;
                }
                (Some(c), _) => name.push(c),
                (None, _) => return Err(invalid("brackets [] not balanced")),
            }
        }
        if kind == ':' {
            items.push_str(class(&name).ok_or_else(|| invalid("invalid character class"))?);
            return Ok(None);
        }
        let mut chars = name.chars();
        match (chars.next(), chars.next()) {
            (Some(one), None) => Ok(Some(one)),
            _ => Err(invalid("invalid collating element")),
        }
    }

    /// Translates a quantifier behind an atom; says which match it prefers, when there is one.
    fn quantifier(&mut self, is_constraint: bool, start: usize) -> SqlResult<Preference> {
        let Some(quantifier) = self.next_quantifier()? else { return Ok(None) };
        if is_constraint {
            return Err(invalid("quantifier operand invalid"));
        }
        // What an atom was translated to may be several of the engine's.
        self.out.insert_str(start, "(?:");
        self.out.push(')');
        self.out.push_str(&quantifier);
        let greedy = self.chars.next_if_eq(&'?').is_none();
        if !greedy {
            self.out.push('?');
        }
        self.skip_expanded()?;
        if self.next_quantifier()?.is_some() {
            return Err(invalid("quantifier operand invalid"));
        }
        Ok(Some(greedy))
    }

    fn next_quantifier(&mut self) -> SqlResult<Option<String>> {
        let Some(c) = self.chars.peek().copied() else { return Ok(None) };
        match c {
            '*' | '+' | '?' => {
                self.chars.next();
                Ok(Some(c.to_string()))
            }
            '{' => {
                let mut ahead = self.chars.clone();
                ahead.next();
                if !ahead.peek().is_some_and(char::is_ascii_digit) {
                    return Ok(None);
                }
                self.chars = ahead;
                self.bounds().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `3}`, `3,}`, `3,5}`
    fn bounds(&mut self) -> SqlResult<String> {
        let wrong = || invalid("invalid repetition count(s)");
        let least = self.count().ok_or_else(wrong)?;
        let mut most = Some(least);
        if self.chars.next_if_eq(&',').is_some() {
            most = if self.chars.peek() == Some(&'}') { None } else { Some(self.count().ok_or_else(wrong)?) };
        }
        if self.chars.next() != Some('}') || most.is_some_and(|most| most < least) {
            return Err(wrong());
        }
        Ok(match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        })
    }

    fn count(&mut self) -> Option<u32> {
        let mut count = None;
        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(10)) {
            self.chars.next();
            count = Some(count.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit));
        }
        count.filter(|count| *count <= REPEAT_MAX)
    }
}

/// Letters, digits and the underscore, within brackets.
const WORD: &str = "\\p{Alphabetic}\\p{Nd}_";

/// A class by name, within brackets.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "\\p{Alphabetic}\\p{Nd}",
        "alpha" => "\\p{Alphabetic}",
        "lower" => "\\p{Lowercase}",
        "upper" => "\\p{Uppercase}",
        "word" => WORD,
        "space" => "\\s",
        "digit" => "0-9",
        "ascii" => "\\x00-\\x7f",
        "blank" => "[[:blank:]]",
        "cntrl" => "[[:cntrl:]]",
        "graph" => "[[:graph:]]",
        "print" => "[[:print:]]",
        "punct" => "[[:punct:]]",
        "xdigit" => "[[:xdigit:]]",
        _ => return None,
    })
}

fn push_range(low: char, high: char, items: &mut String) {
    push_quoted(low, items);
    if high != low {
        items.push('-');
        push_quoted(high, items);
    }
}

/// A character that stands for itself.
fn push_quoted(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(expression: &str) -> String {
        translate(expression, Options::default()).unwrap().pattern
    }

    #[test]
    fn what_differs_is_translated() {
        for (expression, expected) in [
            ("^a.c$", "\\Aa(?s:.)c\\z"),
            ("\\mab\\M", "\\b{start}ab\\b{end}"),
            ("[[:alpha:]x-]", "[\\p{Alphabetic}x\\-]"),
            ("[]a]", "[\\]a]"),
            ("a{2}", "(?:a){2,2}"),
            ("a{x}", "a\\{x\\}"),
            ("***=a.b", "a\\.b"),
            ("\\x41\\u0042\\t", "AB\t"),
            ("(?x) a # b\n c", "ac"),
            ("(?#note)a", "a"),
        ] {
            assert_eq!(pattern(expression), expected, "{expression}");
        }
        assert!(translate("(?i)a", Options::default()).unwrap().ignore_case);
    }

    #[test]
    fn the_first_quantifier_decides_for_the_shortest_match() {
        for (expression, shortest) in [
            ("a*?b*", true),
            ("a*b*?", false),
            ("(a*?)b*", true),
            ("(?:a*?b){1,1}", false),
            ("a*?|b", false),
            ("ab", false),
        ] {
            assert_eq!(translate(expression, Options::default()).unwrap().shortest, shortest, "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for expression in ["(", ")", "[a", "a**", "*a", "a{3,1}", "a{999}", "\\q", "[[:nope:]]", "[b-a]", "^*", "a\\"] {
            let kind = translate(expression, Options::default()).unwrap_err().kind;
            assert_eq!(kind, ErrorKind::InvalidRegularExpression, "{expression}");
        }
        for expression in ["(a)\\1", "a(?=b)", "(?<!a)b"] {
            let kind = translate(expression, Options::default()).unwrap_err().kind;
            assert_eq!(kind, ErrorKind::FeatureNotSupported, "{expression}");
        }
    }
}
