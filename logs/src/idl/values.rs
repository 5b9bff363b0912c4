//! Values of constant expressions: the lengths of arrays.

use std::{cell::Cell, collections::BTreeMap};

use tetrys::{Error, Result};

use super::{
    declarations::{Declaration, find},
    lexer::{Placed, Token},
};
use crate::types::MAX_DEPTH;

/// Returns the value of an expression of whole numbers.
///
/// # Errors
/// - `Invalid`: it is none, or too large.
pub(super) fn evaluate(declarations: &BTreeMap<String, Declaration<'_>>, tokens: &[Placed<'_>], scope: &str) -> Result<i128> {
    Expression { declarations, tokens, at: 0, scope, depth: 0, left: &Cell::new(MAX_STEPS) }.whole()
}

/// Maximum steps of an expression: few constants may name each other many times.
const MAX_STEPS: u32 = 10_000;

/// An expression that is being read.
struct Expression<'e, 'a> {
    declarations: &'e BTreeMap<String, Declaration<'a>>,
    tokens: &'e [Placed<'a>],
    at: usize,
    scope: &'e str,
    /// Levels of constants and parentheses around the place.
    depth: usize,
    /// Steps that are left, in all expressions together.
    left: &'e Cell<u32>,
}

/// Operators: those of a line bind tighter than those of the line before.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl Expression<'_, '_> {
    fn wrong(&self) -> Error {
        Error::invalid("expected a whole number, a constant, or an expression of them")
    }

    fn whole(mut self) -> Result<i128> {
        let value = self.binary(0)?;
        match self.at == self.tokens.len() {
            true => Ok(value),
            false => Err(self.wrong()),
        }
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        self.left.set(self.left.get().saturating_sub(1));
        match self.depth > MAX_DEPTH || self.left.get() == 0 {
            true => Err(Error::invalid(format!("constants of each other, or an expression of over {MAX_DEPTH} levels"))),
            false => Ok(()),
        }
    }

    fn has(&mut self, text: &str) -> bool {
        let marks = self.tokens.get(self.at..self.at + text.len());
        let has = marks.is_some_and(|marks| marks.iter().zip(text.chars()).all(|(found, mark)| found.token == Token::Mark(mark)));
        self.at += if has { text.len() } else { 0 };
        has
    }

    fn binary(&mut self, level: usize) -> Result<i128> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut value = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().copied().find(|operator| self.has(operator)) {
            let other = self.binary(level + 1)?;
            let shift = u32::try_from(other).ok().filter(|shift| *shift < 64);
            let found = match operator {
                "|" => Some(value | other),
                "^" => Some(value ^ other),
                "&" => Some(value & other),
                "<<" => shift.and_then(|shift| value.checked_mul(1 << shift)),
                ">>" => shift.map(|shift| value >> shift),
                "+" => value.checked_add(other),
                "-" => value.checked_sub(other),
                "*" => value.checked_mul(other),
                "/" => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = found.ok_or_else(|| Error::invalid(format!("`{value} {operator} {other}` has no value")))?;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<i128> {
        let token = self.tokens.get(self.at).map(|placed| placed.token).ok_or_else(|| self.wrong())?;
        self.at += 1;
        match token {
            Token::Mark(mark @ ('-' | '+' | '~')) => {
                self.deeper()?;
                let value = self.unary()?;
                self.depth -= 1;
                match mark {
                    '-' => value.checked_neg().ok_or_else(|| self.wrong()),
                    '~' => Ok(!value),
                    _ => Ok(value),
                }
            }
            Token::Mark('(') => {
                self.deeper()?;
                let value = self.binary(0)?;
                self.depth -= 1;
                if self.has(")") { Ok(value) } else { Err(self.wrong()) }
            }
            Token::Number(text) => number(text).ok_or_else(|| Error::invalid(format!("expected a whole number, found `{text}`"))),
            Token::Word(_) | Token::Scope => {
                self.at -= 1;
                self.constant()
            }
            _ => Err(self.wrong()),
        }
    }

    fn constant(&mut self) -> Result<i128> {
        let mut name = String::new();
        while let Some(Placed { token, .. }) = self.tokens.get(self.at) {
            match token {
                Token::Word(word) if name.is_empty() || name.ends_with("::") => name.push_str(word),
                Token::Scope if !name.ends_with("::") => name.push_str("::"),
                _ => break,
            }
            self.at += 1;
        }
        let Some((full, Declaration::Constant(tokens))) = find(self.declarations, &name, self.scope) else {
            return Err(Error::invalid(format!("the constant `{name}` is not defined")));
        };
        self.deeper()?;
        let scope = full.rsplit_once("::").map_or("", |(scope, _)| scope);
        let (declarations, depth, left) = (self.declarations, self.depth, self.left);
        let value = Expression { declarations, tokens, at: 0, scope, depth, left }.whole();
        self.depth -= 1;
        value.map_err(|error| error.at(format!("`{name}`")))
    }
}

/// Parses `10`, `0x1f` and `017`.
fn number(text: &str) -> Option<i128> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i128::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        Some(digits) => i128::from_str_radix(digits, 8).ok(),
        None => text.parse().ok(),
    }
}
