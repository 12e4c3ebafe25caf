// A host with a booted systemd: a root file system of Debian that is made once, booted in systemd-nspawn. Nothing is
// asked again and again: booting ends with a file in a watched folder, and the host's end is the end of a process.
import { spawn, spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const units = path.join(here, "units");

/// What booting may take before the test gives up.
const BOOT_WITHIN_MS = 60_000;

/// What anything else may take, unless it says so.
const WITHIN_MS = 30_000;

/// The most that a program on the host may print.
const MAX_BYTES = 64 * 1024 * 1024;

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
export async function within(what, event, limit = WITHIN_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${limit / 1000} s`)), limit);
  });
  try {
    return await Promise.race([event, late]);
  } finally {
    clearTimeout(timer);
  }
}

/// This machine can't boot hosts at all.
export class CannotBoot extends Error {}

/// Returns when a file is in a folder. The kernel tells; the folder is watched before it is looked at.
async function appears(folder, name, limit) {
  const seen = () => fs.existsSync(path.join(folder, name));
  let watch;
  try {
    await within(`the file ${name}`, new Promise((resolve, reject) => {
      watch = fs.watch(folder, () => seen() && resolve());
      watch.on("error", reject);
      if (seen()) resolve();
    }), limit);
  } finally {
    watch.close();
  }
}

/// Hosts that run, so that none outlives the test, whatever ends it.
const running = new Set();
process.on("exit", () => {
  for (const host of running) {
    host.kill();
    fs.rmSync(host.state, { recursive: true, force: true, maxRetries: 5 });
  }
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    console.log(`  ended by ${signal}`);
    process.exit(1);
  });
}

export class Host {
  #pid1;
  #nspawn;
  #said = "";
  #helpers = [];

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
    // If the test itself is killed, the host is told to go down.
    this.#nspawn = spawn(
      "setpriv",
      ["--pdeathsig=TERM", "systemd-nspawn", "-q", "-D", this.root, `--machine=${this.name}`, `--hostname=${this.name}`, "--boot",
        "--register=no", "--keep-unit",
        // Real hosts have no filter of system calls; that of systemd-nspawn doesn't know these.
        "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self mount_setattr openat2",
        "--volatile=overlay", "--private-network", "--console=pipe", `--bind-ro=${this.edge}:/opt/steadyhand-edge`,
        `--bind-ro=${units}:/run/test-units`, `--bind=${this.state}:/run/steady-state`,
        `--bind-ro=${path.join(units, "steady-ready.service")}:/etc/systemd/system/steady-ready.service`,
        // An argument of the init system, as on a kernel's command line.
        "systemd.wants=steady-ready.service"],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    running.add(this);
    this.ended = once(this.#nspawn, "exit");
    for (const stream of [this.#nspawn.stdout, this.#nspawn.stderr]) stream.on("data", (data) => (this.#said += data));
    try {
      const ended = this.ended.then(() => Promise.reject(new Error("systemd-nspawn ended")));
      // It also ends when all is well, long after anybody listens.
      ended.catch(() => {});
      await Promise.race([appears(this.state, "ready", BOOT_WITHIN_MS), ended]);
    } catch (error) {
      this.#pid1 = this.#init();
      const said = `booting: ${error.message}; ${this.#console()}`;
      // A machine that gets as far as an init system can boot hosts: then it is a fault, not something untested.
      if (this.#pid1) throw new Error(said);
      throw new CannotBoot(said);
    }
    this.#pid1 = this.#init();
    // Returns when no job is left; "degraded" is as good as "running" here.
    this.inside("systemctl", "is-system-running", "--wait");
    this.must("sh", "-c", "mkdir -p /run/systemd/system && cp /run/test-units/steady-[!r]* /run/test-units/steady-re[!a]* /run/systemd/system/ && systemctl daemon-reload");
  }

  /// The last that systemd-nspawn and the host's console said.
  #console() {
    return `systemd-nspawn said: ${this.#said.trim().split("\n").slice(-3).join(" | ")}`;
  }

  get #runs() {
    return this.#nspawn && this.#nspawn.exitCode === null && this.#nspawn.signalCode === null;
  }

  /// The host's process 1, if it has come that far.
  #init() {
    if (!this.#runs) return undefined;
    const children = fs.readFileSync(`/proc/${this.#nspawn.pid}/task/${this.#nspawn.pid}/children`, "utf8");
    return children.trim().split(" ").find((pid) => pid && fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "systemd");
  }

  /// The words that enter the host.
  #enter(...words) {
    return ["-t", this.#pid1, "-m", "-u", "-i", "-n", "-p", "-C", ...words];
  }

  /// Does something and returns when the host has put this file into its state folder because of it.
  async happens(name, begin) {
    fs.rmSync(path.join(this.state, name), { force: true });
    begin();
    await appears(this.state, name);
  }

  /// Runs a program on the host to its end.
  inside(...words) {
    return this.#run("nsenter", this.#enter(...words));
  }

  /// Runs a program of this machine in the host's network only, to its end.
  beside(...words) {
    return this.#run("nsenter", ["-t", this.#pid1, "-n", ...words]);
  }

  #run(program, words) {
    const done = spawnSync(program, words, { encoding: "utf8", timeout: WITHIN_MS * 2, killSignal: "SIGKILL", maxBuffer: MAX_BYTES });
    if (done.error) throw new Error(`${words.slice(3).join(" ")}: ${done.error.message} ${done.stderr ?? ""}`);
    return done;
  }

  /// Starts a program of this machine in the host's network only. It ends with the host.
  startBeside(...words) {
    const child = spawn("nsenter", ["-t", this.#pid1, "-n", "setpriv", "--pdeathsig=KILL", ...words], { stdio: ["ignore", "pipe", "pipe"] });
    this.#helpers.push(child);
    return child;
  }

  /// Starts something on the host without waiting for it.
  start(...words) {
    return spawn("nsenter", this.#enter(...words), { stdio: ["ignore", "pipe", "pipe"] });
  }

  /// Runs a program on the host, which must succeed, and returns what it printed.
  must(...words) {
    const done = this.inside(...words);
    assert.equal(done.status, 0, `${words.join(" ")}: ${done.stderr}${done.stdout.slice(-2000)}`);
    return done.stdout;
  }

  /// Runs a script on the host, which must succeed, and returns what it printed.
  shell(script) {
    return this.must("bash", "-euo", "pipefail", "-c", script);
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

  /// Waits for the host's end, and returns how systemd-nspawn ended.
  async down() {
    try {
      const [code] = await within("the end of the host", this.ended);
      return code;
    } catch (error) {
      const jobs = this.inside("systemctl", "list-jobs", "--no-pager").stdout;
      throw new Error(`${error.message}; it has these jobs left:\n${jobs}${this.#console()}`);
    }
  }

  /// Ends everything at once: the end of its process 1 ends all that is on the host, and then systemd-nspawn.
  kill() {
    for (const helper of this.#helpers) helper.kill("SIGKILL");
    if (this.#runs) {
      const first = this.#init();
      if (first) process.kill(Number(first), "SIGKILL");
      else this.#nspawn.kill("SIGKILL");
    }
  }

  async stop() {
    const ends = this.#runs ? this.ended : undefined;
    this.kill();
    if (ends) await within("the end of the killed host", ends);
    running.delete(this);
    // What still wrote into it is gone now.
    fs.rmSync(this.state, { recursive: true, force: true });
  }
}

/// Runs a script on a host without an init system: the same root file system, a process namespace of its own. The
/// script finds the edge as `/tmp/edge`.
export function withoutInit(root, edge, script) {
  const setUp = `mount -t tmpfs tmpfs "$0/tmp" && mount -t proc proc "$0/proc" && cp "$1" "$0/tmp/edge" && exec chroot "$0" /bin/sh -c "$2"`;
  return spawnSync("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", setUp, root, edge, script],
    { encoding: "utf8", timeout: WITHIN_MS, killSignal: "SIGKILL" });
}
