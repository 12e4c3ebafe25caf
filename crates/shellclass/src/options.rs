//! Reads a command's arguments by a list of the options that keep it read-only.
//!
//! The list is words: `-x` a flag, `-x:` with a value, `-x?` with a value only if glued, `--long`, `--long=` with a value,
//! `--long?` with a value only after `=`, `-#` a number such as `-20`, `-name` and `-name:` for commands with long options
//! behind one dash. Whatever isn't on the list, abbreviations too, isn't known to only read.

use crate::value::Value;

/// Arguments, sorted.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'a> {
    /// The options by name, with the text of the value where it is certain.
    pub(crate) options: Vec<(String, Option<String>)>,
    /// What is no option.
    pub(crate) operands: Vec<&'a Value>,
    /// How many arguments were read; less than all only when reading stops at the first operand.
    pub(crate) read: usize,
}

impl Arguments<'_> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| option == name)
    }
}

/// The argument that isn't on the list.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) index: usize,
    pub(crate) why: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Glued,
}

fn lookup(list: &str, name: &str) -> Option<Takes> {
    list.split_ascii_whitespace().find_map(|entry| {
        let (bare, takes) = match entry.as_bytes().last() {
            Some(b':' | b'=') => (entry.get(..entry.len() - 1)?, Takes::Value),
            Some(b'?') if entry.len() > 2 => (entry.get(..entry.len() - 1)?, Takes::Glued),
            _ => (entry, Takes::Nothing),
        };
        (bare == name).then_some(takes)
    })
}

const DYNAMIC: &str = "could turn out to be an option; begin it with ./ or / or put -- before it";

/// Reads `args` by `list`. With `stop`, reading ends before the first operand, as wrappers do.
pub(crate) fn read<'a>(list: &str, args: &'a [Value], stop: bool) -> Result<Arguments<'a>, Stranger> {
    let mut found = Arguments::default();
    let mut index = 0;
    let mut only_operands = false;
    while let Some(arg) = args.get(index) {
        let stranger = |why| Err(Stranger { index, why });
        let head = arg.exact.as_deref().unwrap_or(&arg.prefix);
        if only_operands || !head.starts_with('-') || head == "-" && arg.exact.is_some() {
            if !only_operands && arg.exact.is_none() && (arg.option || head == "-") {
                return stranger(DYNAMIC);
            }
            if stop {
                break;
            }
            found.operands.push(arg);
            index += 1;
            continue;
        }
        if arg.is("--") {
            only_operands = true;
            index += 1;
            if stop {
                break;
            }
            continue;
        }
        // A dynamic word that may fall apart could hold more options than the one that it begins with.
        if arg.exact.is_none() && arg.many {
            return stranger(DYNAMIC);
        }
        let mut wants_next = None;
        if let Some((name, value)) = head.split_once('=').filter(|_| head.starts_with("--")) {
            match lookup(list, name) {
                Some(Takes::Value | Takes::Glued) => {
                    found.options.push((name.to_owned(), arg.exact.is_some().then(|| value.to_owned())));
                }
                _ => return stranger("is an option that isn't known to only read"),
            }
        } else if arg.exact.is_some() && lookup(list, head).is_some() {
            match lookup(list, head) {
                Some(Takes::Value) => wants_next = Some(head.to_owned()),
                _ => found.options.push((head.to_owned(), None)),
            }
        } else if head.starts_with("--") {
            return stranger("is an option that isn't known to only read");
        } else if lookup(list, "-#").is_some()
            && arg.exact.is_some()
            && crate::value::is_whole(head.get(1..).unwrap_or(""))
        {
            found.options.push(("-#".to_owned(), None));
        } else {
            let letters = head.char_indices().skip(1);
            let mut closed = false;
            for (at, letter) in letters {
                let name = format!("-{letter}");
                let glued = head.get(at + letter.len_utf8()..).unwrap_or("");
                match lookup(list, &name) {
                    Some(Takes::Nothing) => found.options.push((name, None)),
                    Some(Takes::Value) if glued.is_empty() && arg.exact.is_some() => {
                        wants_next = Some(name);
                        closed = true;
                        break;
                    }
                    Some(Takes::Value | Takes::Glued) => {
                        found.options.push((name, arg.exact.is_some().then(|| glued.to_owned())));
                        closed = true;
                        break;
                    }
                    None => return stranger("is an option that isn't known to only read"),
                }
            }
            if arg.exact.is_none() && !closed {
                return stranger(DYNAMIC);
            }
        }
        index += 1;
        if let Some(name) = wants_next {
            let Some(value) = args.get(index) else {
                return Err(Stranger { index: index - 1, why: "lacks its value" });
            };
            if value.many && value.exact.is_none() && !value.number {
                return Err(Stranger { index, why: "could become several words" });
            }
            found.options.push((name, value.exact.clone()));
            index += 1;
        }
    }
    found.read = index;
    Ok(found)
}
