// Journals as they are on hosts in trouble: huge, damaged, with bytes that are no text and fields that come twice.
import assert from "node:assert/strict";

/// What somebody who waits for an answer puts up with, however large the journal is.
const QUICK_MS = 6000;

/// Entries of the huge journal.
const MANY = 200_000;

/// Entries of the one that is damaged.
const SOME = 20_000;

/// Sends entries as programs with structured logs do, each in a datagram: `count` copies, numbered where it says `#`.
const SEND = `
use Socket;
my ($entry, $count) = @ARGV;
$entry =~ s/\\\\x([0-9a-f]{2})/chr hex $1/ge;
socket(my $journal, AF_UNIX, SOCK_DGRAM, 0) or die;
connect($journal, sockaddr_un("/run/systemd/journal/socket")) or die;
for my $number (1 .. $count) {
  (my $numbered = $entry) =~ s/#/$number/g;
  send($journal, $numbered, 0) or die "$!";
}`;

export async function journal(host, { check }) {
  const send = (entry, count = 1) => host.must("perl", "-e", SEND, entry, String(count));
  const read = (params) => host.result("read_journal", params);
  const quick = (what, body) => {
    const begun = performance.now();
    const answer = body();
    const took = performance.now() - begun;
    assert.ok(took < QUICK_MS, `${what} took ${Math.round(took)} ms`);
    return answer;
  };

  await check("a binary message and repeated fields are read, and colours taken out", () => {
    // A field with its length in front may hold any byte: 14 of them.
    send("SYSLOG_IDENTIFIER=odd-binary\nMESSAGE\n\\x0e\\x00\\x00\\x00\\x00\\x00\\x00\\x00bytes\\x00\\xff\\xfe line2\n");
    send("SYSLOG_IDENTIFIER=odd-repeated\nMESSAGE=the first\nMESSAGE=the second\nPRIORITY=3\nPRIORITY=6\n");
    send("SYSLOG_IDENTIFIER=odd-colours\nMESSAGE=\\x1b[31mred\\x1b[0m alert\\x07\n");
    send("SYSLOG_IDENTIFIER=odd-long\nMESSAGE=" + "long ".repeat(10_000) + "\n");
    send("SYSLOG_IDENTIFIER=odd-empty\nSOMETHING=else\n");
    host.must("journalctl", "--sync");
    const { entries } = read({ since: "5m", lines: 5000 });
    const of = (name) => entries.find((entry) => entry.identifier === `odd-${name}`);
    assert.match(of("binary").message, /^bytes\uFFFD\uFFFD line2$/);
    assert.equal(of("repeated").message, "the first\nthe second");
    assert.equal(of("colours").message, "red alert");
    assert.match(of("long").message, /^long .*…cut, the message has 49999 bytes\]$/s);
    assert.equal(of("empty")?.message, "");
  });
  await check(`a journal of ${MANY} entries is read fast from its end, by unit, from a cursor and from a boot`, () => {
    host.shell("mkdir -p /run/systemd/journald.conf.d && printf '[Journal]\\nStorage=volatile\\nRuntimeMaxUse=1G\\nRateLimitIntervalSec=0\\n' >/run/systemd/journald.conf.d/flood.conf && systemctl restart systemd-journald");
    const { cursor } = read({ lines: 1 });
    send("SYSLOG_IDENTIFIER=flood\nPRIORITY=6\nMESSAGE=flooding # of the many lines that a broken program writes\n", MANY);
    host.must("journalctl", "--sync");
    const last = quick("the last lines", () => read({ lines: 5 }));
    assert.equal(last.entries.length, 5);
    assert.equal(last.more, true);
    const most = quick("5000 lines", () => read({ lines: 5000, since: "1h" }));
    assert.equal(most.entries.length, 5000);
    const boot = quick("the boot", () => read({ boot: "0", lines: 10 }));
    assert.equal(boot.entries.length, 10);
    host.must("systemctl", "start", "steady-once");
    host.must("journalctl", "--sync");
    const unit = quick("a unit", () => read({ unit: "steady-once", boot: "0" }));
    assert.ok(unit.entries.some((entry) => entry.message === "done at once"));
    const onwards = quick("the cursor", () => read({ cursor, lines: 100 }));
    assert.equal(onwards.entries.length, 100);
    assert.ok(onwards.more);
    assert.equal(onwards.entries.find((entry) => entry.identifier === "flood").message.split(" ").slice(0, 2).join(" "), "flooding 1");
  });
  await check("a search through all of it ends, and finds the only line there is", () => {
    const report = host.skill("read_journal", { boot: "0", grep: "flooding 17 of" });
    assert.equal(report.state, "succeeded", JSON.stringify(report).slice(0, 500));
    const { entries, notes = [] } = report.result;
    // A slow machine may give up after its time, but then it says how far it came.
    assert.ok(entries.length === 1 || notes.some((note) => note.includes("the journal is large")), JSON.stringify(report).slice(0, 500));
    assert.ok(report.duration_ms < 30_000, `${report.duration_ms} ms`);
  });
  await check("a damaged and a cut-off journal show what can be read, and say that something is missing", () => {
    host.shell("journalctl --rotate && rm /run/log/journal/*/*@*.journal");
    send("SYSLOG_IDENTIFIER=flood\nPRIORITY=6\nMESSAGE=before # the damage\n", SOME);
    host.must("journalctl", "--sync");
    host.shell(`journalctl --rotate
      files=$(ls -S /run/log/journal/*/*@*.journal)
      first=$(sed -n 1p <<<"$files")
      # The middle of the largest is overwritten; its head stays.
      dd if=/dev/urandom of="$first" bs=4096 seek=256 count=512 conv=notrunc status=none
      second=$(sed -n 2p <<<"$files")
      if [ -n "$second" ]; then truncate -s "$(($(stat -c %s "$second") / 2))" "$second"; fi
      # And one is nothing of the kind.
      head -c 100000 /dev/urandom >"\${first%/*}/user-1000@00000000000000000000000000000000-0000000000000001-0000000000000001.journal"`);
    host.shell("echo after-the-damage | systemd-cat -t steady && journalctl --sync");
    const { entries } = quick("reading", () => read({ lines: 50 }));
    assert.ok(entries.some((entry) => entry.message === "after-the-damage"));
    // Through all of it: whatever is damaged is met.
    const whole = host.skill("read_journal", { boot: "0", grep: "no line says this" });
    assert.equal(whole.state, "succeeded", JSON.stringify(whole));
    assert.deepEqual(whole.result.entries, []);
    assert.match((whole.result.notes ?? []).join(" "), /damaged|large/);
    assert.ok(whole.duration_ms < 30_000, `${whole.duration_ms} ms`);
    host.shell("rm -rf /run/log/journal/*/*@*.journal && systemctl restart systemd-journald");
  });
}
