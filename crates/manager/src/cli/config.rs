//! `steadyhand config`.

use super::{ConfigArgs, local};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Tell everything that is wrong with the configuration, or that nothing is
    Check(ConfigArgs),
}

impl ConfigCommand {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let Self::Check(args) = self;
        let config = local::load(&args)?;
        let file =
            config.file.map_or_else(|| "no file, the defaults".to_owned(), |file| file.display().to_string());
        local::print(&format!(
            "the configuration is right ({file}): console on {}, tunnel on {}, data in {}\n",
            config.http.listen,
            config.tunnel.listen,
            config.storage.dir.display()
        ))
    }
}
