//! `fuzz NAME FOLDER`: writes what a target begins with into a folder, a file each. `./x fuzz` calls it.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder] = words.as_slice() else {
        eprintln!("usage: fuzz NAME FOLDER; names: {}", fuzz::names().collect::<Vec<_>>().join(" "));
        return ExitCode::from(2);
    };
    let Some(target) = fuzz::TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("fuzz: no target `{name}`; there are: {}", fuzz::names().collect::<Vec<_>>().join(" "));
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        (target.seeds)()
            .iter()
            .enumerate()
            .try_for_each(|(number, seed)| std::fs::write(folder.join(format!("seed-{number:04}")), seed))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}
