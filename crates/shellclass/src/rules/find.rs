//! `find`: tests and printing read; actions that run, remove or write files don't.

use crate::rules::wrappers::replace;
use crate::table::Call;
use crate::value::Value;
use model::Class;

/// Tests and options without a value.
const FLAGS: &[&str] = &[
    "-H",
    "-L",
    "-P",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-true",
    "-false",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-daystart",
    "-follow",
    "-noleaf",
    "-warn",
    "-nowarn",
    "-ignore_readdir_race",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "!",
    "(",
    ")",
    ",",
];
/// Tests and options with a value.
const VALUES: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-newermt",
    "-newerct",
    "-newerat",
    "-newermm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-samefile",
    "-fstype",
    "-maxdepth",
    "-mindepth",
    "-printf",
    "-used",
    "-context",
    "-regextype",
    "-D",
];

/// Judges one use.
pub(crate) fn judge(call: &mut Call<'_, '_>) {
    let args = call.args;
    let mut index = 0;
    let mut started = false;
    while let Some(arg) = args.get(index) {
        index += 1;
        let text = arg.text();
        if FLAGS.contains(&text) {
            started |= !matches!(text, "-H" | "-L" | "-P");
        } else if text.len() == 3 && text.starts_with("-O") {
        } else if VALUES.contains(&text) {
            started = true;
            match args.get(index) {
                Some(value) if value.many && value.exact.is_none() => {
                    call.lift_at(Class::Mutating, value, "could become several words; quote it");
                }
                Some(_) => {}
                None => call.mutating("`find` lacks a value"),
            }
            index += 1;
        } else if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            started = true;
            let rest = args.get(index..).unwrap_or(&[]);
            let plus = |at: usize, word: &Value| {
                word.is("+") && at > 0 && rest.get(at - 1).is_some_and(|before| before.is("{}"))
            };
            let Some(length) = rest.iter().enumerate().position(|(at, word)| word.is(";") || plus(at, word))
            else {
                call.mutating("`find` runs a command without its end");
                return;
            };
            if text.starts_with("-ok") {
                call.mutating("`find` asks on a terminal and runs a command");
            }
            let mut words = rest.get(..length).unwrap_or(&[]).to_vec();
            // What is found begins with the starting point, which is no option.
            replace(&mut words, "{}", false);
            call.walker.run(&words);
            index += length + 1;
        } else if matches!(text, "-delete") {
            call.lift_at(Class::Mutating, arg, "`find` removes what it finds");
        } else if arg.exact.is_none() || !text.starts_with(['-', '(', '!', ',']) {
            let operator = arg.exact.is_none() && (arg.option || arg.many && arg.prefix.is_empty());
            if started || operator {
                call.lift_at(
                    Class::Mutating,
                    arg,
                    "could turn out to be an action of `find`; begin it with ./ or /",
                );
            }
        } else {
            call.lift_at(Class::Mutating, arg, format!("`{text}` of `find` isn't known to only read"));
        }
    }
}
