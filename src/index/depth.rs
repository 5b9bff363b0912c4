//! Bounds the levels of conditions: polars and the SQL parser call themselves for each level of an expression, and a thread whose
//! stack overflows ends the process. polars also copies the expressions below each level, so its time and memory grow with the square
//! of the levels. `a + b + c` has three levels. Long chains of OR in SQL become balanced trees before (`prepare.rs`).
//!
//! All checks count without calling themselves. Work on an expression that passes runs on a thread with a large stack if the
//! expression is long.

use polars::prelude::Expr;
use sqlparser::{
    dialect::GenericDialect,
    tokenizer::{Token, Tokenizer},
};

use super::aside::on_large_stack;
use crate::error::{Error, Result, counted, short};

/// Maximum levels of an expression of polars.
pub(super) const MAX_LEVELS: usize = 500;
/// Maximum nodes of an expression of polars.
const MAX_NODES: usize = 1_000_000;
/// Maximum words and signs of an SQL text in a row, without a comma in between. A comparison and its OR have four.
const MAX_WORDS: usize = 8_000;
/// Bytes of an SQL text up to which the stack of any thread suffices.
const SHORT: usize = 256;

/// Runs `work`, which parses this SQL text, on a stack that suffices for its levels.
///
/// # Errors
/// - `Invalid`: the text may have too many levels.
/// - `Unavailable`: the system cannot start a thread.
/// - Errors of `work`.
pub(super) fn within_sql<T: Send>(sql: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if sql.len() <= SHORT {
        return work();
    }
    let words = words(sql);
    if words > MAX_WORDS {
        return Err(Error::invalid(format!(
            "`{}`: {words} words and signs without a comma in between, expected at most {MAX_WORDS}: use `x IN (1, 2, ..)` instead \
             of many comparisons, or join with a table of the values",
            short(sql)
        )));
    }
    on_large_stack(work)
}

/// Runs `work`, which calls itself for each level of these expressions, on a stack that suffices.
///
/// # Errors
/// - `Invalid`: an expression has too many levels or too many nodes.
/// - `Unavailable`: the system cannot start a thread.
/// - Errors of `work`.
pub(crate) fn within<'a, T: Send>(
    expressions: impl IntoIterator<Item = &'a Expr>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let mut left: Vec<(&Expr, usize)> = expressions.into_iter().map(|expression| (expression, 1)).collect();
    let (mut nodes, mut most) = (0, 0);
    while let Some((expression, level)) = left.pop() {
        nodes += 1;
        most = most.max(level);
        if level > MAX_LEVELS || nodes > MAX_NODES {
            return Err(Error::invalid(format!(
                "the expression has more than {MAX_LEVELS} levels or {}: use `is_in` instead of many comparisons, or several filters \
                 one after the other",
                counted(MAX_NODES, "node")
            )));
        }
        let mut inner = Default::default();
        expression.nodes(&mut inner);
        left.extend(inner.iter().map(|inner| (*inner, level + 1)));
    }
    if most <= SHORT / 2 { work() } else { on_large_stack(work) }
}

/// Returns the largest number of words and signs in a row, each row with those that enclose it in parentheses.
fn words(sql: &str) -> usize {
    // The parser reports a text without tokens.
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let (mut enclosing, mut outer, mut here, mut most) = (Vec::new(), 0, 0, 0);
    for token in &tokens {
        match token {
            Token::Whitespace(_) => continue,
            Token::Comma => here = 0,
            Token::LParen | Token::LBracket | Token::LBrace => {
                enclosing.push(here + 1);
                outer += here + 1;
                here = 0;
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let before = enclosing.pop();
                outer -= before.unwrap_or(0);
                here = before.unwrap_or(here) + 1;
            }
            _ => here += 1,
        }
        most = most.max(here + outer);
    }
    most
}

#[cfg(test)]
mod tests {
    use polars::prelude::{col, lit};

    use super::*;

    #[test]
    fn words_are_counted_in_rows_between_commas_and_inside_parentheses() {
        for (sql, count) in [
            ("", 0),
            ("a = 1 OR b = 2", 7),
            ("a IN (1, 2, 3, 4, 5, 6, 7, 8)", 4),
            ("f(a + b, ((c)))", 5),
            ("a, b, c d", 2),
            ("))) a", 4),
        ] {
            assert_eq!(words(sql), count, "{sql}");
        }
        let list: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        assert!(words(&format!("a IN ({})", list.join(", "))) < 8);
    }

    #[test]
    fn levels_and_nodes_of_expressions_are_bounded() {
        let chain = |levels: usize| (1..levels).fold(col("a"), |all, _| all + lit(1));
        assert!(within([&chain(MAX_LEVELS)], || Ok(())).is_ok());
        let error = within([&chain(MAX_LEVELS + 1)], || Ok(())).unwrap_err();
        assert!(error.to_string().contains("more than 500 levels"), "{error}");
        let twice = (0..40).fold(col("a"), |all, _| all.clone() + all);
        assert!(within([&twice], || Ok(())).unwrap_err().to_string().contains("1000000 nodes"));
    }
}
