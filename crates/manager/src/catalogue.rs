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

    /// A schema without what only people and models read.
    fn bare(schema: &serde_json::Value) -> serde_json::Value {
        let mut schema = schema.clone();
        for property in schema["properties"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            if let Some(property) = property.as_object_mut() {
                property.remove("description");
                property.remove("default");
            }
        }
        if schema.get("required").is_none() {
            schema["required"] = serde_json::json!([]);
        }
        schema
    }

    #[test]
    fn the_routers_copies_of_the_managers_tools_have_the_real_parameters() {
        let copies = llm::builtin::compiled_in_tools();
        for tool in tools::capabilities().unwrap() {
            let real = tool.definition();
            let copy = copies.iter().find(|copy| copy.name == real.key);
            let copy = copy.unwrap_or_else(|| panic!("the router has no copy of `{}`", real.key));
            assert_eq!(bare(&copy.params), bare(&real.params), "{}", real.key);
        }
    }
}
