// The unit that is shipped, as it is: whether systemd takes it, the edge runs under it, and its restrictions leave the
// skills and the sandbox what they need.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "./host.mjs";

const shippedUnit = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../deploy/systemd/steadyhand-edge.service");

/// The manager's program, where it was built.
function managerProgram() {
  const folder = process.env.STEADYHAND_BIN_DIR ?? path.join(process.env.CARGO_TARGET_DIR ?? "target", "debug");
  const program = path.resolve(folder, "steadyhand");
  return fs.existsSync(program) ? program : undefined;
}

export async function shipped(host, { check }) {
  const unit = fs.readFileSync(shippedUnit, "utf8");
  const install = (name, text) => {
    fs.writeFileSync(path.join(host.state, name), text);
    host.must("install", "-m", "644", `/run/steady-state/${name}`, `/etc/systemd/system/${name}`);
    host.must("systemctl", "daemon-reload");
  };
  host.must("install", "-D", "/opt/steadyhand-edge", "/usr/bin/steadyhand-edge");
  install("steadyhand-edge.service", unit);

  /// Runs a skill under everything that the unit restricts, and returns its report.
  const restricted = (key, params = {}) => {
    const quoted = host.skillWords(key, params).map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    fs.writeFileSync(path.join(host.state, "restricted.sh"), `exec ${quoted}\n`);
    const once = unit
      .replace(/^Type=.*$/m, "Type=oneshot")
      .replace(/^ExecStart=.*$/m, "ExecStart=/bin/sh /run/steady-state/restricted.sh\nStandardOutput=truncate:/run/steady-state/restricted.out")
      .replace(/^(Restart|RestartSec|ExecReload|ConditionPathExists)=.*\n/gm, "");
    assert.ok(once.includes("ProtectSystem=strict") && !once.includes("/usr/bin/steadyhand-edge run"));
    install("steady-restricted.service", once);
    const done = host.inside("systemctl", "start", "steady-restricted.service");
    const text = fs.readFileSync(path.join(host.state, "restricted.out"), "utf8");
    try {
      return JSON.parse(text);
    } catch {
      const log = host.inside("journalctl", "-u", "steady-restricted", "-n", "5", "-o", "cat", "--no-pager").stdout;
      throw new Error(`${key} printed no JSON: ${text} ${done.stderr} ${log}`);
    }
  };
  const good = (report) => {
    assert.equal(report.state, "succeeded", JSON.stringify(report));
    return report.result;
  };

  await check("systemd finds nothing wrong with the shipped unit, and won't start it without a configuration", () => {
    const said = host.inside("systemd-analyze", "verify", "--man=no", "/etc/systemd/system/steadyhand-edge.service");
    assert.equal(`${said.status} ${said.stdout}${said.stderr}`.trim(), "0");
    host.must("systemctl", "start", "steadyhand-edge");
    assert.equal(host.must("systemctl", "show", "-P", "ConditionResult", "steadyhand-edge").trim(), "no");
  });
  await check("a safe command runs under the unit's restrictions, held as well as without them", () => {
    const command = "id -u; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; ls / | wc -l; for f in /etc/passwd; do wc -l \"$f\"; done 2>/dev/null | sort";
    const without = host.result("bash", { command });
    const within = good(restricted("bash", { command }));
    assert.deepEqual([within.class, within.exit_code, within.stderr], ["safe", 0, ""]);
    assert.equal(within.sandbox, without.sandbox);
    assert.equal(within.stdout, without.stdout);
    assert.match(within.stdout, /^65534\n(.*\n)*CapEff:\s+0+\n/);
    // A limit that holds without the unit's own group must hold in it.
    const weaker = (result) => (result.notes ?? []).filter((note) => /limit/.test(note)).length;
    assert.ok(weaker(within) <= weaker(without), JSON.stringify([within.notes, without.notes]));
  });
  await check("a safe command that needs a socket, and one that is held to nothing, are as without the unit", () => {
    for (const command of ["systemctl is-active dbus.socket", "journalctl -n 1 -o cat --no-pager | wc -l", "ps -e | wc -l", "du -s /tmp", "df /"]) {
      const [without, within] = [host.skill("bash", { command }), restricted("bash", { command })];
      assert.deepEqual([within.state, within.class, within.result?.exit_code, within.result?.stderr, within.result?.sandbox],
        [without.state, without.class, without.result?.exit_code, without.result?.stderr, without.result?.sandbox], `${command}: ${JSON.stringify(within)}`);
      assert.equal(within.state, "succeeded", `${command}: ${JSON.stringify(within)}`);
    }
    // Nothing can be written, whatever the command turns out to be.
    const report = restricted("bash", { command: "touch /run/steady-state/written" });
    assert.notEqual(report.class, "safe");
  });
  await check("the skills that look can do under the unit what they can without it", () => {
    host.shell("install -m 600 /dev/null /var/log/closed && echo closed >>/var/log/closed && chown 1000 /var/log/closed && mkdir -p /home/somebody && chmod 700 /home/somebody && echo x >/home/somebody/notes && ip netns add green");
    host.must("systemctl", "start", "steady-ok");
    assert.deepEqual(good(restricted("tail_file", { path: "/var/log/closed" })).lines, ["closed"]);
    assert.equal(good(restricted("read_file", { path: "/home/somebody/notes" })).content, "x\n");
    assert.equal(good(restricted("service_status", { service: "steady-ok" })).units[0].state, "active");
    // Not by boot: of a machine in systemd-nspawn ProtectKernelTunables shows the boot id of the one around it.
    const journal = good(restricted("read_journal", { since: "1h", lines: 5 }));
    assert.equal(journal.entries.length, 5, JSON.stringify(journal));
    const processes = good(restricted("host_processes", { sort_by: "fds", top_n: 200 }));
    assert.ok(processes.processes.every((one) => one.open_files !== undefined || one.command.startsWith("[")), JSON.stringify(processes.notes));
    assert.ok(processes.processes.some((one) => one.pid === 1));
    const sockets = good(restricted("host_sockets", { state: "listening" }));
    assert.deepEqual(sockets.notes, host.result("host_sockets", { state: "listening" }).notes);
    const load = good(restricted("host_load"));
    assert.equal(load.memory.total, host.result("host_load").memory.total);
    assert.deepEqual(good(restricted("host_netns_inspect", { namespace: "green" })).namespaces.length, 1);
    assert.equal(good(restricted("probe_ping", { host: "127.0.0.1", count: 1 })).received, 1);
    assert.ok(good(restricted("host_files", { action: "du", paths: '["/var/log"]' })).complete);
    host.must("ip", "netns", "del", "green");
  });
  await check("a service restarts under the unit; what it may not write is refused in words", () => {
    const { result } = restricted("restart_service", { service: "steady-ok", reason: "a test", verify_seconds: 0 });
    assert.equal(result?.state_after.state, "active");
    const report = restricted("write_file", { path: "/srv/x", content: "x" });
    assert.notEqual(report.state, "succeeded");
    assert.match(report.error, /read-only/i);
  });

  const manager = managerProgram();
  if (!manager) {
    console.log("\n  !!! NOT TESTED: the shipped unit with a manager: `steadyhand` is not built !!!\n");
    return;
  }
  const config = path.join(host.state, "manager.toml");
  fs.writeFileSync(config, `[http]\nlisten = "127.0.0.1:0"\n[tunnel]\nlisten = "127.0.0.1:0"\n[storage]\ndir = "${host.state}/manager"\n[chat]\naccess_mode = "all-users"\n`);
  const serving = host.startBeside(manager, "serve", "--config", config);
  const tunnel = await within("the start of the manager", addressOf(serving));
  const call = (key, params = {}, more = []) => {
    const words = Object.entries(params).flatMap(([name, value]) => ["--param", `${name}=${value}`]);
    const done = host.beside(manager, "call", key, "--edge", "shipped", "--json", "--config", config, ...more, ...words);
    assert.equal(done.status, 0, `${key}: ${done.stderr}`);
    return JSON.parse(done.stdout);
  };
  await check("the shipped unit starts, joins its manager, and runs what that asks for", () => {
    const token = host.beside(manager, "enroll-token", "create", "--config", config).stdout.trim();
    host.must("steadyhand-edge", "enroll", "--manager", tunnel, "--token", token, "--name", "shipped");
    host.must("systemctl", "start", "steadyhand-edge");
    assert.equal(call("host_load", {}, ["--wait-online", "20"]).result.hostname, host.name);
    const ran = call("bash", { command: "id -u; ls /etc/passwd" });
    assert.equal(ran.result.stdout, "65534\n/etc/passwd\n");
    assert.equal(ran.result.class, "safe");
    assert.ok(call("host_processes", { name: "steadyhand-edge" }).result.processes.some((one) => one.unit === "steadyhand-edge.service"));
    assert.equal(host.must("stat", "-c", "%a", "/var/lib/steadyhand-edge").trim(), "700");
  });
  await check("it reloads, restarts and stops cleanly, and leaves no process behind", () => {
    const pid = () => host.must("systemctl", "show", "-P", "MainPID", "steadyhand-edge").trim();
    const before = pid();
    host.must("systemctl", "reload", "steadyhand-edge");
    assert.equal(call("host_load").state, "succeeded");
    assert.equal(pid(), before);
    host.must("systemctl", "restart", "steadyhand-edge");
    assert.equal(call("host_load", {}, ["--wait-online", "20"]).state, "succeeded");
    assert.notEqual(pid(), before);
    const doctor = host.must("steadyhand-edge", "doctor");
    assert.ok(!doctor.includes("WRONG"), doctor);
    const begun = performance.now();
    host.must("systemctl", "stop", "steadyhand-edge");
    assert.ok(performance.now() - begun < 10_000);
    assert.equal(host.must("systemctl", "show", "-P", "Result", "steadyhand-edge").trim(), "success");
    assert.notEqual(host.inside("pgrep", "-f", "steadyhand-edge run").status, 0);
    const log = host.must("journalctl", "-u", "steadyhand-edge", "-o", "cat", "--no-pager");
    assert.doesNotMatch(log, /panic|Permission denied|Operation not permitted|Read-only file system/i);
  });
  serving.kill("SIGTERM");
}

/// Reads where the manager serves. It says so on standard output once it does.
async function addressOf(serving) {
  let errors = "";
  serving.stderr.on("data", (data) => (errors += data));
  let text = "";
  for await (const data of serving.stdout) {
    text += data;
    const tunnel = /^tunnel: (\S+)$/m.exec(text);
    if (tunnel && /^console: .*\n/m.test(text)) {
      serving.stdout.resume();
      return tunnel[1];
    }
  }
  throw new Error(`the manager ended: ${errors.slice(-1000)}`);
}
