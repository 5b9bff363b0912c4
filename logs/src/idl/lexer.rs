//! The words of a definition in IDL: text to tokens. Comments, lines of the preprocessor and the headings of recordings are left out.

use tetrys::{Error, Result};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or a keyword.
    Word(&'a str),
    /// A number, as it is written.
    Number(&'a str),
    /// A text or a character in quotes. Nothing depends on what it says.
    Quoted,
    /// `::`.
    Scope,
    /// Any other character.
    Mark(char),
}

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: usize,
}

/// Returns the tokens of a text.
///
/// # Errors
/// - `Invalid`: a comment or a text in quotes has no end. The message names the line.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut found = Vec::new();
    let mut is_start = true;
    while let Some(next) = lexer.rest().chars().next() {
        if next == '\n' {
            (is_start, lexer.line, lexer.at) = (true, lexer.line + 1, lexer.at + 1);
            continue;
        }
        if next.is_whitespace() {
            lexer.at += next.len_utf8();
            continue;
        }
        let starts_line = std::mem::take(&mut is_start);
        if starts_line && (next == '#' || lexer.is_heading()) {
            lexer.skip_line();
            continue;
        }
        if lexer.rest().starts_with("//") {
            lexer.skip_line();
            continue;
        }
        if lexer.rest().starts_with("/*") {
            lexer.skip_comment()?;
            continue;
        }
        let line = lexer.line;
        found.push(Placed { token: lexer.token(next)?, line });
    }
    Ok(found)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn current_line(&self) -> &'a str {
        self.rest().lines().next().unwrap_or_default()
    }

    /// Whether the line separates the definitions of a recording: a line of `=`, and one with `IDL:` and the name of a type.
    fn is_heading(&self) -> bool {
        let line = self.current_line().trim();
        line.starts_with("IDL: ") || (line.len() >= 3 && line.bytes().all(|byte| byte == b'='))
    }

    /// Skips the rest of the line, and those that it continues in.
    fn skip_line(&mut self) {
        loop {
            let line = self.current_line();
            self.at += line.len();
            if !line.ends_with('\\') || !self.rest().starts_with('\n') {
                return;
            }
            (self.at, self.line) = (self.at + 1, self.line + 1);
        }
    }

    fn skip_comment(&mut self) -> Result<()> {
        let end =
            self.rest().find("*/").ok_or_else(|| Error::invalid(format!("line {}: a comment without an end", self.line)))?;
        self.take(end + 2);
        Ok(())
    }

    /// Takes bytes, and counts their lines.
    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        self.line += taken.matches('\n').count();
        taken
    }

    fn token(&mut self, first: char) -> Result<Token<'a>> {
        let rest = self.rest();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if ["L\"", "L'"].iter().any(|start| rest.starts_with(start)) {
            self.at += 1;
            return self.quoted();
        }
        if first == '"' || first == '\'' {
            return self.quoted();
        }
        if first.is_ascii_digit() {
            let mut before = ' ';
            let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
            let end = rest.find(|c: char| {
                let is_sign = (c == '-' || c == '+') && !is_hex && (before == 'e' || before == 'E');
                before = c;
                !(is_word(c) || c == '.' || is_sign)
            });
            return Ok(Token::Number(self.take(end.unwrap_or(rest.len()))));
        }
        if is_word(first) {
            let end = rest.find(|c: char| !is_word(c));
            return Ok(Token::Word(self.take(end.unwrap_or(rest.len()))));
        }
        if rest.starts_with("::") {
            self.at += 2;
            return Ok(Token::Scope);
        }
        self.at += first.len_utf8();
        Ok(Token::Mark(first))
    }

    fn quoted(&mut self) -> Result<Token<'a>> {
        let line = self.line;
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map(|(_, quote)| quote);
        while let Some((at, c)) = chars.next() {
            if c == '\\' {
                chars.next();
            } else if Some(c) == quote {
                self.take(at + 1);
                return Ok(Token::Quoted);
            }
        }
        Err(Error::invalid(format!("line {line}: a text in quotes without an end")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_part_of_texts_and_texts_none_of_comments() {
        let text = "#include \"a//b\" \\\n more\nword // \"\n/* \"\n */ \"// no \\\" comment\"\n'\"' L\"wide\" 0x1e-2 1.5e-3 a::b\n=====\nIDL: a/b\nlast";
        let found = tokens(text).unwrap();
        let expected = [
            (Token::Word("word"), 3),
            (Token::Quoted, 5),
            (Token::Quoted, 6),
            (Token::Quoted, 6),
            (Token::Number("0x1e"), 6),
            (Token::Mark('-'), 6),
            (Token::Number("2"), 6),
            (Token::Number("1.5e-3"), 6),
            (Token::Word("a"), 6),
            (Token::Scope, 6),
            (Token::Word("b"), 6),
            (Token::Word("last"), 9),
        ];
        assert_eq!(found.iter().map(|found| (found.token, found.line)).collect::<Vec<_>>(), expected);
        for (text, expected) in
            [("a\n\"b", "line 2: a text in quotes"), ("/* a", "line 1: a comment"), ("'\\'", "line 1: a text")]
        {
            assert!(tokens(text).unwrap_err().to_string().starts_with(expected), "{text}");
        }
    }
}
