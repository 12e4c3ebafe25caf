//! Builtins of the shell, and interpreters.

use crate::table::Call;
use crate::value::Value;
use crate::walk::{Source, is_identifier};
use model::Class;

/// A program that runs a program. Asking for its version is all that is known to only read.
pub(crate) fn interpreter(call: &mut Call<'_, '_>, reason: &str) {
    if call.args.len() == 1
        && call
            .args
            .iter()
            .any(|arg| matches!(arg.text(), "--version" | "-V" | "-version" | "version" | "--help"))
    {
        return;
    }
    let json = ["-m", "json.tool"];
    if !(call.bare_name().starts_with("python") && call.args.iter().map(Value::text).eq(json)) {
        call.walker.interprets = true;
    }
    call.opaque(format!("`{}` {reason}", call.bare_name()));
}

/// `sh -c 'text'` and its like: the text is classed like the command itself.
pub(crate) fn shell(call: &mut Call<'_, '_>) {
    if call.args.len() == 1 && call.has("--version") {
        return;
    }
    let bash = call.bare_name() == "bash";
    let text = match call.args {
        [option, text, rest @ ..] if option.is("-c") || option.is("-ec") || option.is("-xc") => {
            let harmless = rest.iter().all(|arg| arg.exact.is_some());
            text.exact.as_deref().filter(|_| harmless).map(|inner| (inner, (text.start, text.end)))
        }
        _ => None,
    };
    let Some((inner, place)) = text else {
        call.walker.interprets = true;
        if let [.., last] = call.args
            && let Some(text) = last.exact.as_deref()
            && call.args.iter().any(|arg| arg.text().starts_with('-') && arg.text().contains('c'))
        {
            call.walker.program(Source::inside(text, (last.start, last.end)));
        }
        call.opaque(format!("`{}` runs a program that isn't in the text", call.bare_name()));
        return;
    };
    // Other shells cut text otherwise than bash does.
    let foreign = [
        "$'", "$\"", "&>", "|&", "<(", ">(", "[[", "((", "<<", "{", ";&", "function", "==", "coproc", "~",
        "time",
    ];
    if !bash && foreign.iter().any(|shape| inner.contains(shape)) {
        call.mutating("uses what shells read in different ways");
    }
    call.walker.program(Source::inside(inner, place));
}

/// `eval`, `source`, `.`: always at least mutating; constant text is looked at for what destroys.
pub(crate) fn eval(call: &mut Call<'_, '_>) {
    call.walker.interprets = true;
    call.opaque(format!("`{}` runs text as a command", call.bare_name()));
    if call.name == "eval" && call.args.iter().all(|arg| arg.exact.is_some()) {
        let text = call.args.iter().map(Value::text).collect::<Vec<_>>().join(" ");
        call.walker.program(Source::inside(&text, call.place));
    }
}

/// `trap 'text' SIGNAL`.
pub(crate) fn trap(call: &mut Call<'_, '_>) {
    match call.args {
        [] => {}
        [one] if one.is("-l") || one.is("-p") => {}
        [text, signals @ ..]
            if text.exact.is_some()
                && !text.option
                && signals.iter().all(|signal| signal.exact.is_some()) =>
        {
            call.walker.program(Source::inside(text.text(), (text.start, text.end)));
        }
        [text, ..] if text.is("-") => {}
        _ => call.opaque("sets a trap that isn't in the text"),
    }
}

/// `test` and `[`: a `-v` evaluates subscripts, and a word without quotes can bring one in.
pub(crate) fn test(call: &mut Call<'_, '_>) {
    const BINARY: &[&str] = &[
        "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o",
    ];
    let binary = |index: usize| call.args.get(index).is_some_and(|arg| BINARY.contains(&arg.text()));
    let unary = |index: usize| {
        call.args.get(index).is_some_and(|arg| {
            arg.exact.as_deref().is_some_and(|text| text.len() == 2 && text.starts_with('-'))
        })
    };
    let mut bad = None;
    for (index, arg) in call.args.iter().enumerate() {
        if arg.is("-v") || arg.is("-R") {
            bad = Some((arg, "evaluates a subscript"));
        } else if arg.exact.is_none() && arg.option && !arg.number {
            if arg.many {
                bad = Some((
                    arg,
                    "without quotes could become an operator that evaluates a subscript; quote it",
                ));
            }
            let followed = call.args.get(index + 1).is_some_and(|next| !next.is("]")) && !binary(index + 1);
            let led = index > 0 && (unary(index - 1) || binary(index - 1));
            if followed && !led {
                bad = Some((arg, "could become an operator that evaluates a subscript"));
            }
        }
    }
    if let Some((arg, why)) = bad {
        call.lift_at(Class::Mutating, arg, why);
    }
}

/// `printf`: `-v` assigns.
pub(crate) fn printf(call: &mut Call<'_, '_>) {
    if let Some(first) = call.args.first()
        && (first.option || first.many && first.exact.is_none())
        && !first.is("--")
    {
        call.lift_at(Class::Mutating, first, "`printf` with something that may be `-v`, which assigns");
    }
}

/// `read`: gives variables values from outside.
pub(crate) fn read(call: &mut Call<'_, '_>) {
    let Some(found) = call.read("-r -s -p: -t: -n: -N: -d: -u: -a:", call.args, false) else { return };
    let mut names: Vec<String> = found.operands.iter().map(|arg| arg.text().to_owned()).collect();
    names.extend(
        found
            .options
            .iter()
            .filter(|(name, _)| name == "-a")
            .map(|(_, value)| value.clone().unwrap_or_default()),
    );
    if names.is_empty() {
        names.push("REPLY".to_owned());
    }
    for name in names {
        call.walker.assign(&name, &Value::anything(true, call.place.0, call.place.1));
    }
}

/// `mapfile`, `readarray`: `-C` runs a command.
pub(crate) fn mapfile(call: &mut Call<'_, '_>) {
    let Some(found) = call.read("-t -d: -n: -s: -u:", call.args, false) else { return };
    for arg in found.operands {
        call.walker.assign(arg.text(), &Value::anything(true, arg.start, arg.end));
    }
}

/// `local`: variables of a function.
pub(crate) fn local(call: &mut Call<'_, '_>) {
    for arg in call.args {
        let text = arg.exact.as_deref().unwrap_or(&arg.prefix);
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let assigned = if arg.exact.is_some() {
            Value::exact(value, arg.start, arg.end)
        } else {
            Value::anything(true, arg.start, arg.end)
        };
        if arg.exact.is_none() && !text.contains('=') || !is_identifier(name) {
            call.lift_at(Class::Mutating, arg, "`local` with something else than names");
        } else {
            call.walker.assign(name, &assigned);
        }
    }
}

/// `unset NAME`.
pub(crate) fn unset(call: &mut Call<'_, '_>) {
    let plain = |arg: &Value| is_identifier(arg.text());
    if call.walker.has_functions() || !call.args.iter().all(plain) {
        call.mutating("`unset` with something else than the names of variables");
    }
    for arg in call.args {
        call.walker.assign(arg.text(), &Value::anything(false, arg.start, arg.end));
    }
}

/// `set`: options that only make the shell stricter.
pub(crate) fn set(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read("-e -u -x -v -f -n -C -o:", call.args, false) {
        let known = |value: &Option<String>| {
            matches!(
                value.as_deref(),
                Some("pipefail" | "errexit" | "nounset" | "noglob" | "xtrace" | "verbose" | "noclobber")
            )
        };
        if found.options.iter().any(|(name, value)| name == "-o" && !known(value))
            || !found.operands.is_empty()
        {
            call.mutating("`set` with something that steers the shell");
        }
    }
}

/// `cd`: only where later commands look; nothing is written.
pub(crate) fn cd(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read("-P -L", call.args, false) {
        call.operands(crate::table::Operands::AtMost(1), &found.operands);
    }
}

/// `command`, `builtin`: look through them.
pub(crate) fn command(call: &mut Call<'_, '_>) {
    match call.args {
        [] => {}
        [option, ..] if option.is("-v") || option.is("-V") => {}
        [option, rest @ ..] if option.is("--") => call.walker.run(rest),
        [first, ..] if first.option => {
            call.mutating("`command` with an option that isn't known to only read")
        }
        words => call.walker.run(words),
    }
}

/// `exec`: replaces the shell by a command, or moves its descriptors.
pub(crate) fn exec(call: &mut Call<'_, '_>) {
    match call.args.first() {
        None => call.mutating("moves the shell's own descriptors"),
        Some(first) if first.option => call.mutating("`exec` with options"),
        Some(_) => call.walker.run(call.args),
    }
}

/// `declare`, `typeset`, `export`, `readonly`: only printing is known to read.
pub(crate) fn declare(call: &mut Call<'_, '_>) {
    if call.args.is_empty() || (call.args.len() == 1 && (call.has("-p") || call.has("-F") || call.has("-f")))
    {
        return;
    }
    call.mutating(format!(
        "`{}` gives variables properties that change what later commands do",
        call.bare_name()
    ));
    for arg in call.args {
        if let Some((name, _)) = arg.exact.as_deref().unwrap_or(&arg.prefix).split_once('=')
            && is_identifier(name)
        {
            call.walker.assign(name, &Value::anything(true, arg.start, arg.end));
        }
    }
}
