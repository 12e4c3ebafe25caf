// Process tables that are long, that change while they are read, and what `ps` says of the same.
import assert from "node:assert/strict";

const reason = "a test";

/// Processes of the crowd.
const MANY = 5000;

/// What a look at a long process table may take, the half second of measuring included.
const QUICK_MS = 10_000;

/// Starts a unit and returns when its main process has ended; what that has started goes on.
function leaves(host, unit, script) {
  host.must("systemd-run", "--quiet", `--unit=${unit}`, "--service-type=oneshot", "--remain-after-exit", "-p", "TasksMax=infinity",
    "-p", "StandardError=journal", "perl", "-e", script);
}

function ends(host, unit) {
  host.inside("systemctl", "kill", "--signal=KILL", unit);
  host.must("systemctl", "stop", unit);
}

export async function many(host, { check }) {
  const list = (params) => host.skill("host_processes", params);

  await check("what is told of a process agrees with ps", () => {
    host.must("systemctl", "start", "steady-ok");
    const { processes } = host.result("host_processes", { name: "sleep infinity", top_n: 50 });
    const told = processes.find((one) => one.unit === "steady-ok.service" && one.name === "sleep");
    const ps = (columns) => host.must("ps", "-o", columns, "-p", String(told.pid)).trim();
    const [ppid, user, rss, threads, state] = ps("ppid=,user=,rss=,nlwp=,state=").split(/\s+/);
    assert.deepEqual([told.parent_pid, told.user, told.threads], [Number(ppid), user, Number(threads)]);
    // The kernel sums up pages for each processor, and tells one reader more exactly than the other.
    assert.ok(Math.abs(told.memory_bytes - Number(rss) * 1024) <= 512 * 1024, `${told.memory_bytes}, ${rss} KiB`);
    assert.equal(told.command, ps("args="));
    assert.equal(state, "S");
    assert.match(told.state, /sleep/i);
    assert.ok(Math.abs(told.age_seconds - Number(ps("etimes="))) <= 2);
    assert.equal(told.start_time, Number(host.must("cut", "-d", " ", "-f", "22", `/proc/${told.pid}/stat`)));
  });
  await check(`a host with ${MANY} more processes is looked at quickly, and all of them are counted`, () => {
    leaves(host, "steady-crowd", `for (1 .. ${MANY}) { my $child = fork; defined $child or die "fork $_: $!"; if (!$child) { $0 = "steady-crowd-$_"; sleep 3600; exit } }`);
    try {
      for (const sort_by of ["cpu", "fds"]) {
        const report = list({ sort_by, top_n: 200 });
        assert.equal(report.state, "succeeded", JSON.stringify(report).slice(0, 500));
        assert.ok(report.duration_ms < QUICK_MS, `by ${sort_by}: ${report.duration_ms} ms`);
        assert.equal(report.result.processes.length, 200);
        // Some processes of the host come and go.
        const ps = host.must("ps", "-e", "--no-headers").trim().split("\n").length;
        assert.ok(Math.abs(report.result.total - ps) < 20, `${report.result.total} told, ${ps} by ps`);
      }
      const { matched, processes } = list({ name: "steady-crowd-", top_n: 200 }).result;
      // The agent's own command line holds the words too.
      assert.ok(matched >= MANY && matched <= MANY + 3, String(matched));
      const one = processes.find((process) => process.command.startsWith("steady-crowd-"));
      assert.equal(one.unit, "steady-crowd.service");
      const { ended } = host.result("kill_process", { pid: one.pid, start_time: one.start_time, reason });
      assert.equal(ended, true);
    } finally {
      ends(host, "steady-crowd");
    }
  });
  await check("processes that vanish while they are read are no trouble", () => {
    // A few hundred at a time, each gone within moments.
    host.must("systemd-run", "--quiet", "--unit=steady-churn", "-p", "TasksMax=infinity", "perl", "-e",
      "while (1) { for (1 .. 200) { my $child = fork; if (defined $child && !$child) { exit } } 1 while wait() > 0 }");
    try {
      for (const sort_by of ["cpu", "io", "fds"]) {
        const report = list({ sort_by, top_n: 200 });
        assert.equal(report.state, "succeeded", JSON.stringify(report).slice(0, 500));
        assert.ok(report.result.processes.every((one) => one.pid > 0 && one.name && one.user), JSON.stringify(report.result.processes));
        assert.ok(report.duration_ms < QUICK_MS, `${report.duration_ms} ms`);
        assert.ok(!(report.result.notes ?? []).some((note) => /error|failed/i.test(note)), JSON.stringify(report.result.notes));
      }
      const sockets = host.skill("host_sockets", { state: "listening" });
      assert.equal(sockets.state, "succeeded", JSON.stringify(sockets));
    } finally {
      ends(host, "steady-churn");
    }
  });
}
