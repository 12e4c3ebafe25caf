//! `steadyhand packs`: checks a pack where it lies; lists packs through the running manager. Accepting one takes an
//! admin, at the console or with a token of theirs.

use super::client::ClientArgs;
use super::{ConfigArgs, local};
use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum PacksCommand {
    /// Tell everything that is wrong with a pack, where it lies; needs no manager
    Lint {
        /// The directory with the skill.json
        #[arg(value_name = "DIR")]
        pack: PathBuf,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// List the packs of all hosts and those beside the manager, also those that are broken, and why
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
}

impl PacksCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Lint { pack, config } => {
                let config = local::load(&config)?;
                let base = crate::catalogue::compiled_in()?;
                let rules = config.packs.rules(config.storage.packs());
                let findings = packs::examine(&pack, &rules, &crate::packs::is_builtin(&base));
                local::print(&findings.text)?;
                anyhow::ensure!(findings.is_good, "{} is no pack that can run", pack.display());
                Ok(())
            }
            Self::List { json, client } => {
                let client = client.connect()?;
                let packs = client.json(client.request(Method::GET, "/packs")).await?;
                local::print(&if json { format!("{:#}\n", packs["items"]) } else { table(&packs["items"]) })
            }
        }
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

/// A line for each pack, and below it what an admin needs to decide.
fn table(packs: &Value) -> String {
    let mut text = String::new();
    for pack in packs.as_array().into_iter().flatten() {
        let hosts = pack["hosts"].as_array().into_iter().flatten().map(|host| word(&host["name"]));
        let beside = pack["manager_path"].as_str().map(|_| "the manager");
        let places: Vec<&str> = beside.into_iter().chain(hosts).collect();
        let places = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
        let (name, version, state) = (word(&pack["name"]), word(&pack["version"]), word(&pack["state"]));
        text.push_str(&format!("{state} {name} {version} on {places}\n"));
        match pack["error"].as_str() {
            Some(error) => text.push_str(&format!("  {error}\n")),
            None => text.push_str(&format!("  pin {}\n", word(&pack["pin"]))),
        }
        for skill in pack["skills"].as_array().into_iter().flatten() {
            text.push_str(&format!("  skill {}: {}\n", word(&skill["key"]), word(&skill["class"])));
        }
        for words in pack["reach"].as_array().into_iter().flatten() {
            text.push_str(&format!("  reaches {}\n", word(words)));
        }
    }
    if text.is_empty() { "there are no packs\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_list_says_where_a_pack_is_and_what_an_admin_decides_on() {
        let packs = json!([
            {"state": "waiting", "name": "demo", "version": "1.0", "pin": "ab", "hosts": [{"name": "web-1"}],
             "manager_path": "/etc/steadyhand/packs/demo", "skills": [{"key": "demo_look", "class": "safe"}],
             "reach": ["demo_look: the network"]},
            {"state": "broken", "name": "other", "version": "", "pin": "", "hosts": [], "skills": [], "reach": [],
             "error": "not_json: …"},
        ]);
        assert_eq!(
            table(&packs),
            "waiting demo 1.0 on the manager, web-1\n  pin ab\n  skill demo_look: safe\n  reaches demo_look: the network\n\
             broken other  on nowhere\n  not_json: …\n"
        );
        assert_eq!(table(&json!([])), "there are no packs\n");
    }
}
