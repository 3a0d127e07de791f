//! A compiled regular expression that finds the match PostgreSQL finds.
//!
//! The engine takes the first alternative that matches, POSIX the longest match there is (or the shortest, where a
//! quantifier says so). Both begin at the same place. So the engine finds where, a second automaton finds how far, and only
//! where the two differ the groups are found again within that span.

use std::ops::Range;

use regex_automata::hybrid::dfa::{Cache as DfaCache, DFA};
use regex_automata::meta::{self, Regex};
use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Cache as VmCache, PikeVM};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::options::Options;
use super::translate::translate;
use crate::error::{ErrorKind, SqlError, SqlResult};

/// Most bytes a compiled expression takes.
const COMPILED_BYTES_MAX: usize = 8 << 20;

/// A compiled expression, with room for its matches.
pub(super) struct Pattern {
    engine: Regex,
    captures: Captures,
    shortest: bool,
    /// Made when it is needed first.
    extent: Option<Extent>,
    pattern: String,
    ignore_case: bool,
}

/// What finds the longest or shortest match at a place.
struct Extent {
    automaton: Option<(DFA, DfaCache)>,
    groups: PikeVM,
    cache: VmCache,
}

impl Pattern {
    /// # Errors
    /// 2201B for what is not a regular expression, 0A000 for what is not done here.
    pub(super) fn new(expression: &str, options: Options) -> SqlResult<Self> {
        let translated = translate(expression, options)?;
        let config = meta::Config::new().nfa_size_limit(Some(COMPILED_BYTES_MAX));
        let engine = Regex::builder()
            .configure(config)
            .syntax(syntax(translated.ignore_case))
            .build(&translated.pattern)
            .map_err(|_| too_complex())?;
        let captures = engine.create_captures();
        let (pattern, ignore_case) = (translated.pattern, translated.ignore_case);
        Ok(Self { engine, captures, shortest: translated.shortest, extent: None, pattern, ignore_case })
    }

    /// How many groups there are in parentheses.
    pub(super) fn groups(&self) -> usize {
        self.captures.group_info().group_len(regex_automata::PatternID::ZERO).saturating_sub(1)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.engine.is_match(text)
    }

    /// Finds the first match that begins at this byte or behind it.
    ///
    /// # Errors
    /// 2201B when the expression turns out too complex.
    pub(super) fn find_at(&mut self, text: &str, start: usize) -> SqlResult<bool> {
        if start > text.len() {
            return Ok(false);
        }
        self.engine.search_captures(&Input::new(text).range(start..), &mut self.captures);
        let Some(first) = self.captures.get_match() else { return Ok(false) };
        let extent = match &mut self.extent {
            Some(extent) => extent,
            None => self.extent.insert(Extent::new(&self.pattern, self.ignore_case)?),
        };
        let input = Input::new(text).range(first.start()..).anchored(Anchored::Yes);
        match extent.end(&input, self.shortest) {
            Some(end) if end == first.end() => {}
            Some(end) => extent.groups_within(text, first.start()..end, &mut self.captures),
            None => {}
        }
        Ok(true)
    }

    /// The span of the match found last, or of a group of it.
    pub(super) fn group(&self, index: usize) -> Option<Range<usize>> {
        self.captures.get_group(index).map(|span| span.start..span.end)
    }
}

fn syntax(ignore_case: bool) -> syntax::Config {
    syntax::Config::new().case_insensitive(ignore_case)
}

fn too_complex() -> Box<SqlError> {
    let message = "invalid regular expression: regular expression is too complex";
    SqlError::new(ErrorKind::InvalidRegularExpression, message)
}

impl Extent {
    fn new(pattern: &str, ignore_case: bool) -> SqlResult<Self> {
        let config = thompson::Config::new().nfa_size_limit(Some(COMPILED_BYTES_MAX));
        let vm = PikeVM::builder()
            .configure(PikeVM::config().match_kind(MatchKind::All))
            .thompson(config.clone())
            .syntax(syntax(ignore_case))
            .build(pattern)
            .map_err(|_| too_complex())?;
        // Word boundaries beyond ASCII are more than it can do: then the other one does it alone.
        let automaton = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true))
            .thompson(config)
            .syntax(syntax(ignore_case))
            .build(pattern)
            .ok();
        let automaton = automaton.map(|automaton| {
            let cache = automaton.create_cache();
            (automaton, cache)
        });
        let cache = vm.create_cache();
        Ok(Self { automaton, groups: vm, cache })
    }

    /// Where the match that begins where the input does ends.
    fn end(&mut self, input: &Input<'_>, shortest: bool) -> Option<usize> {
        let input = input.clone().earliest(shortest);
        if let Some((automaton, cache)) = &mut self.automaton
            && let Ok(found) = automaton.try_search_fwd(cache, &input)
        {
            return found.map(|end| end.offset());
        }
        let mut captures = Captures::matches(self.groups.get_nfa().group_info().clone());
        self.groups.search(&mut self.cache, &input, &mut captures);
        captures.get_match().map(|found| found.end())
    }

    /// The groups of the match that takes all of the span.
    fn groups_within(&mut self, text: &str, span: Range<usize>, captures: &mut Captures) {
        let input = Input::new(text).range(span).anchored(Anchored::Yes);
        self.groups.search(&mut self.cache, &input, captures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str, text: &str) -> Vec<Option<String>> {
        let mut pattern = Pattern::new(expression, Options::default()).unwrap();
        assert!(pattern.find_at(text, 0).unwrap(), "{expression}");
        (0..=pattern.groups()).map(|index| pattern.group(index).map(|span| text[span].to_owned())).collect()
    }

    #[test]
    fn matches_are_as_long_or_short_as_in_posix() {
        for (expression, text, expected) in [
            ("foo|foobar", "foobar", "foobar"),
            ("a?(?:ab)?", "ab", "ab"),
            ("a|xay", "xay", "xay"),
            ("y*?z", "xyyyz", "yyyz"),
            ("a*?", "aaa", ""),
            ("\\yab\\y", "xab ab", "ab"),
            ("é+", "caféé", "éé"),
        ] {
            assert_eq!(found(expression, text)[0].as_deref(), Some(expected), "{expression}");
        }
    }

    #[test]
    fn groups_lie_within_the_match() {
        let groups = |expression: &str, text: &str| {
            found(expression, text).into_iter().skip(1).map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        assert_eq!(groups("Y*?([0-9]{1,3})", "XY1234Z"), ["1"]);
        assert_eq!(groups("Y*([0-9]{1,3})", "XY1234Z"), ["123"]);
        assert_eq!(groups("(?:(.*?)(\\d+)(.*)){1,1}", "abc01234xyz"), ["abc", "01234", "xyz"]);
        assert_eq!(groups("(.*?)(\\d+)(.*)", "abc01234xyz"), ["abc", "0", ""]);
        assert_eq!(found("(x)?foo", "foo")[1], None);
    }
}
