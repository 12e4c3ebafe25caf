// The skills that change something, on a host that makes it hard for them.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { once } from "node:events";
import { withoutInit } from "./host.mjs";

const reason = "a test";

function restart(host, service, more = {}, options) {
  return host.skill("restart_service", { service, reason, verify_seconds: 0, ...more }, options);
}

export async function units(host, { check }) {
  await check("a service restarts, over D-Bus, and stays up", () => {
    host.must("systemctl", "start", "steady-ok");
    const { result } = restart(host, "steady-ok", { verify_seconds: 1 });
    assert.equal(result.unit, "steady-ok.service");
    assert.equal(`${result.state_before.state} → ${result.state_after.state}`, "active → active");
    assert.notEqual(result.state_after.main_pid, result.state_before.main_pid);
    assert.equal(result.stayed_up, true);
    assert.equal(result.watched_seconds, 1);
    assert.ok(!(result.notes ?? []).some((note) => note.includes("systemctl")), JSON.stringify(result.notes));
    assert.ok(result.log.some((line) => line.message.includes("Started")), JSON.stringify(result.log));
  });
  await check("a service that never gets ready failed to start, with its code and its last words", () => {
    const report = restart(host, "steady-fails-to-start");
    assert.equal(`${report.state} ${report.error_kind}`, "failed failed");
    assert.match(report.error, /failed to start: its process exited with code 3/);
    assert.match(report.error, /configuration is broken/);
  });
  await check("a program that isn't there is told as such", () => {
    assert.match(restart(host, "steady-no-program").error, /failed to start: .*code 203 \(its program can't be executed\)/);
  });
  await check("a service that is killed after its start is told from one that failed to start", () => {
    const report = restart(host, "steady-killed", { verify_seconds: 30 });
    assert.equal(report.state, "failed");
    assert.match(report.error, /was started, but did not stay up .*killed by signal 9 \(SIGKILL\)/);
    assert.ok(report.duration_ms < 15_000, `it was seen when it happened: ${report.duration_ms} ms`);
  });
  await check("a service that systemd starts again and again did not stay up", () => {
    const report = restart(host, "steady-restarts", { verify_seconds: 30 });
    assert.match(report.error, /did not stay up .*exited with code 1, and systemd/);
    host.must("systemctl", "stop", "steady-restarts");
  });
  await check("a stop that hangs times out cleanly, and systemd goes on with it", () => {
    host.must("systemctl", "start", "steady-stop-hangs");
    const report = restart(host, "steady-stop-hangs", {}, { timeout: "6s" });
    assert.equal(`${report.state} ${report.error_kind}`, "timed_out timeout");
    assert.match(report.error, /is still stopping after \d s; systemd goes on with it by itself; its own limit for stopping is 1200 s/);
    assert.match(host.inside("systemctl", "is-active", "steady-stop-hangs").stdout, /deactivating/);
    // First it must not start again once it has stopped, or it would hold up the reboot for its 1200 s.
    host.must("systemctl", "stop", "--no-block", "steady-stop-hangs");
    host.must("systemctl", "kill", "--signal=KILL", "steady-stop-hangs");
    host.must("systemctl", "stop", "steady-stop-hangs");
  });
  await check("a start limit is told as such", () => {
    restart(host, "steady-limited");
    assert.match(restart(host, "steady-limited").error, /start limit/);
  });
  await check("a masked unit is refused in words", () => {
    host.must("ln", "-sf", "/dev/null", "/run/systemd/system/steady-masked.service");
    host.must("systemctl", "daemon-reload");
    const report = restart(host, "steady-masked");
    assert.equal(report.error_kind, "refused");
    assert.match(report.error, /masked/);
  });
  await check("odd names and instances of templates are no trouble, and a bare template is invalid", () => {
    assert.equal(restart(host, "steady-odd\\x2dname").result.unit, "steady-odd\\x2dname.service");
    assert.equal(restart(host, "steady-instance@one\\x2dtwo").result.unit, "steady-instance@one\\x2dtwo.service");
    assert.equal(restart(host, "steady-instance@").error_kind, "invalid");
    assert.equal(restart(host, "../steady-ok").error_kind, "invalid");
  });
  await check("reload, start, stop and units that run once are understood", () => {
    host.must("systemctl", "start", "steady-reloads");
    const reloaded = restart(host, "steady-reloads", { action: "reload" }).result;
    assert.equal(reloaded.state_after.main_pid, reloaded.state_before.main_pid);
    assert.ok(reloaded.log.some((line) => line.message === "read again"));
    assert.equal(restart(host, "steady-ok", { action: "reload" }).error_kind, "unsupported");
    const stopped = restart(host, "steady-reloads", { action: "stop", verify_seconds: 30 }).result;
    assert.equal(`${stopped.state_after.state} ${stopped.stayed_up}`, "inactive undefined");
    assert.equal(restart(host, "steady-reloads", { action: "start" }).result.state_before.state, "inactive");
    const once = restart(host, "steady-once", { verify_seconds: 30 }).result;
    assert.equal(`${once.state_after.state} ${once.stayed_up} ${once.watched_seconds}`, "inactive undefined 0");
  });
  await check("units that carry the system are refused, and unknown ones told with near names", () => {
    for (const unit of ["dbus", "systemd-journald", "reboot.target", "systemd-reboot", "init.scope"]) {
      assert.equal(restart(host, unit).error_kind, "refused", unit);
    }
    assert.match(restart(host, "steady-okk").error, /steady-ok\.service/);
  });
  await check("only root may run what changes something", () => {
    const report = restart(host, "steady-ok", {}, { as: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] });
    assert.equal(report.state, "refused");
    assert.match(report.error, /only root may run it locally/);
  });
  await check("without the bus systemctl restarts, and tells the same", () => {
    host.must("systemctl", "stop", "dbus.socket", "dbus.service");
    const { result } = restart(host, "steady-ok", { verify_seconds: 1 });
    assert.notEqual(result.state_after.main_pid, result.state_before.main_pid);
    assert.ok(result.notes.some((note) => note.includes("systemctl")));
    assert.match(restart(host, "steady-fails-to-start").error, /failed to start: its process exited with code 3/);
    assert.match(restart(host, "steady-killed", { verify_seconds: 30 }).error, /killed by signal 9/);
    assert.equal(restart(host, "steady-nothing-like-it").error_kind, "not_found");
    host.must("systemctl", "start", "dbus.socket");
  });
}

export async function processes(host, { check }) {
  await check("a process is killed by its id and start time, and never by its id alone", () => {
    host.must("systemctl", "start", "steady-ok");
    const find = () => host.result("host_processes", { name: "sleep infinity" }).processes.find((one) => one.unit === "steady-ok.service");
    const { pid, start_time } = find();
    const wrong = host.skill("kill_process", { pid, start_time: start_time + 1, reason });
    assert.equal(wrong.error_kind, "not_found");
    assert.match(wrong.error, /another one/);
    assert.equal(find().pid, pid);
    const { ended, unit } = host.result("kill_process", { pid, start_time, reason });
    assert.equal(`${ended} ${unit}`, "true steady-ok.service");
  });
  await check("process 1 and the agent are refused", () => {
    const first = host.result("host_processes", { name: "systemd", top_n: 200 }).processes.find((one) => one.pid === 1);
    assert.ok(first);
    assert.notEqual(host.skill("kill_process", { pid: 1, start_time: first.start_time, reason }).state, "succeeded");
  });
}

export async function files(host, { check }) {
  await check("a file is replaced with owner and mode kept, and the old one is there", () => {
    host.must("sh", "-c", "mkdir -p /srv/app && printf 'a=1\\nb=2\\n' >/srv/app/conf && chown 1000:1001 /srv/app/conf && chmod 640 /srv/app/conf");
    const { sha256 } = host.result("read_file", { path: "/srv/app/conf" });
    const written = host.result("write_file", { path: "/srv/app/conf", content: "a=1\nb=3\n", ...(sha256 ? { expect_sha256: sha256 } : {}) });
    assert.match(written.diff, /-b=2\n\+b=3/);
    assert.equal(host.must("stat", "-c", "%u:%g %a", "/srv/app/conf").trim(), "1000:1001 640");
    assert.equal(host.must("cat", written.previous_version), "a=1\nb=2\n");
    assert.equal(host.must("ls", "-A", "/srv/app").trim(), "conf");
  });
  await check("what somebody else changed meanwhile is not written over", () => {
    const report = host.skill("write_file", { path: "/srv/app/conf", content: "mine", expect_sha256: "0".repeat(64) });
    assert.equal(report.error_kind, "refused");
    assert.equal(host.must("cat", "/srv/app/conf"), "a=1\nb=3\n");
  });
  await check("a full disk leaves the old file and nothing else", () => {
    host.must("sh", "-c", "mkdir -p /srv/full && mount -t tmpfs -o size=64k tmpfs /srv/full && echo old >/srv/full/a");
    const report = host.skill("write_file", { path: "/srv/full/a", content: "x".repeat(100_000) });
    assert.equal(report.state, "failed");
    assert.match(report.error, /no space left/i);
    assert.equal(host.must("cat", "/srv/full/a"), "old\n");
    assert.equal(host.must("ls", "-A", "/srv/full").trim(), "a");
  });
  await check("links out, places outside, and the agent's own files are refused", () => {
    host.must("sh", "-c", "ln -sfn /etc /srv/app/out && ln -sf ../../etc/passwd /srv/app/passwd");
    for (const path of ["/srv/app/out/passwd", "/srv/app/passwd", "/etc/passwd", "/srv/../etc/passwd", "/run/steady-state/edge.toml"]) {
      assert.notEqual(host.skill("write_file", { path, content: "x" }).state, "succeeded", path);
    }
    assert.match(host.must("cat", "/etc/passwd"), /^root:/);
  });
  await check("a folder is previewed first and removed exactly as previewed", () => {
    host.must("sh", "-c", "mkdir -p /srv/old/deep && echo 12345 >/srv/old/a && echo 1 >/srv/old/deep/b && ln -s /etc /srv/old/link");
    const preview = host.skill("remove_path", { path: "/srv/old", recursive: true });
    assert.equal(preview.error_kind, "refused");
    const expect = JSON.parse(/expect=(\{[^}]*\})/.exec(preview.error)[1]);
    assert.deepEqual(expect, { count: 5, bytes: 8 });
    host.must("sh", "-c", "echo late >/srv/old/deep/c");
    assert.match(host.skill("remove_path", { path: "/srv/old", recursive: true, expect }).error, /not what was previewed/);
    host.must("test", "-e", "/srv/old/a");
    const { count } = host.result("remove_path", { path: "/srv/old", recursive: true, expect: { count: 6, bytes: 13 } });
    assert.equal(count, 6);
    assert.notEqual(host.inside("test", "-e", "/srv/old").status, 0);
    host.must("test", "-e", "/etc/passwd");
  });
  await check("mount points and what holds them stay", () => {
    host.must("sh", "-c", "mkdir -p /srv/holds/mnt /srv/holds/bound && mount -t tmpfs tmpfs /srv/holds/mnt && mount --bind /etc /srv/holds/bound");
    for (const path of ["/srv/holds", "/srv/holds/mnt", "/srv/holds/bound", "/srv"]) {
      const report = host.skill("remove_path", { path, recursive: true, expect: { count: 1, bytes: 0 } });
      assert.equal(report.error_kind, "refused", `${path}: ${JSON.stringify(report)}`);
    }
    host.must("umount", "/srv/holds/mnt", "/srv/holds/bound");
  });
}

export async function reboot(host, { check }) {
  const bootId = () => host.must("cat", "/proc/sys/kernel/random/boot_id").trim();
  await check("a reboot waits for nobody who has asked that the host stays up", async () => {
    const holder = host.start("systemd-inhibit", "--what=shutdown", "--mode=block", "--who=upgrade", "--why=packages", "sh", "-c", "echo held; exec sleep 1000");
    await once(holder.stdout, "data");
    const report = host.skill("reboot_host", { reason });
    assert.equal(report.error_kind, "busy", JSON.stringify(report));
    assert.match(report.error, /`upgrade`.*packages/);
    const gone = once(holder, "exit");
    host.inside("pkill", "-x", "-f", "sleep 1000");
    await gone;
  });
  await check("the host reboots, and its boot id is another one", async () => {
    const before = bootId();
    // As a service: nsenter would stay stopped when the shutdown stops what it entered with.
    host.must("systemd-run", "--quiet", "--unit=steady-asks", ...host.skillWords("reboot_host", { reason }));
    // What systemd-nspawn says of a host that reboots, and not of one that goes down.
    assert.equal(await host.down(), 133);
    await host.boot();
    assert.notEqual(bootId(), before);
  });
}

export async function bare(root, edge, { check }) {
  const run = (words, before = "") => {
    const done = withoutInit(root, edge, `${before}\n/tmp/edge --config /tmp/none --dir /tmp/state skills run ${words} --local`);
    try {
      return JSON.parse(done.stdout);
    } catch {
      throw new Error(`no JSON: ${done.stdout} ${done.stderr}`);
    }
  };
  await check("a host without an init system says what it can't do", () => {
    const restarted = run("restart_service --param service=x --param reason=y");
    assert.notEqual(restarted.state, "succeeded");
    assert.match(restarted.error, /systemd/);
    const rebooted = run("reboot_host --param reason=y");
    assert.equal(rebooted.error_kind, "unsupported", JSON.stringify(rebooted));
    assert.match(rebooted.error, /no init system/);
  });
  await check("a process that took over an id is not hit", () => {
    // The kernel is told to hand out the same id again.
    const reuse = `
      sleep 1001 & pid=$!
      start=$(cut -d' ' -f22 /proc/$pid/stat)
      again=$pid
      # Within one clock tick the start times are the same, and nobody could have read the first one that fast.
      while [ "$(cut -d' ' -f22 /proc/$again/stat)" = "$start" ]; do
        kill -9 $again; wait $again 2>/dev/null
        echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
        sleep 1002 & again=$!
        [ $again = $pid ] || { echo "{\\"error\\":\\"the id was not reused: $pid, $again\\"}"; exit; }
      done
      trap 'kill -0 '$pid' || echo it was hit >&2' EXIT`;
    const report = run("kill_process --param pid=$pid --param start_time=$start --param signal=KILL --param reason=y", reuse);
    assert.equal(report.error_kind, "not_found", JSON.stringify(report));
    assert.match(report.error, /another one/);
  });
}

/// What skills keep for the host's owner is bounded and closed to others.
export async function kept(host, { check }) {
  await check("old versions are readable by the host's owner only", () => {
    const folder = path.join(host.state, "edge", "kept", "versions");
    const modes = fs.readdirSync(folder).map((name) => fs.statSync(path.join(folder, name)).mode & 0o777);
    assert.ok(modes.length > 0 && modes.every((mode) => mode === 0o700), JSON.stringify(modes));
  });
}
