//! SQL over a frame: a query that asks and changes nothing, or an expression over its columns.
//!
//! What a user gives as a condition is parsed as one expression before anything is done with it: no query, no second statement
//! and no comment hides in it. polars reads a column name `*` or `^..$` as a pattern, so such columns have other names meanwhile.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
};

use polars::{
    prelude::{Column, DataFrame, IntoLazy, LazyFrame},
    sql::SQLContext,
};
use sqlparser::{
    ast::{Expr, Ident, Query, SetExpr, Statement, Visit, VisitMut, Visitor, VisitorMut},
    dialect::GenericDialect,
    parser::{Parser, ParserOptions},
    tokenizer::{Token, Tokenizer, Whitespace},
};

use super::{aside::aside, frame::internal};
use crate::error::{Error, Result};

/// What a SQL query over the frame, its table `t`, gives.
///
/// # Errors
/// `Invalid` for anything but one SELECT (a WITH may stand before it), and where polars refuses it.
pub(crate) fn query(frame: &DataFrame, sql: &str) -> Result<DataFrame> {
    let mut statement = question(sql)?;
    let plain = Plain::of(frame)?;
    let text = match plain.renamed.is_empty() {
        true => sql.to_owned(),
        false => {
            let _ = VisitMut::visit(&mut statement, &mut &plain);
            statement.to_string()
        }
    };
    plain.named(run(plain.frame.clone(), &text).map_err(|error| error.at(format!("`{sql}`")))?)
}

/// The rows for which a condition is true: `agents_count > 100`, what stands behind WHERE.
///
/// # Errors
/// `Invalid` for what is not one expression over the columns, or no condition.
pub(crate) fn filtered(frame: &DataFrame, condition: &str) -> Result<DataFrame> {
    let plain = Plain::of(frame)?;
    let text = format!("SELECT * FROM t WHERE ({})", plain.expression(condition)?);
    plain.named(run(plain.frame.clone(), &text).map_err(|error| error.at(format!("`{condition}`")))?)
}

/// The frame with more columns: names, and expressions over the columns that were there.
///
/// # Errors
/// `Invalid` for what is not one expression over the columns, and for a name that is there.
pub(crate) fn with_columns(frame: &DataFrame, computed: &[(&str, &str)]) -> Result<DataFrame> {
    let mut plain = Plain::of(frame)?;
    let mut columns = String::new();
    for (name, sql) in computed {
        if frame.column(name).is_ok() || plain.renamed.iter().any(|(_, held)| held == name) {
            return Err(Error::invalid(format!("column `{name}` is there already: give the computed one another name")));
        }
        let text = plain.expression(sql)?;
        let alias = free_name(frame, plain.renamed.len());
        columns.push_str(&format!(", ({text}) AS \"{alias}\""));
        plain.renamed.push((alias, (*name).to_owned()));
    }
    let all: Vec<&str> = computed.iter().map(|(_, sql)| *sql).collect();
    let found = run(plain.frame.clone(), &format!("SELECT *{columns} FROM t"));
    plain.named(found.map_err(|error| error.at(format!("`{}`", all.join("`, `"))))?)
}

/// A frame whose columns polars takes by their names.
struct Plain {
    frame: DataFrame,
    /// The name of a column here, and its own.
    renamed: Vec<(String, String)>,
}

impl Plain {
    fn of(frame: &DataFrame) -> Result<Self> {
        let mut renamed = Vec::new();
        let mut columns: Vec<Column> = Vec::with_capacity(frame.width());
        for column in frame.columns() {
            let name = column.name().as_str();
            columns.push(match is_pattern(name) {
                true => {
                    let plain = free_name(frame, renamed.len());
                    renamed.push((plain.clone(), name.to_owned()));
                    column.clone().with_name(plain.into())
                }
                false => column.clone(),
            });
        }
        Ok(Self { frame: DataFrame::new(frame.height(), columns).map_err(internal)?, renamed })
    }

    /// The text of an expression, over the columns under the names that they have here.
    fn expression(&self, sql: &str) -> Result<String> {
        let mut expression = expression(sql)?;
        if self.renamed.is_empty() {
            return Ok(sql.to_owned());
        }
        let _ = VisitMut::visit(&mut expression, &mut &*self);
        Ok(expression.to_string())
    }

    /// The frame with the columns under their own names.
    fn named(&self, frame: DataFrame) -> Result<DataFrame> {
        let own = |column: &Column| self.renamed.iter().find(|(plain, _)| plain == column.name().as_str());
        let named = |column: &Column| match own(column) {
            Some((_, name)) => column.clone().with_name(name.as_str().into()),
            None => column.clone(),
        };
        DataFrame::new(frame.height(), frame.columns().iter().map(named).collect()).map_err(internal)
    }

    fn rename(&self, ident: &mut Ident) {
        if let Some((plain, _)) = self.renamed.iter().find(|(_, name)| *name == ident.value) {
            *ident = Ident::with_quote('"', plain);
        }
    }
}

impl VisitorMut for &Plain {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(ident) => self.rename(ident),
            Expr::CompoundIdentifier(idents) => idents.last_mut().into_iter().for_each(|ident| self.rename(ident)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether polars takes a column of this name for a pattern of names.
pub(crate) fn is_pattern(name: &str) -> bool {
    name == "*" || (name.starts_with('^') && name.ends_with('$'))
}

fn free_name(frame: &DataFrame, number: usize) -> String {
    let mut name = format!("__plain_{number}");
    while frame.column(&name).is_ok() {
        name.push('_');
    }
    name
}

fn run(frame: DataFrame, sql: &str) -> Result<DataFrame> {
    let answer = || {
        aside(|| {
            let mut context = SQLContext::new();
            context.register("t", frame.lazy());
            context.execute(sql).and_then(LazyFrame::collect)
        })
    };
    // Over some queries polars panics; nothing is half done then.
    let answer = catch_unwind(AssertUnwindSafe(answer)).map_err(|_| Error::unsupported("polars gave up over it"))?;
    answer.map_err(|error| Error::invalid(error.to_string()))
}

fn parser(sql: &str) -> Result<Parser<'static>> {
    // As polars parses it.
    let options = ParserOptions { trailing_commas: true, ..ParserOptions::default() };
    Parser::new(&GenericDialect {}).with_options(options).try_with_sql(sql).map_err(|error| malformed(sql, &error))
}

fn malformed(sql: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("`{sql}`: {error}"))
}

/// The one statement of a text, which asks and changes nothing.
fn question(sql: &str) -> Result<Statement> {
    let refused = || malformed(sql, &"expected one query that begins with SELECT or WITH: SQL here asks, and changes nothing");
    let statements = parser(sql)?.parse_statements().map_err(|error| malformed(sql, &error))?;
    let [statement] = <[Statement; 1]>::try_from(statements).map_err(|_| refused())?;
    match &statement {
        Statement::Query(_) if Visit::visit(&statement, &mut Questions).is_continue() => Ok(statement),
        _ => Err(refused()),
    }
}

/// The one expression of a text, which has no query in it.
fn expression(sql: &str) -> Result<Expr> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().map_err(|error| malformed(sql, &error))?;
    let comment = |token: &Token| {
        matches!(token, Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)))
    };
    if tokens.iter().any(comment) {
        return Err(malformed(sql, &"expected one expression over index columns, found a comment"));
    }
    let mut parser = parser(sql)?;
    let expression = parser.parse_expr().map_err(|error| malformed(sql, &error))?;
    match parser.peek_token().token {
        Token::EOF => {}
        other => return Err(malformed(sql, &format!("expected one expression over index columns, found `{other}` behind it"))),
    }
    match Visit::visit(&expression, &mut NoQuery) {
        ControlFlow::Continue(()) => Ok(expression),
        ControlFlow::Break(()) => Err(malformed(sql, &"expected one expression over index columns, found a query in it")),
    }
}

/// Stops at a query.
struct NoQuery;

impl Visitor for NoQuery {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Stops at a query, however deep, that does anything but ask.
struct Questions;

impl Visitor for Questions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match asks(&query.body) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

fn asks(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::SetOperation { left, right, .. } => asks(left) && asks(right),
        SetExpr::Query(query) => asks(&query.body),
        _ => false,
    }
}
