//! What can be said on the command line, and what is meant by it. A table tells both the reader of options and the help.
//!
//! `lexopt` splits the words. A parser with a vocabulary of its own, such as clap's, would be a fortieth of the binary:
//! see docs/decisions/0007.

use edge::{DEFAULT_CONFIG, DEFAULT_DIR};
use lexopt::{Arg, Parser};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tunnel::Pin;

/// What is to be done, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cli {
    /// The configuration file.
    pub(crate) config: PathBuf,
    /// Where the edge keeps its key and its state.
    pub(crate) dir: PathBuf,
    pub(crate) command: Command,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Enroll(Enroll),
    Run,
    SkillsList,
    SkillsRun { key: String, params: Vec<String>, timeout: Duration },
    PacksLint { pack: PathBuf },
    PacksList,
    PacksRun { key: String, from: Option<PathBuf>, params: Vec<String>, timeout: Duration },
    BashClassify { commands: Vec<String>, stdin: bool },
    Refusals { json: bool },
    Doctor,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Enroll {
    pub(crate) manager: String,
    pub(crate) token: String,
    pub(crate) ca_pin: Option<Pin>,
    pub(crate) proxy: Option<String>,
    pub(crate) name: Option<String>,
}

/// What the words came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Do(Box<Cli>),
    /// Only this text was asked for.
    Say(String),
}

/// One command, as it is written and explained.
struct Spec {
    /// Its words: one, or a group and one.
    words: &'static str,
    /// What comes without a name, as the help shows it.
    operands: &'static str,
    about: &'static str,
    options: &'static [Opt],
}

struct Opt {
    name: &'static str,
    /// What its value is called; empty for one that has none.
    value: &'static str,
    help: &'static str,
}

const ABOUT: &str = "The agent that lets a Steadyhand manager look at this host and run skills on it.";

const PARAM: Opt =
    Opt { name: "param", value: "NAME=VALUE", help: "One parameter; may be given several times" };
const TIMEOUT: Opt =
    Opt { name: "timeout", value: "TIME", help: "How long it may take, such as 90s or 5m [default: 60s]" };

/// What every command takes.
const EVERYWHERE: &[Opt] = &[
    Opt { name: "config", value: "FILE", help: "Configuration file [default: /etc/steadyhand/edge.toml]" },
    Opt {
        name: "dir",
        value: "DIR",
        help: "Where the edge keeps its key and its state [default: /var/lib/steadyhand-edge]",
    },
    Opt { name: "help", value: "", help: "Print help, also of one command" },
    Opt { name: "version", value: "", help: "Print the version" },
];

const COMMANDS: &[Spec] = &[
    Spec {
        words: "enroll",
        operands: "",
        about: "Joins this host to a manager with a one-time token from Hosts → Add host",
        options: &[
            Opt { name: "manager", value: "HOST:PORT", help: "The manager's tunnel address; required" },
            Opt { name: "token", value: "TOKEN", help: "The one-time token; required" },
            Opt {
                name: "ca-pin",
                value: "PIN",
                help: "The public-key pin of the manager's authority; must be the one in the token",
            },
            Opt { name: "proxy", value: "URL", help: "HTTP proxy on the way to the manager" },
            Opt {
                name: "name",
                value: "NAME",
                help: "What the host is called in the console [default: its host name]",
            },
        ],
    },
    Spec { words: "run", operands: "", about: "Runs the agent in the foreground", options: &[] },
    Spec {
        words: "skills list",
        operands: "",
        about: "Lists the skills as JSON, with what this host lacks for each",
        options: &[],
    },
    Spec {
        words: "skills run",
        operands: "KEY",
        about: "Runs a skill here without the manager and prints what came of it as JSON",
        options: &[
            Opt {
                name: "local",
                value: "",
                help: "Required: this runs here, and nobody but this host's owner decides",
            },
            PARAM,
            TIMEOUT,
        ],
    },
    Spec {
        words: "packs lint",
        operands: "DIR",
        about: "Tells everything that is wrong with a pack, where it lies",
        options: &[],
    },
    Spec {
        words: "packs list",
        operands: "",
        about: "Lists the packs of this host as JSON, also those that are broken, and why",
        options: &[],
    },
    Spec {
        words: "packs run",
        operands: "KEY",
        about: "Runs a skill of a pack here without the manager and prints what came of it as JSON",
        options: &[
            Opt {
                name: "from",
                value: "DIR",
                help: "Run it from this pack, instead of the configured directories",
            },
            PARAM,
            TIMEOUT,
        ],
    },
    Spec {
        words: "bash classify",
        operands: "COMMAND…",
        about: "Prints the class of commands with its reasons, one JSON object a line, without running anything",
        options: &[Opt {
            name: "stdin",
            value: "",
            help: "Reads commands from standard input, each a JSON string on a line of its own",
        }],
    },
    Spec {
        words: "refusals",
        operands: "",
        about: "Lists calls that were refused for their evidence: what somebody tried here without the people who must agree",
        options: &[Opt { name: "json", value: "", help: "As JSON" }],
    },
    Spec {
        words: "doctor",
        operands: "",
        about: "Checks configuration, key, certificate and the way to the manager, and says what to do",
        options: &[],
    },
];

/// Reads the words behind the program's name.
///
/// # Errors
///
/// Says what is wrong with them, and what would be right.
pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Read, String> {
    let mut parser = Parser::from_args(words);
    let mut given = Given::default();
    let mut named: Vec<String> = Vec::new();
    let mut spec: Option<&'static Spec> = None;
    loop {
        // What is to be classed may look like an option.
        if spec.is_some_and(|spec| spec.words == "bash classify") {
            given.take_commands(&mut parser)?;
        }
        let Some(arg) = parser.next().map_err(|error| error.to_string())? else { break };
        let name = match arg {
            Arg::Short('h') => "help".to_owned(),
            Arg::Short('V') => "version".to_owned(),
            Arg::Short(letter) => return Err(format!("there is no option `-{letter}`; see --help")),
            Arg::Long(name) => name.to_owned(),
            Arg::Value(word) => {
                let word = text(word, "a word")?;
                if spec.is_some() {
                    given.operands.push(word);
                } else {
                    named.push(word);
                    spec = command(&named)?;
                }
                continue;
            }
        };
        let own = spec.map_or(&[] as &[Opt], |spec| spec.options);
        let known = || EVERYWHERE.iter().chain(own);
        let Some(option) = known().find(|option| option.name == name) else {
            return Err(unknown(
                "option",
                &format!("--{name}"),
                known().map(|option| format!("--{}", option.name)),
            ));
        };
        let value = match option.value {
            "" => OsString::new(),
            _ => parser.value().map_err(|error| error.to_string())?,
        };
        given.options.push((option.name, value));
    }
    if given.has("help") {
        return Ok(Read::Say(help(&named.join(" "))));
    }
    if given.has("version") {
        return Ok(Read::Say(format!("steadyhand-edge {}\n", env!("CARGO_PKG_VERSION"))));
    }
    // `skills` alone lists them.
    let listed =
        (named == ["skills"]).then(|| COMMANDS.iter().find(|spec| spec.words == "skills list")).flatten();
    let Some(spec) = spec.or(listed) else {
        let what = if named.is_empty() {
            "a command is missing".to_owned()
        } else {
            format!("`{}` takes one more word", named.join(" "))
        };
        return Err(format!("{what}\n\n{}", help(&named.join(" ")).trim_end()));
    };
    given.cli(spec).map(|cli| Read::Do(Box::new(cli)))
}

/// The command with these words, if they are all of them.
fn command(named: &[String]) -> Result<Option<&'static Spec>, String> {
    let said = named.join(" ");
    if let Some(spec) = COMMANDS.iter().find(|spec| spec.words == said) {
        return Ok(Some(spec));
    }
    let group = format!("{said} ");
    if COMMANDS.iter().any(|spec| spec.words.starts_with(&group)) {
        return Ok(None);
    }
    let before = named.len() - 1;
    let same_group =
        |spec: &&Spec| spec.words.split(' ').zip(named).take(before).all(|(word, given)| word == given);
    let choices = COMMANDS.iter().filter(same_group).filter_map(|spec| spec.words.split(' ').nth(before));
    Err(unknown(
        "command",
        &said,
        choices.map(|word| {
            named[..before].iter().map(String::as_str).chain([word]).collect::<Vec<_>>().join(" ")
        }),
    ))
}

/// Says that there is no such thing, and which is nearest.
fn unknown(what: &str, given: &str, choices: impl Iterator<Item = String>) -> String {
    let near = choices
        .map(|choice| (strsim::jaro_winkler(given, &choice), choice))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match near {
        Some((_, choice)) => format!("there is no {what} `{given}`; did you mean `{choice}`?"),
        None => format!("there is no {what} `{given}`; see --help"),
    }
}

fn text(word: OsString, what: &str) -> Result<String, String> {
    word.into_string().map_err(|word| format!("{what} is no text: {}", word.to_string_lossy()))
}

/// What was given, before it is clear what it means.
#[derive(Default)]
struct Given {
    options: Vec<(&'static str, OsString)>,
    operands: Vec<String>,
}

impl Given {
    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| *option == name)
    }

    /// The values of an option that may be given several times.
    fn all(&self, name: &str) -> Result<Vec<String>, String> {
        let values = self.options.iter().filter(|(option, _)| *option == name);
        values.map(|(_, value)| text(value.clone(), &format!("the value of --{name}"))).collect()
    }

    /// The value of an option that may be given once.
    fn one(&self, name: &str) -> Result<Option<String>, String> {
        let mut values = self.all(name)?;
        if values.len() > 1 {
            return Err(format!("--{name} is given {} times; give it once", values.len()));
        }
        Ok(values.pop())
    }

    fn required(&self, name: &str) -> Result<String, String> {
        self.one(name)?.ok_or_else(|| format!("--{name} is missing; see --help"))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.options.iter().rfind(|(option, _)| *option == name).map(|(_, value)| PathBuf::from(value))
    }

    fn parsed<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Option<T>, String> {
        let Some(word) = self.one(name)? else { return Ok(None) };
        word.parse().map(Some).map_err(|error| format!("--{name}: {error}"))
    }

    fn timeout(&self) -> Result<Duration, String> {
        let word = self.one("timeout")?.unwrap_or_else(|| "60s".to_owned());
        humantime::parse_duration(&word)
            .map_err(|error| format!("--timeout: `{word}` is no time ({error}); for example 90s or 5m"))
    }

    /// The one operand.
    fn operand(&mut self, what: &str) -> Result<String, String> {
        match self.operands.len() {
            0 => Err(format!("{what} is missing; see --help")),
            1 => Ok(self.operands.remove(0)),
            _ => Err(format!("only one {what} is taken, and `{}` came after it", self.operands[1])),
        }
    }

    /// Takes the rest of the words as commands to class.
    fn take_commands(&mut self, parser: &mut Parser) -> Result<(), String> {
        let mut only_commands = false;
        for word in parser.raw_args().map_err(|error| error.to_string())? {
            match word.to_str() {
                Some("--") if !only_commands => only_commands = true,
                Some("--stdin") if !only_commands => self.options.push(("stdin", OsString::new())),
                Some("--help" | "-h") if !only_commands => self.options.push(("help", OsString::new())),
                _ => self.operands.push(text(word, "a command")?),
            }
        }
        Ok(())
    }

    fn cli(mut self, spec: &Spec) -> Result<Cli, String> {
        if spec.operands.is_empty()
            && let Some(word) = self.operands.first()
        {
            return Err(format!("`{}` takes nothing more, and `{word}` came after it", spec.words));
        }
        let command = match spec.words {
            "enroll" => Command::Enroll(Enroll {
                manager: self.required("manager")?,
                token: self.required("token")?,
                ca_pin: self.parsed("ca-pin")?,
                proxy: self.one("proxy")?,
                name: self.one("name")?,
            }),
            "run" => Command::Run,
            "skills list" => Command::SkillsList,
            "skills run" if !self.has("local") => {
                return Err(
                    "--local is missing: this runs here, and nobody but this host's owner decides".to_owned()
                );
            }
            "skills run" => Command::SkillsRun {
                key: self.operand("KEY")?,
                params: self.all("param")?,
                timeout: self.timeout()?,
            },
            "packs lint" => Command::PacksLint { pack: self.operand("DIR")?.into() },
            "packs list" => Command::PacksList,
            "packs run" => Command::PacksRun {
                key: self.operand("KEY")?,
                from: self.path("from"),
                params: self.all("param")?,
                timeout: self.timeout()?,
            },
            "bash classify" => match (self.has("stdin"), self.operands.is_empty()) {
                (true, false) => return Err("give commands, or --stdin, not both".to_owned()),
                (false, true) => return Err("give commands, or --stdin".to_owned()),
                (stdin, _) => Command::BashClassify { commands: std::mem::take(&mut self.operands), stdin },
            },
            "refusals" => Command::Refusals { json: self.has("json") },
            _ => Command::Doctor,
        };
        Ok(Cli {
            config: self.path("config").unwrap_or_else(|| DEFAULT_CONFIG.into()),
            dir: self.path("dir").unwrap_or_else(|| DEFAULT_DIR.into()),
            command,
        })
    }
}

/// The help of a command, of a group of them, or of all.
fn help(named: &str) -> String {
    let mut out = String::new();
    if let Some(spec) = COMMANDS.iter().find(|spec| spec.words == named) {
        let operands = if spec.operands.is_empty() { String::new() } else { format!(" {}", spec.operands) };
        let _ = write!(
            out,
            "{}.\n\nUsage: steadyhand-edge {named} [OPTIONS]{operands}\n\nOptions:\n",
            spec.about
        );
        list(&mut out, spec.options.iter().chain(EVERYWHERE).map(|option| (spelled(option), option.help)));
        return out;
    }
    let group = if named.is_empty() { String::new() } else { format!("{named} ") };
    let _ = write!(out, "{ABOUT}\n\nUsage: steadyhand-edge {group}[OPTIONS] COMMAND\n\nCommands:\n");
    let within = COMMANDS.iter().filter(|spec| spec.words.starts_with(&group));
    list(&mut out, within.map(|spec| (spec.words.to_owned(), spec.about)));
    out.push_str("\nOptions:\n");
    list(&mut out, EVERYWHERE.iter().map(|option| (spelled(option), option.help)));
    out
}

fn spelled(option: &Opt) -> String {
    match option.value {
        "" => format!("--{}", option.name),
        value => format!("--{} {value}", option.name),
    }
}

/// Two columns.
fn list(out: &mut String, lines: impl Iterator<Item = (String, &'static str)>) {
    let lines: Vec<_> = lines.collect();
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or_default();
    for (left, right) in lines {
        let _ = writeln!(out, "  {left:width$}  {right}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(line: &str) -> Result<Read, String> {
        read(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from))
    }

    fn meant(line: &str) -> Cli {
        match said(line) {
            Ok(Read::Do(cli)) => *cli,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_command_is_understood_with_its_options_anywhere() {
        assert_eq!(
            meant("run"),
            Cli { config: DEFAULT_CONFIG.into(), dir: DEFAULT_DIR.into(), command: Command::Run }
        );
        for line in ["--config c --dir d doctor", "doctor --dir=d --config=c", "--dir d doctor --config c"] {
            let cli = meant(line);
            assert_eq!((cli.config, cli.dir), ("c".into(), "d".into()), "{line}");
            assert_eq!(cli.command, Command::Doctor);
        }
        assert_eq!(meant("skills").command, Command::SkillsList);
        assert_eq!(meant("skills list").command, Command::SkillsList);
        assert_eq!(
            meant("skills run probe_tcp --local --param target=a:1 --param count=2 --timeout 5m").command,
            Command::SkillsRun {
                key: "probe_tcp".to_owned(),
                params: vec!["target=a:1".to_owned(), "count=2".to_owned()],
                timeout: Duration::from_secs(300),
            }
        );
        assert_eq!(
            meant("packs run count --from hello").command,
            Command::PacksRun {
                key: "count".to_owned(),
                from: Some("hello".into()),
                params: Vec::new(),
                timeout: Duration::from_secs(60),
            }
        );
        assert_eq!(meant("packs lint hello").command, Command::PacksLint { pack: "hello".into() });
        assert_eq!(meant("packs list").command, Command::PacksList);
        assert_eq!(meant("refusals --json").command, Command::Refusals { json: true });
        assert_eq!(
            meant("enroll --manager m:1 --token t --name web-1").command,
            Command::Enroll(Enroll {
                manager: "m:1".to_owned(),
                token: "t".to_owned(),
                ca_pin: None,
                proxy: None,
                name: Some("web-1".to_owned()),
            })
        );
    }

    #[test]
    fn what_is_to_be_classed_may_look_like_an_option() {
        let classed = |line: &str| match meant(line).command {
            Command::BashClassify { commands, stdin } => (commands.join("|"), stdin),
            other => panic!("{other:?}"),
        };
        assert_eq!(classed("bash classify ls -la -- --stdin"), ("ls|-la|--stdin".to_owned(), false));
        assert_eq!(classed("bash classify --stdin"), (String::new(), true));
        assert!(said("bash classify").is_err() && said("bash classify ls --stdin").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (line, told) in [
            ("", "a command is missing"),
            ("packs", "`packs` takes one more word"),
            ("rum", "there is no command `rum`; did you mean `run`?"),
            ("packs lst", "there is no command `packs lst`; did you mean `packs list`?"),
            ("xyzzy", "there is no command `xyzzy`; see --help"),
            ("doctor --confg x", "there is no option `--confg`; did you mean `--config`?"),
            ("doctor --json", "there is no option `--json`"),
            ("doctor -x", "there is no option `-x`"),
            ("doctor now", "`doctor` takes nothing more, and `now` came after it"),
            ("enroll --token t", "--manager is missing"),
            ("enroll --manager m --token t --token u", "--token is given 2 times"),
            ("enroll --manager m --token t --ca-pin x", "--ca-pin: "),
            ("skills run host_load", "--local is missing"),
            ("skills run --local", "KEY is missing"),
            ("skills run --local a b", "only one KEY is taken, and `b` came after it"),
            ("skills run --local a --timeout soon", "`soon` is no time"),
            ("doctor --config", "missing argument"),
        ] {
            let problem = said(line).expect_err(line);
            assert!(problem.contains(told), "{line}: {problem}");
        }
    }

    #[test]
    fn the_help_knows_every_command_and_option_and_the_real_defaults() {
        let Ok(Read::Say(all)) = said("--help") else { panic!("no help") };
        for spec in COMMANDS {
            assert!(all.contains(spec.words), "{all}");
            let Ok(Read::Say(one)) = said(&format!("{} -h", spec.words)) else { panic!("no help") };
            assert!(
                one.contains(spec.about) && spec.options.iter().all(|option| one.contains(option.name)),
                "{one}"
            );
        }
        assert!(all.contains(DEFAULT_CONFIG) && all.contains(DEFAULT_DIR));
        assert_eq!(
            said("run --version"),
            Ok(Read::Say(format!("steadyhand-edge {}\n", env!("CARGO_PKG_VERSION"))))
        );
    }

    proptest! {
        #[test]
        fn no_words_make_it_panic(words in prop::collection::vec("(skills|run|packs|bash|classify|--local|--param|-h|--|--timeout=|[-a-z=한]{0,6})", 0..8)) {
            let _ = read(words.into_iter().map(OsString::from));
        }
    }
}
