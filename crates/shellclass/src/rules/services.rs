//! Clients of databases, and commands that set what they show.

use crate::options::Arguments;
use crate::sql::sql_class;
use crate::table::{Call, Operands};
use crate::value::Value;
use crate::verdict::Need;
use model::Class;

/// `psql -X -c 'SELECT …'`: without the user's start-up file, each statement by its class.
pub(crate) fn psql(call: &mut Call<'_, '_>) {
    let list = "-X -A -t -x -q -w -n -l -1 -c: -d: -U: -h: -p: -F: -R: -P: --no-psqlrc --tuples-only --no-align --expanded --quiet --command= --dbname= --username= --host= --port= --csv --list --no-password --version -V";
    let found = call.read(list, call.args, false);
    let mut worst = Class::Safe;
    // Even where an option isn't known, what is sent decides between mutating and dangerous.
    for pair in call.args.windows(2) {
        if let [option, sql] = pair
            && (option.text().ends_with('c') || option.is("--command") || option.is("-e"))
            && option.text().starts_with('-')
        {
            worst = worst.max(sql.exact.as_deref().map_or(Class::Mutating, sql_class));
        }
    }
    if worst > Class::Safe {
        call.lift(worst, "sends SQL that isn't known to only read");
    }
    let Some(found) = found else { return };
    if found.has("--version") || found.has("-V") {
        return;
    }
    if !(found.has("-X") || found.has("--no-psqlrc")) {
        call.mutating("`psql` without -X runs the user's start-up file");
    }
    let commands: Vec<_> =
        found.options.iter().filter(|(name, _)| name == "-c" || name == "--command").collect();
    if commands.is_empty() && !found.has("-l") && !found.has("--list") {
        call.walker.interprets = true;
        call.opaque("`psql` reads commands from its input");
    }
    for (_, value) in commands {
        // A statement that begins with a backslash is a command of psql, which can write files and run programs.
        match value.as_deref() {
            Some(sql) => call.walker_sql(sql),
            None => call.mutating("SQL that only running tells"),
        }
    }
    // A connection string can name files and services.
    let database = found
        .options
        .iter()
        .filter(|(name, _)| name == "-d" || name == "--dbname")
        .map(|(_, value)| value.clone());
    for name in database.chain(found.operands.iter().map(|arg| arg.exact.clone())) {
        if name.as_deref().is_none_or(|text| {
            !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        }) {
            call.mutating("`psql` with more than a plain database name");
        }
    }
    call.need(Need::Socket("/run/postgresql/.s.PGSQL.5432"));
    let hosts: Vec<Option<String>> = found
        .options
        .iter()
        .filter(|(name, _)| name == "-h" || name == "--host")
        .map(|(_, value)| value.clone())
        .collect();
    let port = port_of(&found, &["-p", "--port"]);
    for host in hosts {
        call.need(Need::Network);
        if host.as_deref().is_none_or(|host| host.starts_with('/')) {
            call.mutating("a database that only running tells");
        }
        let place = Value::exact("", call.place.0, call.place.1);
        call.note(host, port.or(Some(5432)), &place);
    }
}

impl Call<'_, '_> {
    fn walker_sql(&mut self, sql: &str) {
        let class = sql_class(sql);
        if class > Class::Safe {
            self.lift(class, "SQL that isn't known to only read");
        }
    }
}

/// `mysql --no-defaults -e 'SELECT …'`.
pub(crate) fn mysql(call: &mut Call<'_, '_>) {
    if call.args.len() == 1 && (call.has("--version") || call.has("-V")) {
        return;
    }
    let mut worst = Class::Safe;
    for (index, arg) in call.args.iter().enumerate() {
        let sql = if matches!(arg.text(), "-e" | "--execute" | "-Ne" | "-sNe" | "-NBe" | "-Be") {
            call.args.get(index + 1).map(|next| next.exact.as_deref())
        } else {
            arg.exact.as_deref().and_then(|text| text.strip_prefix("--execute=")).map(Some)
        };
        if let Some(sql) = sql {
            worst = worst.max(sql.map_or(Class::Mutating, sql_class));
        }
    }
    // The client has commands of its own, and a start-up file that can hold them.
    call.lift(
        worst.max(Class::Mutating),
        "`mysql` isn't known to only read: its client has commands and start-up files of its own",
    );
}

/// `redis-cli` with a command that only looks.
pub(crate) fn redis(call: &mut Call<'_, '_>) {
    let Some(found) = call.read("-h: -p: -n: --no-raw --raw --version -v", call.args, true) else { return };
    if found.has("--version") || found.has("-v") {
        return;
    }
    let rest = call.args.get(found.read..).unwrap_or(&[]);
    let verb = rest.first().map_or("", Value::text).to_ascii_uppercase();
    let looks = matches!(
        verb.as_str(),
        "PING"
            | "INFO"
            | "DBSIZE"
            | "LASTSAVE"
            | "TIME"
            | "ROLE"
            | "TTL"
            | "TYPE"
            | "EXISTS"
            | "STRLEN"
            | "LLEN"
            | "SCARD"
            | "HLEN"
            | "ZCARD"
    );
    let sub = rest.get(1).map_or("", Value::text).to_ascii_uppercase();
    let pairs = matches!(
        (verb.as_str(), sub.as_str()),
        ("MEMORY", "STATS" | "USAGE")
            | ("SLOWLOG", "GET" | "LEN")
            | ("CLIENT", "LIST")
            | ("LATENCY", "LATEST")
            | ("CLUSTER", "INFO")
    );
    if !(looks || pairs) || rest.iter().any(|arg| arg.exact.is_none()) {
        call.mutating("`redis-cli` with something else than looking");
    }
    call.need(Need::Network);
    let host = found
        .options
        .iter()
        .find(|(name, _)| name == "-h")
        .map_or(Some("127.0.0.1".to_owned()), |(_, value)| value.clone());
    let place = Value::exact("", call.place.0, call.place.1);
    if host.is_none() {
        call.mutating("reaches an address that only running tells");
    }
    call.note(host, port_of(&found, &["-p"]).or(Some(6379)), &place);
}

/// The port that one of these options names.
fn port_of(found: &Arguments<'_>, names: &[&str]) -> Option<u16> {
    let (_, value) = found.options.iter().find(|(name, _)| names.contains(&name.as_str()))?;
    value.as_deref()?.parse().ok()
}

/// `hostname`: an operand sets it.
pub(crate) fn hostname(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read(
        "-s -f -d -i -I -A -y --short --fqdn --long --domain --ip-address --all-ip-addresses --all-fqdns",
        call.args,
        false,
    ) {
        call.operands(Operands::None, &found.operands);
        if ["-f", "-d", "-i", "-A", "--fqdn", "--long", "--domain", "--ip-address", "--all-fqdns"]
            .iter()
            .any(|name| found.has(name))
        {
            call.need(Need::Network);
        }
    }
}

/// `mount`: only without operands.
pub(crate) fn mount(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read("-l -v -t:", call.args, false) {
        call.operands(Operands::None, &found.operands);
    }
}

/// `sysctl`: `=` sets.
pub(crate) fn sysctl(call: &mut Call<'_, '_>) {
    if let Some(found) =
        call.read("-a -n -e -N -b -A -X --all --values --names --ignore --pattern= -r:", call.args, false)
    {
        call.operands(Operands::Without('='), &found.operands);
    }
}

/// `ulimit`: a number sets.
pub(crate) fn ulimit(call: &mut Call<'_, '_>) {
    if let Some(found) =
        call.read("-a -S -H -n -u -c -d -f -l -m -s -t -v -x -i -q -r -e -b", call.args, false)
    {
        call.operands(Operands::None, &found.operands);
    }
}

/// `umask`: an operand sets.
pub(crate) fn umask(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read("-S -p", call.args, false) {
        call.operands(Operands::None, &found.operands);
    }
}

/// `kill -l` lists signals; `kill -0` only asks.
pub(crate) fn kill(call: &mut Call<'_, '_>) {
    let asks = matches!(call.args, [option, pids @ ..] if option.is("-0") && pids.iter().all(|pid| pid.number || pid.exact.is_none() && !pid.many && !pid.option));
    let lists = matches!(call.args, [option] | [option, _] if option.is("-l") || option.is("-L"));
    if !(asks || lists) {
        call.mutating("`kill` sends a signal");
    }
}

/// `less`, `more`: `+` runs commands of the pager, `-o` writes.
pub(crate) fn pager(call: &mut Call<'_, '_>) {
    if let Some(found) = call.read("-R -S -N -F -X -E -e -i -I -n -r -s", call.args, false)
        && let Some(arg) = found.operands.iter().find(|arg| {
            arg.exact.as_deref().unwrap_or(&arg.prefix).starts_with('+')
                || arg.exact.is_none() && arg.many && arg.prefix.is_empty()
        })
    {
        call.lift_at(Class::Mutating, arg, "could be a command of the pager");
    }
}
