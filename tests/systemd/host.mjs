// A host with a booted systemd: a root file system of Debian that is made once, booted in systemd-nspawn. Nothing is
// asked again and again: booting ends with a file in a watched folder, and the host's end is the end of a process.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const units = path.join(here, "units");

/// What booting and ending may take before the test gives up.
const WITHIN_MS = 90_000;

/// Says why nothing can be tested here, loudly, and ends well: not every machine may boot hosts.
export function notTested(reason) {
  console.log(`\n  !!! NOT TESTED: skills on a booted systemd: ${reason} !!!\n`);
  process.exit(0);
}

function has(program) {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

/// The root file system, made if it isn't there yet.
export function rootFileSystem(cache) {
  if (process.getuid() !== 0) notTested("it needs root");
  for (const [program, pack] of [["systemd-nspawn", "systemd-container"], ["mmdebstrap", "mmdebstrap"], ["nsenter", "util-linux"]]) {
    if (!has(program)) notTested(`Debian's package ${pack} is not installed`);
  }
  const root = path.join(cache, "root");
  if (fs.existsSync(root)) return root;
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
  return root;
}

/// Waits for an event, but not for ever.
async function within(what, event) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${WITHIN_MS / 1000} s`)), WITHIN_MS);
  });
  try {
    return await Promise.race([event, late]);
  } finally {
    clearTimeout(timer);
  }
}

/// This machine can't boot hosts at all.
export class CannotBoot extends Error {}

export class Host {
  #pid1;
  #nspawn;
  #said = "";

  constructor(root, edge) {
    this.root = root;
    this.edge = edge;
    this.name = `steadyhand-test-${process.pid}`;
    // Kept over reboots, unlike everything else on the host.
    this.state = fs.mkdtempSync(path.join(os.tmpdir(), "steadyhand-host-"));
    fs.chmodSync(this.state, 0o755);
  }

  /// Boots and waits for the end of booting.
  async boot() {
    const ready = path.join(this.state, "ready");
    fs.rmSync(ready, { force: true });
    const system = "/etc/systemd/system";
    this.#nspawn = spawn(
      "systemd-nspawn",
      ["-q", "-D", this.root, `--machine=${this.name}`, `--hostname=${this.name}`, "--boot", "--register=no", "--keep-unit",
        "--volatile=overlay", "--private-network", "--console=pipe", `--bind-ro=${this.edge}:/opt/steadyhand-edge`,
        `--bind-ro=${units}:/run/test-units`, `--bind=${this.state}:/run/steady-state`,
        `--bind-ro=${path.join(units, "steady-ready.service")}:${system}/steady-ready.service`,
        // Not a file below `.wants`: systemd takes only links there.
        `--bind-ro=${path.join(units, "wants-ready.conf")}:${system}/multi-user.target.d/wants-ready.conf`],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    this.ended = once(this.#nspawn, "exit");
    for (const stream of [this.#nspawn.stdout, this.#nspawn.stderr]) stream.on("data", (data) => (this.#said += data));
    const watch = new AbortController();
    const booted = (async () => {
      for await (const { filename } of fs.promises.watch(this.state, { signal: watch.signal })) {
        if (filename === "ready") return "ready";
      }
    })().catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
    try {
      const first = await within("the end of booting", Promise.race([booted, this.ended]));
      if (first !== "ready") throw new Error("systemd-nspawn ended");
    } catch (error) {
      this.#pid1 = this.#init();
      const said = `${error.message}; systemd-nspawn said: ${this.#said.trim().split("\n").slice(-3).join(" | ")}`;
      // A machine that gets as far as an init system can boot hosts: then it is a fault, not something untested.
      if (this.#pid1) throw new Error(said);
      throw new CannotBoot(said);
    } finally {
      watch.abort();
    }
    this.#pid1 = this.#init();
    // Returns when no job is left; "degraded" is as good as "running" here.
    this.inside("systemctl", "is-system-running", "--wait");
    this.must("sh", "-c", "mkdir -p /run/systemd/system && cp /run/test-units/steady-[!r]* /run/test-units/steady-re[!a]* /run/systemd/system/ && systemctl daemon-reload");
  }

  /// The host's process 1, if it has come that far.
  #init() {
    if (this.#nspawn.exitCode !== null || this.#nspawn.signalCode !== null) return undefined;
    const children = fs.readFileSync(`/proc/${this.#nspawn.pid}/task/${this.#nspawn.pid}/children`, "utf8");
    return children.trim().split(" ").find((pid) => pid && fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "systemd");
  }

  /// The words that enter the host.
  #enter(...words) {
    return ["-t", this.#pid1, "-m", "-u", "-i", "-n", "-p", "-C", ...words];
  }

  inside(...words) {
    return spawnSync("nsenter", this.#enter(...words), { encoding: "utf8" });
  }

  /// Starts something on the host without waiting for it.
  start(...words) {
    return spawn("nsenter", this.#enter(...words), { stdio: ["ignore", "pipe", "pipe"] });
  }

  must(...words) {
    const done = this.inside(...words);
    assert.equal(done.status, 0, `${words.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /// The words that run a skill as the host's owner does. `as` goes before, and gets a folder of its own.
  skillWords(key, params = {}, { as = [], timeout = "60s" } = {}) {
    const words = Object.entries(params).flatMap(([name, value]) => [
      "--param",
      `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`,
    ]);
    const dir = as.length ? "/tmp/edge-nobody" : "/run/steady-state/edge";
    return [...as, "/opt/steadyhand-edge", "--config", "/run/steady-state/edge.toml", "--dir", dir, "skills", "run", key, "--local",
      "--timeout", timeout, ...words];
  }

  /// Runs a skill and returns its report.
  skill(key, params, options) {
    const done = this.inside(...this.skillWords(key, params, options));
    try {
      return JSON.parse(done.stdout);
    } catch {
      throw new Error(`${key} printed no JSON: ${done.stdout} ${done.stderr}`);
    }
  }

  /// Runs a skill, which must succeed, and returns its result.
  result(key, params, options) {
    const report = this.skill(key, params, options);
    assert.equal(report.state, "succeeded", JSON.stringify(report));
    return report.result;
  }

  configure(text) {
    fs.writeFileSync(path.join(this.state, "edge.toml"), text);
  }

  /// Waits for the host's end.
  async down() {
    await within("the end of the host", this.ended);
  }

  async stop() {
    const runs = this.#nspawn && this.#nspawn.exitCode === null && this.#nspawn.signalCode === null;
    if (runs && this.#pid1) {
      execFileSync("kill", ["-s", "RTMIN+4", this.#pid1]);
      try {
        await this.down();
      } catch {
        // The end of its process 1 ends everything on the host, and then systemd-nspawn.
        execFileSync("kill", ["-s", "KILL", this.#pid1]);
        await this.ended;
      }
    } else if (runs) {
      this.#nspawn.kill("SIGKILL");
    }
    fs.rmSync(this.state, { recursive: true, force: true });
  }
}

/// Runs a script on a host without an init system: the same root file system, a process namespace of its own. The
/// script finds the edge as `/tmp/edge`.
export function withoutInit(root, edge, script) {
  const setUp = `mount -t tmpfs tmpfs "$0/tmp" && mount -t proc proc "$0/proc" && cp "$1" "$0/tmp/edge" && exec chroot "$0" /bin/sh -c "$2"`;
  return spawnSync("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", setUp, root, edge, script], { encoding: "utf8" });
}
