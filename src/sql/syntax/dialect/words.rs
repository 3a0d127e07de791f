//! Reads commands word by word, straight from the tokens: for those whose PostgreSQL forms sqlparser does not know.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::syntax::fold;

/// Where a command stops making sense: at this token, or at its end.
#[derive(Debug)]
pub(crate) struct Unexpected<'t>(pub Option<&'t TokenWithSpan>);

/// What was read, or where it stops making sense.
pub(crate) type Read<'t, T> = Result<T, Unexpected<'t>>;

/// The tokens of a command without its white space, and how far they are read.
pub(crate) struct Words<'a, 't> {
    tokens: &'a [&'t TokenWithSpan],
    at: usize,
}

impl<'a, 't> Words<'a, 't> {
    pub(crate) fn new(tokens: &'a [&'t TokenWithSpan]) -> Self {
        Self { tokens, at: 0 }
    }

    /// The next token.
    pub(crate) fn peek(&self) -> Option<&'t TokenWithSpan> {
        self.tokens.get(self.at).copied()
    }

    /// The token that was taken last.
    pub(crate) fn taken(&self) -> Option<&'t TokenWithSpan> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    /// Everything from here on.
    pub(crate) fn rest(&self) -> &'a [&'t TokenWithSpan] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    /// Takes everything up to the parenthesis that closes one just taken, and that one too.
    pub(crate) fn until_closed(&mut self) -> Read<'t, &'a [&'t TokenWithSpan]> {
        let mut depth = 0_usize;
        for (count, token) in self.rest().iter().enumerate() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => {
                    let inside = &self.rest()[..count];
                    self.at += count + 1;
                    return Ok(inside);
                }
                Token::RParen => depth -= 1,
                _ => {}
            }
        }
        Err(Unexpected(None))
    }

    /// Takes a word without quotes.
    pub(crate) fn take_word(&mut self) -> Option<&'t Word> {
        let word = self.word()?;
        self.at += 1;
        Some(word)
    }

    /// Takes a keyword, if it comes next.
    pub(crate) fn eat(&mut self, keyword: &str) -> bool {
        let found = self.word().is_some_and(|word| word.value.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    /// Takes a token, if it comes next.
    pub(crate) fn eat_token(&mut self, token: &Token) -> bool {
        let found = self.peek().is_some_and(|next| next.token == *token);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, keyword: &str) -> Read<'t, ()> {
        if self.eat(keyword) { Ok(()) } else { Err(Unexpected(self.peek())) }
    }

    /// Nothing may follow.
    pub(crate) fn end(&self) -> Read<'t, ()> {
        match self.peek() {
            None => Ok(()),
            at => Err(Unexpected(at)),
        }
    }

    /// A name, folded.
    pub(crate) fn name(&mut self) -> Read<'t, String> {
        match self.peek() {
            Some(TokenWithSpan { token: Token::Word(word), span }) => {
                self.at += 1;
                Ok(fold(&word.clone().into_ident(*span)))
            }
            at => Err(Unexpected(at)),
        }
    }

    /// A string literal.
    pub(crate) fn text(&mut self) -> Read<'t, String> {
        match self.peek().map(|token| &token.token) {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => {
                self.at += 1;
                Ok(text.clone())
            }
            Some(Token::DollarQuotedString(text)) => {
                self.at += 1;
                Ok(text.value.clone())
            }
            _ => Err(Unexpected(self.peek())),
        }
    }

    /// A whole number with its sign, if one comes next; `None` where none does.
    pub(crate) fn integer(&mut self) -> Read<'t, Option<i64>> {
        let start = self.at;
        let negative = self.eat_token(&Token::Minus);
        if !negative {
            self.eat_token(&Token::Plus);
        }
        let Some(Token::Number(digits, _)) = self.peek().map(|token| &token.token) else {
            if self.at > start {
                return Err(Unexpected(self.peek()));
            }
            return Ok(None);
        };
        let sign = if negative { "-" } else { "" };
        let number = format!("{sign}{digits}").parse().map_err(|_not_one| Unexpected(self.peek()))?;
        self.at += 1;
        Ok(Some(number))
    }

    fn word(&self) -> Option<&'t Word> {
        match &self.peek()?.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word),
            _ => None,
        }
    }
}
