// The skills that look at systemd and its journal.
import assert from "node:assert/strict";

export async function looking(host, { check }) {
  const result = host.result.bind(host);
  const skill = host.skill.bind(host);
  const must = host.must.bind(host);
  must("systemctl", "start", "steady-ok");
  await host.happens("gave-up", () => host.inside("systemctl", "start", "steady-failing"));

  await check("a running service is told with its process", () => {
    const { units, system_state, notes } = result("service_status", { service: "steady-ok" });
    assert.equal(units[0].name, "steady-ok.service");
    assert.equal(`${units[0].state} ${units[0].sub_state} ${units[0].load_state}`, "active running loaded");
    assert.ok(units[0].main_pid > 1 && units[0].since && units[0].description === "A service that stays up");
    assert.ok(["running", "degraded"].includes(system_state));
    assert.ok(!(notes ?? []).some((note) => note.includes("systemctl")), "it came over D-Bus");
  });
  await check("a failed service is found, with why and its last words", () => {
    const { units, failed_count } = result("service_status", { failed_only: true });
    const unit = units.find((unit) => unit.name === "steady-failing.service");
    assert.ok(failed_count >= 1 && unit, JSON.stringify(units));
    assert.equal(unit.state, "failed");
    assert.match(unit.result, /exit-code|start-limit-hit/);
    assert.equal(unit.last_exit, "exited with code 3");
    assert.ok(unit.restarts >= 2, `restarts: ${unit.restarts}`);
    assert.ok(unit.log.length > 0);
    const whole = result("service_status", { service: "steady-failing" }).units[0];
    assert.ok(whole.log.some((line) => line.message.includes("cannot bind to port 80")));
  });
  await check("all services are listed, those that failed first", () => {
    const { services } = result("service_status");
    assert.equal(services[0].state, "failed");
    assert.ok(services.some((service) => service.name === "steady-ok.service" && service.state === "active"));
  });
  await check("a misspelt service is not found, with near names", () => {
    const report = skill("service_status", { service: "steady-faling" });
    assert.equal(report.error_kind, "not_found");
    assert.match(report.error, /steady-failing\.service/);
  });
  await check("a restart shows", async () => {
    const before = result("service_status", { service: "steady-ok" }).units[0];
    must("systemctl", "restart", "steady-ok");
    const after = result("service_status", { service: "steady-ok" }).units[0];
    assert.notEqual(after.main_pid, before.main_pid);
    assert.ok(after.since > before.since);
  });
  await check("a process knows its unit", () => {
    const { processes } = result("host_processes", { name: "sleep infinity" });
    // The edge's own command line holds the words too.
    const sleeping = processes.find((process) => process.name === "sleep");
    assert.equal(sleeping.unit, "steady-ok.service");
  });
  await check("the journal of a failing service is read", () => {
    const { entries, cursor } = result("read_journal", { unit: "steady-failing" });
    assert.ok(entries.filter((entry) => entry.message === "cannot bind to port 80").length >= 3);
    assert.ok(entries.every((entry, index) => index === 0 || entry.time >= entries[index - 1].time));
    assert.ok(cursor);
  });
  await check("a cursor goes on where reading ended", async () => {
    const { cursor } = result("read_journal", { lines: 1 });
    must("sh", "-c", "echo first-after | systemd-cat -t steady -p warning; echo second-after | systemd-cat -t steady");
    must("journalctl", "--sync");
    assert.equal(result("read_journal", { cursor, grep: "after$" }).entries.length, 2);
    const { entries } = result("read_journal", { cursor, grep: "after$", lines: 1 });
    assert.equal(entries[0].message, "first-after");
    assert.equal(entries[0].priority, "warning");
    assert.equal(entries[0].identifier, "steady");
    const severe = result("read_journal", { cursor, priority: "warning", grep: "after$" }).entries;
    assert.deepEqual(severe.map((entry) => entry.message), ["first-after"]);
  });
  await check("bytes that are no text and repeated fields are read", async () => {
    const odd = ["MESSAGE=odd \\377\\n", "SYSLOG_IDENTIFIER=steady-odd\\n", "PRIORITY=3\\n"].join("");
    must("sh", "-c", `printf '${odd}' | logger --journald`);
    must("journalctl", "--sync");
    assert.equal(result("read_journal", { grep: "^odd" }).entries.length, 1);
    assert.equal(result("read_journal", { grep: "^odd" }).entries[0].message, "odd \uFFFD");
  });
  await check("boots and limits are understood", () => {
    assert.ok(result("read_journal", { boot: "0", lines: 5000 }).entries.length > 10);
    assert.equal(skill("read_journal", { boot: "-7" }).error_kind, "not_found");
    assert.equal(skill("read_journal", { cursor: "nonsense" }).error_kind, "invalid");
    assert.equal(result("read_journal", { boot: "0", lines: 3 }).entries.length, 3);
    assert.equal(result("read_journal", { boot: "0", lines: 3 }).more, true);
    assert.equal(result("read_journal", { since: "2001-01-01", until: "2001-01-02" }).entries.length, 0);
  });
  await check("without permission it says what to do", () => {
    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const report = skill("read_journal", { boot: "0" }, { as: nobody });
    const words = `${report.error ?? ""} ${(report.result?.notes ?? []).join(" ")}`;
    assert.match(words, /systemd-journal/, JSON.stringify(report));
    assert.equal(result("service_status", { service: "steady-ok" }, { as: nobody }).units[0].state, "active");
  });
  await check("without the bus systemctl answers", () => {
    must("systemctl", "stop", "dbus.socket", "dbus.service");
    const { units, notes } = result("service_status", { service: "steady-failing" });
    assert.equal(units[0].state, "failed");
    assert.equal(units[0].last_exit, "exited with code 3");
    assert.ok(units[0].since.startsWith("20"));
    assert.ok(notes.some((note) => note.includes("systemctl")));
    assert.equal(skill("service_status", { service: "steady-faling" }).error_kind, "not_found");
    must("systemctl", "start", "dbus.socket");
  });
}
