//! Commands that run the command in their arguments: looked through, or at least mutating.

use crate::table::Call;
use crate::value::Value;
use crate::walk::Source;
use model::Class;

/// Reads the wrapper's own options, skips `skip` operands of its own, and judges the rest as a command.
fn through<'a>(call: &mut Call<'_, 'a>, list: &str, skip: usize) -> &'a [Value] {
    let args = call.args;
    let Some(found) = call.read(list, args, true) else {
        // What stands behind an unknown option is still looked at for what destroys.
        let rest = args.iter().position(|arg| !arg.option).and_then(|at| args.get(at..)).unwrap_or(&[]);
        run_if_known(call, rest);
        return &[];
    };
    let rest = args.get(found.read..).unwrap_or(&[]);
    if rest.iter().take(skip).any(|arg| arg.many) {
        call.mutating("a wrapper's own operand that could become several words");
    }
    rest.get(skip..).unwrap_or(&[])
}

fn run_if_known(call: &mut Call<'_, '_>, rest: &[Value]) {
    for start in 0..rest.len().min(4) {
        if rest.get(start).is_some_and(|word| crate::table::find(word.text()).is_some()) {
            call.walker.run(rest.get(start..).unwrap_or(&[]));
        }
    }
}

fn look_through(call: &mut Call<'_, '_>, list: &str, skip: usize) {
    let rest = through(call, list, skip);
    if !rest.is_empty() {
        call.walker.run(rest);
    }
}

pub(crate) fn nice(call: &mut Call<'_, '_>) {
    look_through(call, "-n: --adjustment=", 0);
}

pub(crate) fn ionice(call: &mut Call<'_, '_>) {
    look_through(call, "-c: -n: -t --class= --classdata= --ignore", 0);
}

pub(crate) fn timeout(call: &mut Call<'_, '_>) {
    look_through(call, "-k: -s: -v --kill-after= --signal= --foreground --preserve-status --verbose", 1);
}

pub(crate) fn stdbuf(call: &mut Call<'_, '_>) {
    look_through(call, "-i: -o: -e: --input= --output= --error=", 0);
}

pub(crate) fn time(call: &mut Call<'_, '_>) {
    look_through(call, "-p -v", 0);
}

pub(crate) fn nohup(call: &mut Call<'_, '_>) {
    look_through(call, "", 0);
}

/// Raises or changes who runs it, or where: at least mutating; the command inside is looked at for what destroys.
pub(crate) fn lifts(call: &mut Call<'_, '_>) {
    call.mutating(format!("`{}` runs a command as somebody else, elsewhere or later", call.bare_name()));
    let rest = call
        .args
        .iter()
        .position(|arg| !arg.option && !arg.text().contains('='))
        .and_then(|at| call.args.get(at..));
    run_if_known(call, rest.unwrap_or(&[]));
    for arg in call.args {
        if arg.text().contains(' ') {
            call.walker.program(Source::inside(arg.text(), (arg.start, arg.end)));
        }
    }
}

/// `ssh`: reaches another host and runs anything there.
pub(crate) fn ssh(call: &mut Call<'_, '_>) {
    lifts(call);
    if let Some(host) = call.args.iter().find(|arg| !arg.option) {
        let bare = host.exact.as_deref().map(|text| text.rsplit('@').next().unwrap_or(text).to_owned());
        call.note(bare, Some(22), host);
    }
}

/// `env`: prints the environment, or runs a command in a changed one.
pub(crate) fn env(call: &mut Call<'_, '_>) {
    let rest = through(call, "-0 --null", 0);
    let split = rest
        .iter()
        .position(|arg| !arg.exact.as_deref().unwrap_or(&arg.prefix).contains('='))
        .unwrap_or(rest.len());
    let (sets, command) = rest.split_at(split);
    for arg in sets {
        let plain = arg.exact.as_deref().and_then(|text| text.split_once('='));
        let harmless = plain.is_some_and(|(name, value)| {
            matches!(name, "LC_ALL" | "LANG" | "TZ")
                && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        });
        if !harmless {
            call.lift_at(
                Class::Mutating,
                arg,
                "a variable in a command's environment can change what it does",
            );
        }
    }
    if !command.is_empty() {
        call.walker.run(command);
    }
}

/// `xargs`: the command gets words that only its input tells.
pub(crate) fn xargs(call: &mut Call<'_, '_>) {
    let list = "-0 -r -t -x -n: -P: -I: -L: -d: -s: --null --no-run-if-empty --max-args= --max-procs= --delimiter= --verbose";
    let args = call.args;
    let Some(found) = call.read(list, args, true) else {
        let rest = args.iter().position(|arg| !arg.option).and_then(|at| args.get(at..)).unwrap_or(&[]);
        run_if_known(call, rest);
        return;
    };
    let replaced = found.options.iter().find(|(name, _)| name == "-I").map(|(_, value)| value.clone());
    let mut words: Vec<Value> = args.get(found.read..).unwrap_or(&[]).to_vec();
    let (start, end) = call.place;
    if words.is_empty() {
        return;
    }
    match replaced {
        Some(Some(mark)) if !mark.is_empty() => replace(&mut words, &mark, true),
        Some(_) => {
            call.opaque("replaces text that only running tells");
            return;
        }
        None => words.push(Value::anything(true, start, end)),
    }
    call.walker.run(&words);
}

/// Makes every word that holds `mark` one that only running tells.
pub(crate) fn replace(words: &mut [Value], mark: &str, could_be_option: bool) {
    for word in words {
        if let Some(text) = word.exact.clone()
            && let Some(at) = text.find(mark)
        {
            text.get(..at).unwrap_or("").clone_into(&mut word.prefix);
            word.option = if at == 0 { could_be_option } else { text.starts_with('-') };
            word.exact = None;
            word.number = false;
        }
    }
}
