// The manager's unit that is shipped, as it is, and with the drop-in for packs: whether systemd takes them, the manager
// serves under them, and programs of packs are held as well as without systemd.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const deploy = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../deploy/systemd");

/// A pack beside the manager that tells what its program can do.
const SCRIPT = `#!/bin/sh
read=false
cat /var/lib/private/steadyhand/master.key /var/lib/steadyhand/master.key >/dev/null 2>&1 && read=true
wrote=false
( : >/var/lib/steadyhand/written ) 2>/dev/null && wrote=true
printf '{"read":%s,"wrote":%s,"capabilities":"%s"}' $read $wrote "$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)"
`;
const MANIFEST = {
  name: "beside",
  version: "1.0.0",
  description: "A pack of a test.",
  entry: "run",
  skills: [{ key: "beside_look", name: "Look", description: "Looks.", class: "safe", scope: "manager", params: { type: "object", properties: {} } }],
};
const PASSWORD = "a long password of a test";

/// The manager's program without what debuggers want, which is most of it.
function program(host) {
  const folder = process.env.STEADYHAND_BIN_DIR ?? path.join(process.env.CARGO_TARGET_DIR ?? "target", "debug");
  const built = path.resolve(folder, "steadyhand");
  if (!fs.existsSync(built)) return undefined;
  const stripped = path.join(host.state, "steadyhand");
  const done = spawnSync("strip", ["-o", stripped, built], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return "/run/steady-state/steadyhand";
}

export async function manager(host, { check }) {
  const binary = program(host);
  if (!binary) {
    console.log("\n  !!! NOT TESTED: the manager's shipped unit: `steadyhand` is not built !!!\n");
    return;
  }
  host.must("install", "-m", "755", binary, "/usr/bin/steadyhand");
  const put = (text, place, mode = "644") => {
    fs.writeFileSync(path.join(host.state, "put"), text);
    host.must("install", "-D", "-m", mode, "/run/steady-state/put", place);
  };
  put(fs.readFileSync(path.join(deploy, "steadyhand.service"), "utf8"), "/etc/systemd/system/steadyhand.service");
  put(
    '[http]\nlisten = "127.0.0.1:7180"\n[tunnel]\nlisten = "127.0.0.1:7443"\n[storage]\ndir = "/var/lib/steadyhand"\n[packs]\ndirs = ["/etc/steadyhand/packs"]\n',
    "/etc/steadyhand/steadyhand.toml",
  );
  put(JSON.stringify(MANIFEST), "/etc/steadyhand/packs/beside/skill.json");
  put(SCRIPT, "/etc/steadyhand/packs/beside/run", "755");
  host.must("systemctl", "daemon-reload");

  let since = "";
  /// Starts it and returns what it said until it served.
  const start = () => {
    since = host.must("date", "+%s").trim();
    host.must("systemctl", "restart", "steadyhand");
    // The journal is followed until the line is there; when it doesn't come, the program that runs this gives up.
    return host.must("bash", "-c",
      `sed '/^console: /q' <(exec journalctl -u steadyhand -f -n all -o cat --since=@${since} 2>/dev/null)`);
  };
  const api = (method, where, body, csrf = "") => {
    const words = ["-sS", "--fail-with-body", "-b", "/run/steady-state/jar", "-c", "/run/steady-state/jar", "-X", method, "-H", `x-steadyhand-csrf: ${csrf}`];
    if (body) words.push("-H", "content-type: application/json", "-d", JSON.stringify(body));
    return JSON.parse(host.must("curl", ...words, `http://127.0.0.1:7180/api/v1${where}`));
  };
  const call = (key) => JSON.parse(host.inside("steadyhand", "call", key, "--json", "--config", "/etc/steadyhand/steadyhand.toml").stdout);
  let csrf = "";

  await check("systemd finds nothing wrong with the manager's unit, and the manager serves under it", () => {
    const said = host.inside("systemd-analyze", "verify", "--man=no", "/etc/systemd/system/steadyhand.service");
    assert.equal(`${said.status} ${said.stdout}${said.stderr}`.trim(), "0");
    const first = /^first password for admin: (\S+)$/m.exec(start())?.[1];
    assert.ok(first, "no first password");
    csrf = api("POST", "/sign-in", { name: "admin", password: first }).csrf_token;
    csrf = api("POST", "/me/password", { current: first, new: PASSWORD }, csrf).csrf_token;
    assert.equal(call("query_edges").state, "succeeded");
    const [pid] = host.must("systemctl", "show", "-P", "MainPID", "steadyhand").trim().split("\n");
    const status = host.must("cat", `/proc/${pid}/status`);
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.doesNotMatch(status, /^Uid:\s+0\s/m);
    assert.equal(host.must("stat", "-c", "%a", "/var/lib/private/steadyhand").trim(), "700");
  });
  await check("without the drop-in nothing can hold a pack's program, so that even a safe skill waits for a person", () => {
    const pack = api("GET", "/packs").items.find((one) => one.name === "beside");
    assert.equal(pack?.state, "waiting", JSON.stringify(pack));
    assert.equal(api("POST", `/packs/${pack.pin}/accept`, {}, csrf).state, "accepted");
    const asked = api("POST", "/calls", { tool: "beside_look", args: {}, wait: false }, csrf);
    assert.equal(asked.state, "awaiting_approval", JSON.stringify(asked));
    api("POST", `/calls/${asked.id}/cancel`, {}, csrf);
  });
  await check("with the drop-in a safe pack's program runs, held, and sees neither key nor a place to write", () => {
    put(fs.readFileSync(path.join(deploy, "steadyhand.service.d/packs.conf.example"), "utf8"), "/etc/systemd/system/steadyhand.service.d/packs.conf");
    host.must("systemctl", "daemon-reload");
    start();
    csrf = api("POST", "/sign-in", { name: "admin", password: PASSWORD }).csrf_token;
    const done = call("beside_look");
    assert.equal(done.state, "succeeded", JSON.stringify(done));
    assert.deepEqual(done.result, { read: false, wrote: false, capabilities: "0000000000000000" });
    assert.match(done.sandbox, /read_only/);
  });
  await check("it reloads, notices a changed pack, and stops cleanly", () => {
    put(SCRIPT.replace("false", "true"), "/etc/steadyhand/packs/beside/run", "755");
    host.must("systemctl", "reload", "steadyhand");
    // The reload is answered before it is done; the call that needs the pack is refused before and after.
    assert.equal(call("query_edges").state, "succeeded");
    host.must("systemctl", "stop", "steadyhand");
    assert.equal(host.must("systemctl", "show", "-P", "Result", "steadyhand").trim(), "success");
    const log = host.must("journalctl", "-u", "steadyhand", "-o", "cat", "--no-pager", `--since=@${since}`);
    assert.doesNotMatch(log, /panic|Operation not permitted|Read-only file system/i);
  });
}
