// service_status and read_journal on a real, booted systemd: a root file system that is made once, booted in
// systemd-nspawn, and the edge's own command line inside.
//
// usage: node run.mjs EDGE_BINARY CACHE_FOLDER
import { execFileSync, spawn, spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [edge, cache] = process.argv.slice(2).map((word) => path.resolve(word));
const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(cache, "root");

function notTested(reason) {
  console.log(`\n  !!! NOT TESTED: service_status and read_journal on a booted systemd: ${reason} !!!\n`);
  process.exit(0);
}

function has(program) {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

if (process.getuid() !== 0) notTested("it needs root");
for (const [program, pack] of [["systemd-nspawn", "systemd-container"], ["mmdebstrap", "mmdebstrap"], ["nsenter", "util-linux"]]) {
  if (!has(program)) notTested(`Debian's package ${pack} is not installed`);
}

if (!fs.existsSync(root)) {
  console.log("  making a root file system of Debian 12 (once, about 170 MB)");
  const unfinished = `${root}.unfinished`;
  fs.rmSync(unfinished, { recursive: true, force: true });
  fs.mkdirSync(cache, { recursive: true });
  const made = spawnSync(
    "mmdebstrap",
    ["--quiet", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,procps,iproute2,curl", "bookworm", unfinished],
    { encoding: "utf8" },
  );
  if (made.status !== 0) notTested(`mmdebstrap failed: ${made.stderr.trim().split("\n").at(-1)}`);
  fs.writeFileSync(path.join(unfinished, "etc/machine-id"), "");
  fs.rmSync(path.join(unfinished, "etc/hostname"), { force: true });
  fs.renameSync(unfinished, root);
}

const name = `steadyhand-test-${process.pid}`;
const nspawn = spawn(
  "systemd-nspawn",
  ["-q", "-D", root, `--machine=${name}`, `--hostname=${name}`, "--boot", "--register=no", "--keep-unit", "--volatile=overlay",
    "--private-network", "--console=pipe", `--bind-ro=${edge}:/opt/steadyhand-edge`, `--bind-ro=${path.join(here, "units")}:/run/test-units`],
  { stdio: ["ignore", "pipe", "pipe"] },
);
let said = "";
nspawn.stdout.on("data", (data) => (said += data));
nspawn.stderr.on("data", (data) => (said += data));
let ended = false;
nspawn.on("exit", () => (ended = true));

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Asks again until there is an answer.
async function eventually(what, ask) {
  const limit = Date.now() + 60_000;
  while (Date.now() < limit && !ended) {
    const answer = ask();
    if (answer) return answer;
    await pause(50);
  }
  throw new Error(`${what} did not happen; systemd-nspawn said: ${said}`);
}

function init() {
  const children = `/proc/${nspawn.pid}/task/${nspawn.pid}/children`;
  const pids = fs.existsSync(children) ? fs.readFileSync(children, "utf8").trim().split(" ") : [];
  return pids.find((pid) => pid && fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "systemd");
}

let pid1;
const inside = (...words) => spawnSync("nsenter", ["-t", pid1, "-m", "-u", "-i", "-n", "-p", "-C", ...words], { encoding: "utf8" });
function must(...words) {
  const done = inside(...words);
  assert.equal(done.status, 0, `${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/// Runs a skill as the host's owner does.
function skill(key, params = {}, as = []) {
  const words = Object.entries(params).flatMap(([name, value]) => ["--param", `${name}=${value}`]);
  const done = inside(...as, "/opt/steadyhand-edge", "--dir", as.length ? "/tmp/edge-nobody" : "/tmp/edge", "skills", "run", key, "--local", ...words);
  try {
    return JSON.parse(done.stdout);
  } catch {
    throw new Error(`${key} printed no JSON: ${done.stdout} ${done.stderr}`);
  }
}
function result(key, params, as) {
  const report = skill(key, params, as);
  assert.equal(report.state, "succeeded", JSON.stringify(report));
  return report.result;
}

let failures = 0;
async function check(sentence, body) {
  try {
    await body();
    console.log(`  ok   ${sentence}`);
  } catch (error) {
    failures += 1;
    console.log(`  FAIL ${sentence}\n       ${error.stack ?? error}`);
  }
}

try {
  try {
    pid1 = await eventually("a start of systemd", init);
  } catch (error) {
    notTested(error.message);
  }
  await eventually("the end of booting", () => /running|degraded/.test(inside("systemctl", "is-system-running").stdout));
  must("sh", "-c", "mkdir -p /run/systemd/system && cp /run/test-units/*.service /run/systemd/system/ && systemctl daemon-reload");
  must("systemctl", "start", "steady-ok");
  inside("systemctl", "start", "steady-failing");
  await eventually("the failing service giving up", () => inside("systemctl", "is-failed", "steady-failing").stdout.trim() === "failed");

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
    await eventually("both entries", () => result("read_journal", { cursor, grep: "after$" }).entries.length === 2);
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
    await eventually("the entry", () => result("read_journal", { grep: "^odd" }).entries.length === 1);
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
    const report = skill("read_journal", { boot: "0" }, nobody);
    const words = `${report.error ?? ""} ${(report.result?.notes ?? []).join(" ")}`;
    assert.match(words, /systemd-journal/, JSON.stringify(report));
    assert.equal(result("service_status", { service: "steady-ok" }, nobody).units[0].state, "active");
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
} finally {
  if (pid1 && !ended) execFileSync("kill", ["-s", "RTMIN+4", pid1]);
  const limit = Date.now() + 20_000;
  while (!ended && Date.now() < limit) await pause(50);
  if (!ended) nspawn.kill("SIGKILL");
}
process.exit(failures === 0 ? 0 : 1);
