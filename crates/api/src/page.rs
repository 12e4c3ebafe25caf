//! Keyset pages: `?cursor=&limit=` → `{items, next_cursor}`. A cursor is opaque to clients.

use crate::error::ApiError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest page.
pub const MAX_LIMIT: u32 = 200;
/// The page where nothing is asked for.
pub const DEFAULT_LIMIT: u32 = 50;

/// One page of a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// Asks for what follows; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PageQuery {
    /// From a page's `next_cursor`.
    pub cursor: Option<String>,
    /// How many items at most.
    pub limit: Option<u32>,
}

impl PageQuery {
    /// The number of items asked for, within bounds.
    ///
    /// # Errors
    ///
    /// Fails on 0 and on more than [`MAX_LIMIT`].
    pub fn limit(&self) -> Result<i64, ApiError> {
        page_limit(self.limit)
    }

    /// The key after which the page begins.
    ///
    /// # Errors
    ///
    /// Fails on a cursor that isn't ours.
    pub fn key(&self) -> Result<Option<String>, ApiError> {
        self.cursor.as_deref().map(decode).transpose()
    }

    /// The integer key after which the page begins.
    ///
    /// # Errors
    ///
    /// Fails on a cursor that isn't ours.
    pub fn integer_key(&self) -> Result<Option<i64>, ApiError> {
        self.key()?.map(|key| key.parse().map_err(|_| bad_cursor())).transpose()
    }
}

/// Checks a limit.
///
/// # Errors
///
/// Fails on 0 and on more than [`MAX_LIMIT`].
pub fn page_limit(limit: Option<u32>) -> Result<i64, ApiError> {
    match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(i64::from(limit)),
        _ => Err(ApiError::invalid("limit", format!("must be 1 to {MAX_LIMIT}"))),
    }
}

impl<T> Page<T> {
    /// Makes a page from up to `limit + 1` items: the one too many only tells that more follow.
    pub fn cut(mut items: Vec<T>, limit: i64, key: impl Fn(&T) -> String) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        if items.len() <= limit {
            return Self { items, next_cursor: None };
        }
        items.truncate(limit);
        let next_cursor = items.last().map(|last| encode(&key(last)));
        Self { items, next_cursor }
    }

    /// Makes views of the items.
    pub fn map<U>(self, view: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(view).collect(), next_cursor: self.next_cursor }
    }
}

/// Makes a cursor from a key.
pub fn encode(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(key)
}

fn decode(cursor: &str) -> Result<String, ApiError> {
    URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(bad_cursor)
}

/// A cursor that isn't of the list that is asked for.
pub fn bad_cursor() -> ApiError {
    ApiError::invalid("cursor", "isn't a cursor of this list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_page_tells_where_to_go_on_and_the_last_one_does_not() {
        let page = Page::cut(vec![1, 2, 3], 2, ToString::to_string);
        assert_eq!(page.items, [1, 2]);
        let query = PageQuery { cursor: page.next_cursor, limit: None };
        assert_eq!(query.integer_key().unwrap(), Some(2));
        assert!(Page::cut(vec![3], 2, ToString::to_string).next_cursor.is_none());
    }

    #[test]
    fn a_foreign_cursor_and_a_limit_out_of_bounds_are_refused() {
        assert!(PageQuery { cursor: Some("%%".into()), limit: None }.integer_key().is_err());
        assert!(PageQuery { cursor: None, limit: Some(0) }.limit().is_err());
        assert!(PageQuery { cursor: None, limit: Some(MAX_LIMIT + 1) }.limit().is_err());
    }
}
