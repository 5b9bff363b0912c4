//! SQL over a frame: read-only queries, and expressions over the frame's columns.
//!
//! A condition of the user is parsed as exactly one expression first, so that it cannot contain a query, a second statement or a
//! comment. polars takes the column names `*` and `^..$` for patterns, so such columns are renamed temporarily.

use std::{collections::BTreeSet, ops::ControlFlow};

use polars::{
    prelude::{Column, DataFrame, DataType, IntoLazy, LazyFrame, PolarsError},
    sql::SQLContext,
};
use sqlparser::{
    ast::{Expr, Ident, Query, SelectItem, SetExpr, Statement, Visit, VisitMut, Visitor, VisitorMut},
    dialect::GenericDialect,
    parser::{Parser, ParserOptions},
    tokenizer::{Token, Tokenizer, Whitespace},
};

use super::{
    aside::{aside, check_process},
    depth::within_sql,
    frame::internal,
    prepare::{Prepared, prepare},
};
use crate::error::{Error, Result, expect_of_threads, guarded, plain, short};

/// Runs a SQL query over the frame, which is table `t`. Returns the result.
///
/// # Errors
/// - `Invalid`: the text is not exactly one read-only query that begins with SELECT or WITH, or polars refuses it.
/// - `Unsupported`: polars panics.
pub(crate) fn query(frame: &DataFrame, sql: &str) -> Result<DataFrame> {
    within_sql(sql, || answer(frame, sql))
}

fn answer(frame: &DataFrame, sql: &str) -> Result<DataFrame> {
    let mut statement = question(sql)?;
    let plain = Plain::of(frame)?;
    let (text, functions) = plain.text(sql, &mut statement)?;
    plain.named(run(plain.frame.clone(), &text, &functions).map_err(|error| error.at(format!("`{}`", short(sql))))?)
}

/// Returns the rows for which a condition is true. A condition is what follows WHERE, such as `agents_count > 100`.
///
/// # Errors
/// - `Invalid`: the text is not exactly one expression over the columns, or is not a condition.
/// - `Unsupported`: polars panics.
pub(crate) fn filtered(frame: &DataFrame, condition: &str) -> Result<DataFrame> {
    let plain = Plain::of(frame)?;
    let (text, functions) = within_sql(condition, || plain.expression(condition))?;
    let found = run(plain.frame.clone(), &format!("SELECT * FROM t WHERE ({text})"), &functions);
    plain.named(found.map_err(|error| error.at(format!("`{}`", short(condition))))?)
}

/// Returns the frame with computed columns. Each has a name and an expression over the existing columns.
///
/// # Errors
/// - `Invalid`: a text is not exactly one expression over the columns, or a name exists already.
/// - `Unsupported`: polars panics.
pub(crate) fn with_columns(frame: &DataFrame, computed: &[(&str, &str)]) -> Result<DataFrame> {
    let mut plain = Plain::of(frame)?;
    let (mut columns, mut functions) = (String::new(), BTreeSet::new());
    for (name, sql) in computed {
        if frame.column(name).is_ok() || plain.renamed.iter().any(|(_, existing)| existing == name) {
            return Err(Error::invalid(format!("column `{name}` exists already: choose another name for the computed column")));
        }
        let (text, found) = within_sql(sql, || plain.expression(sql))?;
        functions.extend(found);
        let alias = free_name(frame, plain.renamed.len());
        columns.push_str(&format!(", ({text}) AS \"{alias}\""));
        plain.renamed.push((alias, (*name).to_owned()));
    }
    let all: Vec<&str> = computed.iter().map(|(_, sql)| *sql).collect();
    let found = run(plain.frame.clone(), &format!("SELECT *{columns} FROM t"), &functions);
    plain.named(found.map_err(|error| error.at(format!("`{}`", short(all.join("`, `")))))?)
}

/// A frame without column names that polars takes for patterns.
struct Plain {
    frame: DataFrame,
    /// The name of a column here, and its original name.
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

    /// Returns the text of an expression for polars, and the functions in it.
    fn expression(&self, sql: &str) -> Result<(String, BTreeSet<String>)> {
        let mut expression = expression(sql)?;
        self.text(sql, &mut expression)
    }

    /// Returns the text of parsed SQL for polars, with the column names of this frame, and the functions in it.
    fn text(&self, sql: &str, parsed: &mut (impl VisitMut + ToString)) -> Result<(String, BTreeSet<String>)> {
        let prepared = prepare(parsed, self.unsigned()).map_err(|error| error.at(format!("`{}`", short(sql))))?;
        let Prepared { mut changed, functions, .. } = prepared;
        if !self.renamed.is_empty() {
            changed = true;
            let _ = VisitMut::visit(parsed, &mut &*self);
        }
        Ok((if changed { parsed.to_string() } else { sql.to_owned() }, functions))
    }

    /// Returns the original names of the columns of unsigned integers of 64 bits.
    fn unsigned(&self) -> BTreeSet<String> {
        let columns = self.frame.columns().iter().filter(|column| column.dtype() == &DataType::UInt64);
        let name = |column: &Column| match self.renamed.iter().find(|(plain, _)| plain == column.name().as_str()) {
            Some((_, name)) => name.clone(),
            None => column.name().to_string(),
        };
        columns.map(name).collect()
    }

    /// Returns the frame with the original column names.
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

/// Whether polars takes a column name for a pattern.
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

/// Runs SQL over the table `t`. `functions` are those that it uses.
fn run(frame: DataFrame, sql: &str, functions: &BTreeSet<String>) -> Result<DataFrame> {
    check_process()?;
    let execute = || {
        let mut context = SQLContext::new();
        context.register("t", frame.lazy());
        context.execute(sql).and_then(LazyFrame::collect)
    };
    // A query changes nothing, so it is safe to go on after a panic of polars.
    expect_of_threads("polars-");
    let answer = aside(|| Ok(guarded(|| Ok::<_, String>(execute()))));
    let answer = answer.map_err(|error| Error::unavailable(error_text(&error)))?.map_err(|_| {
        let functions = functions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let uses = if functions.is_empty() { functions } else { format!("; it uses {}", short(functions)) };
        Error::unsupported(format!("polars cannot compute this SQL with these values{uses}"))
    })?;
    answer.map_err(|error| Error::invalid(error_text(&error)))
}

/// Returns the message of polars in plain words, without what follows it: the list of columns, with locators, and the query plan.
pub(crate) fn error_text(error: &PolarsError) -> String {
    let text = error.to_string();
    let text = text.split("; valid columns").next().and_then(|text| text.split("\n\n").next()).unwrap_or_default();
    plain(text.trim()).replace("`.alias(\"new_name\")`", "`AS new_name`")
}

fn parser(sql: &str) -> Result<Parser<'static>> {
    // Same options as in polars.
    let options = ParserOptions { trailing_commas: true, ..ParserOptions::default() };
    Parser::new(&GenericDialect {}).with_options(options).try_with_sql(sql).map_err(|error| malformed(sql, &error))
}

fn malformed(sql: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("`{}`: {}", short(sql), short(error)))
}

/// Parses the text as one read-only statement.
fn question(sql: &str) -> Result<Statement> {
    let refused = || malformed(sql, &"expected one read-only query that begins with SELECT or WITH");
    let statements = parser(sql)?.parse_statements().map_err(|error| malformed(sql, &error))?;
    let [statement] = <[Statement; 1]>::try_from(statements).map_err(|_| refused())?;
    match &statement {
        Statement::Query(_) if Visit::visit(&statement, &mut Questions).is_continue() => Ok(statement),
        _ => Err(refused()),
    }
}

/// A query that reads the table `t` once, with its condition.
pub(super) struct SimpleQuery {
    /// The condition after WHERE. The query sees no row for which it is not true.
    pub(super) condition: Option<Expr>,
    /// All names in the query; `None` if it may read columns that it does not name.
    pub(super) names: Option<BTreeSet<String>>,
}

/// Parses the text as one read-only query; `None` if the query is not simple.
///
/// # Errors
/// - `Invalid`: the text is not exactly one read-only query that begins with SELECT or WITH.
pub(super) fn simple_query(sql: &str) -> Result<Option<SimpleQuery>> {
    let statement = question(sql)?;
    let mut names = Names { queries: 0, names: Some(BTreeSet::new()) };
    let _ = Visit::visit(&statement, &mut names);
    let Statement::Query(query) = statement else { return Ok(None) };
    let (None, SetExpr::Select(select), 1) = (&query.with, *query.body, names.queries) else { return Ok(None) };
    let [table] = select.from.as_slice() else { return Ok(None) };
    if table.to_string() != "t" || select.prewhere.is_some() || !select.lateral_views.is_empty() {
        return Ok(None);
    }
    let is_plain = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    let names = names.names.filter(|_| select.projection.iter().all(is_plain));
    Ok(Some(SimpleQuery { condition: select.selection, names }))
}

/// Counts queries and collects the names in them.
struct Names {
    queries: usize,
    names: Option<BTreeSet<String>>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let found: &[Ident] = match expression {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(idents) => idents,
            // A function may read columns by a pattern, and `t.*` in a function reads all.
            Expr::Function(function) if function.to_string().to_ascii_lowercase().contains("columns") => {
                self.names = None;
                &[]
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => {
                self.names = None;
                &[]
            }
            _ => &[],
        };
        if found.iter().any(|ident| is_pattern(&ident.value) || ident.value.starts_with('^')) {
            self.names = None;
        }
        if let Some(names) = &mut self.names {
            names.extend(found.iter().map(|ident| ident.value.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// Parses the text as one expression without a query in it.
///
/// # Errors
/// - `Invalid`: the text is anything else.
pub(super) fn expression(sql: &str) -> Result<Expr> {
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
        other => return Err(malformed(sql, &format!("expected one expression over index columns, found `{other}` after it"))),
    }
    match Visit::visit(&expression, &mut NoQuery) {
        ControlFlow::Continue(()) => Ok(expression),
        ControlFlow::Break(()) => Err(malformed(sql, &"expected one expression over index columns, found a query in it")),
    }
}

/// Stops at any query.
struct NoQuery;

impl Visitor for NoQuery {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Stops at any query, at any depth, that is not read-only.
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
