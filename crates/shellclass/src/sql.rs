//! Tells the class of SQL text. A `SELECT` can call functions that write, end sessions or run programs, so only plain
//! identifiers and functions on a list are known to read.

use model::Class;

/// Functions that compute and look, of PostgreSQL, MySQL and SQLite.
const FUNCTIONS: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "lower",
    "upper",
    "length",
    "char_length",
    "substring",
    "substr",
    "left",
    "right",
    "trim",
    "ltrim",
    "rtrim",
    "replace",
    "concat",
    "concat_ws",
    "round",
    "floor",
    "ceil",
    "ceiling",
    "abs",
    "mod",
    "now",
    "current_timestamp",
    "current_date",
    "clock_timestamp",
    "date_trunc",
    "date_part",
    "extract",
    "age",
    "to_char",
    "to_timestamp",
    "date",
    "time",
    "datetime",
    "strftime",
    "julianday",
    "unix_timestamp",
    "from_unixtime",
    "timestampdiff",
    "datediff",
    "date_sub",
    "date_add",
    "interval",
    "row_number",
    "rank",
    "dense_rank",
    "lag",
    "lead",
    "ntile",
    "first_value",
    "last_value",
    "percentile_cont",
    "percentile_disc",
    "string_agg",
    "array_agg",
    "group_concat",
    "json_agg",
    "array_length",
    "cardinality",
    "unnest",
    "cast",
    "if",
    "ifnull",
    "version",
    "current_database",
    "current_schema",
    "database",
    "current_setting",
    "pg_size_pretty",
    "pg_database_size",
    "pg_total_relation_size",
    "pg_relation_size",
    "pg_table_size",
    "pg_indexes_size",
    "pg_stat_get_activity",
    "pg_is_in_recovery",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_current_wal_lsn",
    "pg_wal_lsn_diff",
    "pg_postmaster_start_time",
    "pg_conf_load_time",
    "pg_blocking_pids",
    "pg_get_indexdef",
    "pg_get_viewdef",
    "pg_get_constraintdef",
    "pg_get_userbyid",
    "pg_backend_pid",
    "pg_table_is_visible",
    "obj_description",
    "col_description",
    "format_type",
    "quote_ident",
    "has_table_privilege",
    "txid_current_if_assigned",
    "mxid_age",
    "in",
    "exists",
    "any",
    "all",
    "some",
    "values",
    "over",
    "filter",
    "using",
    "and",
    "or",
    "not",
    "on",
    "as",
    "from",
    "where",
    "by",
    "select",
    "having",
    "when",
    "then",
    "else",
    "union",
    "except",
    "intersect",
    "distinct",
    "within",
    "group",
    "partition",
    "join",
    "between",
    "like",
    "ilike",
    "is",
    "limit",
    "offset",
    "with",
    "materialized",
    "recursive",
];

/// Words that never stand in a statement that only reads.
const WRITES: &[&str] = &[
    "insert",
    "update",
    "delete",
    "merge",
    "upsert",
    "into",
    "create",
    "alter",
    "drop",
    "truncate",
    "grant",
    "revoke",
    "copy",
    "call",
    "do",
    "execute",
    "prepare",
    "lock",
    "vacuum",
    "reindex",
    "cluster",
    "refresh",
    "listen",
    "notify",
    "load",
    "set",
    "reset",
    "kill",
    "outfile",
    "dumpfile",
    "handler",
    "rename",
    "replace",
    "attach",
    "detach",
    "pragma",
    "begin",
    "start",
    "commit",
    "rollback",
    "savepoint",
    "security",
    "import",
    "shutdown",
    "flush",
    "purge",
    "optimize",
    "repair",
    "install",
    "uninstall",
    "discard",
    "checkpoint",
    "comment",
    "reassign",
    "nowait",
    "share",
];

const DESTROYS: &[&str] = &["drop", "truncate", "shutdown", "grant", "revoke", "purge", "reassign", "kill"];

#[derive(PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted,
    Text,
    Sign(char),
}

/// Tells the class of SQL text as a client would send it: safe only for plain `SELECT`, `SHOW`, `EXPLAIN` without
/// `ANALYZE`, `VALUES` and `TABLE`; dangerous where something is dropped, emptied, or deleted and updated without a condition.
/// Text that isn't cut with certainty (comments, dollar quotes, backslashes) is mutating.
pub fn sql_class(sql: &str) -> Class {
    let lower = sql.to_ascii_lowercase();
    let dangerous = lower.split(';').any(|statement| destroys(&words(statement)));
    if dangerous {
        return Class::Dangerous;
    }
    match tokens(sql) {
        Some(tokens) if sql.len() <= 16 * 1024 => {
            let reads = tokens
                .split(|token| *token == Token::Sign(';'))
                .all(|statement| statement.is_empty() || reads(statement));
            if reads && !tokens.is_empty() { Class::Safe } else { Class::Mutating }
        }
        _ => Class::Mutating,
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect()
}

fn destroys(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or("");
    let has = |word: &str| words.contains(&word);
    let program = has("copy") && has("program");
    let user = matches!(first, "alter" | "create") && (has("user") || has("role") || has("system"));
    let unconditional = (first == "delete" || first == "update") && !has("where");
    let backend = has("pg_terminate_backend")
        || has("lo_import")
        || has("lo_export")
        || has("pg_read_file") && has("lo_from_bytea")
        || has("outfile");
    words.iter().any(|word| DESTROYS.contains(word))
        && first != "select"
        && first != "show"
        && first != "explain"
        || DESTROYS.contains(&first)
        || program
        || user
        || unconditional
        || backend
}

/// Cuts the text; `None` where databases or settings cut differently.
fn tokens(sql: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut characters = sql.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\'' | '"' | '`' => {
                loop {
                    let inner = characters.next()?;
                    if inner == '\\' {
                        return None;
                    }
                    if inner == c {
                        if characters.peek() == Some(&c) {
                            characters.next();
                        } else {
                            break;
                        }
                    }
                }
                tokens.push(if c == '\'' { Token::Text } else { Token::Quoted });
            }
            '-' if characters.peek() == Some(&'-') => return None,
            '/' if characters.peek() == Some(&'*') => return None,
            '#' | '$' | '\\' | '@' | '!' if c != '!' || characters.peek() != Some(&'=') => return None,
            _ if c.is_whitespace() => {}
            _ if c.is_ascii_alphanumeric() || c == '_' => {
                let mut word = String::from(c.to_ascii_lowercase());
                while let Some(next) =
                    characters.peek().filter(|next| next.is_ascii_alphanumeric() || **next == '_')
                {
                    word.push(next.to_ascii_lowercase());
                    characters.next();
                }
                tokens.push(Token::Word(word));
            }
            _ if c.is_ascii() => tokens.push(Token::Sign(c)),
            _ => return None,
        }
    }
    Some(tokens)
}

fn reads(statement: &[Token]) -> bool {
    let Some(Token::Word(first)) = statement.first() else { return false };
    if !matches!(
        first.as_str(),
        "select" | "show" | "explain" | "values" | "table" | "with" | "describe" | "desc"
    ) {
        return false;
    }
    let analyze =
        |token: &Token| matches!(token, Token::Word(word) if word == "analyze" || word == "analyse");
    if first == "explain" && statement.iter().any(analyze) {
        return false;
    }
    statement.iter().enumerate().all(|(index, token)| {
        let calls = statement.get(index + 1) == Some(&Token::Sign('('));
        match token {
            Token::Word(word) if calls => FUNCTIONS.contains(&word.as_str()),
            // `schema.function(` with a quoted name is a call as well.
            Token::Quoted | Token::Text if calls => false,
            Token::Word(word) => {
                !WRITES.contains(&word.as_str())
                    || statement.get(index.wrapping_sub(1)) == Some(&Token::Sign('.'))
            }
            Token::Sign(_) | Token::Quoted | Token::Text => true,
        }
    })
}
