//! The one catalogue of this version: host skills and manager tools.

use skill::{Capability, Catalogue};
use std::sync::Arc;

/// Every capability, host skills first.
///
/// # Errors
///
/// Fails if two share a key, or a hand-written schema is wrong; a test of each crate rules both out.
pub(crate) fn compiled_in() -> anyhow::Result<Catalogue> {
    let tools: Vec<Arc<Capability>> = tools::capabilities()?;
    Ok(Catalogue::new(skills::capabilities().into_iter().chain(tools))?)
}

/// The keys that a policy may name.
pub(crate) fn known_tools() -> Vec<String> {
    compiled_in()
        .map(|catalogue| catalogue.iter().map(|entry| entry.definition().key.clone()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_of_this_version_is_consistent() {
        assert!(compiled_in().unwrap().iter().count() >= 12);
        assert!(known_tools().contains(&"host_load".to_owned()));
    }
}
