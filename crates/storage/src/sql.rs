//! Puts together conditions whose values are always bound, with `$1`-style places that both databases take.

use uuid::Uuid;

/// A value to bind.
#[derive(Clone, Debug)]
pub(crate) enum Bind {
    Int(i64),
    Text(String),
    Id(Uuid),
}

/// SQL text in the making, and the values for its places.
#[derive(Clone, Debug)]
pub(crate) struct Sql {
    text: String,
    binds: Vec<Bind>,
    has_where: bool,
}

impl Sql {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), binds: Vec::new(), has_where: false }
    }

    /// Adds text as it is.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the place of a value.
    pub(crate) fn bind(&mut self, value: Bind) -> &mut Self {
        self.binds.push(value);
        self.text.push('$');
        self.text.push_str(&self.binds.len().to_string());
        self
    }

    /// Adds a condition; each `?` in it is the place of the same value.
    pub(crate) fn filter(&mut self, condition: &str, value: Bind) -> &mut Self {
        self.text.push_str(if self.has_where { " AND " } else { " WHERE " });
        self.has_where = true;
        self.binds.push(value);
        self.text.push_str(&condition.replace('?', &format!("${}", self.binds.len())));
        self
    }

    /// The text and the values in order.
    pub(crate) fn finish(self) -> (String, Vec<Bind>) {
        (self.text, self.binds)
    }
}

/// Binds the values of a finished [`Sql`] to a query.
macro_rules! bind_all {
    ($query:expr, $binds:expr) => {{
        let mut query = $query;
        for bind in $binds {
            query = match bind {
                $crate::sql::Bind::Int(value) => query.bind(value),
                $crate::sql::Bind::Text(value) => query.bind(value),
                $crate::sql::Bind::Id(value) => query.bind(value),
            };
        }
        query
    }};
}
pub(crate) use bind_all;

/// A `LIKE … ESCAPE '\'` pattern for texts that contain `part`.
pub(crate) fn contains_pattern(part: &str) -> String {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
