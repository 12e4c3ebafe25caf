//! Packages: what is installed, and from where.

use super::{Call, Entry, Operands, custom, options, requires, verb, verbs};

pub(super) const ENTRIES: &[Entry] = &[
    options(
        "dpkg",
        "-l -L -s -S -p -V -C -c -I -W --list --listfiles --status --search --print-avail --verify --audit --print-architecture --print-foreign-architectures --get-selections --contents --info --version --no-pager",
        Operands::Any,
        "prints what is installed; installing, removing and configuring aren't listed",
    ),
    options(
        "dpkg-query",
        "-l -L -s -S -p -W -f: --list --listfiles --status --search --show --showformat= --no-pager",
        Operands::Any,
        "prints what is installed",
    ),
    verbs(
        "apt",
        "-q",
        &[
            verb("list", "-a -q --installed --upgradable --all-versions --manual-installed", Operands::Any),
            verb("show", "-a --all-versions", Operands::Any),
            verb("policy", "", Operands::Any),
            verb("search", "-n -f --names-only --full", Operands::Any),
            verb("depends", "", Operands::Any),
            verb("rdepends", "--installed", Operands::Any),
        ],
        &["purge", "autoremove", "full-upgrade", "dist-upgrade"],
        "prints packages; -o can name programs and isn't listed",
    ),
    verbs(
        "apt-cache",
        "-q",
        &[
            verb("policy", "", Operands::Any),
            verb("show", "-a", Operands::Any),
            verb("showpkg", "", Operands::Any),
            verb("search", "-n -f --names-only", Operands::Any),
            verb("depends", "--installed --recurse", Operands::Any),
            verb("rdepends", "--installed --recurse", Operands::Any),
            verb("madison", "", Operands::Any),
            verb("stats", "", Operands::None),
            verb("pkgnames", "", Operands::Any),
        ],
        &[],
        "prints packages; -o can name programs and isn't listed",
    ),
    verbs(
        "apt-mark",
        "",
        &[
            verb("showhold", "", Operands::Any),
            verb("showmanual", "", Operands::Any),
            verb("showauto", "", Operands::Any),
        ],
        &[],
        "prints marks of packages",
    ),
    custom("rpm", rpm, "prints what is installed; installing and removing are not listed"),
    options("pacman", "-Q -Qi -Ql -Qs -Qe -Qm -Qo -Qu -Qdt -V", Operands::Any, "prints what is installed"),
    verbs(
        "apk",
        "",
        &[
            verb("info", "-v -a -d -e -L -r -w", Operands::Any),
            verb("list", "-I --installed", Operands::Any),
            verb("version", "", Operands::Any),
            verb("policy", "", Operands::Any),
        ],
        &[],
        "prints what is installed",
    ),
    verbs(
        "pip",
        "",
        &[
            verb("list", "--format=", Operands::None),
            verb("freeze", "-l --local", Operands::None),
            verb("--version", "", Operands::None),
        ],
        &[],
        "prints what is installed; other verbs may run code of packages",
    ),
    verbs(
        "pip3",
        "",
        &[
            verb("list", "--format=", Operands::None),
            verb("freeze", "-l --local", Operands::None),
            verb("--version", "", Operands::None),
        ],
        &[],
        "prints what is installed; other verbs may run code of packages",
    ),
    requires(
        "update-alternatives",
        "--list: --display: --query: --get-selections",
        Operands::None,
        "--list --display --query --get-selections",
        "prints alternatives; all else sets them",
    ),
    options(
        "debsums",
        "-a -c -e -l -s --all --changed --config --silent",
        Operands::Any,
        "compares files of packages",
    ),
];

/// `rpm`: `-i` installs unless it stands behind `-q`.
fn rpm(call: &mut Call<'_, '_>) {
    let list = "-q -a -i -l -f -c -d -p -R -V --query --all --info --list --file --configfiles --docfiles --requires --provides --whatprovides --whatrequires --changelog --last --scripts --qf: --queryformat= --verify --version";
    let asks = call.args.first().is_some_and(|arg| {
        arg.text().starts_with("-q")
            || matches!(arg.text(), "--query" | "-V" | "-Va" | "--verify" | "--version")
    });
    if call.read(list, call.args, false).is_some() && !asks {
        call.mutating("`rpm` with something else than asking");
    }
}
