// The skills that read, where only a real host shows whether they are right: damaged and huge journals,
// network namespaces, sockets, pings, and what the host's own programs say of the same things.
import assert from "node:assert/strict";

/// Milliseconds that something took.
function took(body) {
  const begun = performance.now();
  body();
  return performance.now() - begun;
}

export async function reading(host, { check }) {
  const result = (key, params) => host.result(key, params);
  const skill = (key, params, options) => host.skill(key, params, options);
  const must = (...words) => host.must(...words);
  const shell = (script) => must("sh", "-c", script);

  await check("what takes space agrees with du", () => {
    const du = Number(shell("du -sB1 /usr/share").split("\t")[0]);
    const { paths } = result("host_files", { action: "du", paths: '["/usr/share"]' });
    assert.equal(paths[0].disk_bytes, du);
    assert.ok(paths[0].entries.length > 3 && paths[0].entries[0].disk_bytes >= paths[0].entries[1].disk_bytes);
  });
  await check("whoever listens on a port is found", () => {
    // systemd itself holds the socket, from the moment that the command returns.
    shell("systemd-run --quiet --unit=steady-listen --socket-property=ListenStream=127.0.0.1:8099 /bin/sleep 60");
    const { sockets } = result("host_sockets", { port: 8099, state: "listening" });
    assert.equal(sockets[0].local, "127.0.0.1:8099");
    assert.deepEqual([sockets[0].processes[0].pid, sockets[0].processes[0].name], [1, "systemd"]);
    const listening = shell("ss -Htln | wc -l").trim();
    const counts = result("host_sockets", { state: "listening" }).counts;
    assert.equal((counts["tcp listening"] ?? 0) + (counts["tcp6 listening"] ?? 0), Number(listening));
    must("systemctl", "stop", "steady-listen.socket");
  });
  await check("a named network namespace is looked into", () => {
    shell("ip netns add blue && ip -n blue link add v0 type veth peer name v1 && ip -n blue addr add 10.77.0.2/24 dev v0 && ip -n blue link set dev v0 up && ip -n blue link set dev v1 up && ip -n blue route add 10.78.0.0/16 via 10.77.0.1");
    const { namespaces } = result("host_netns_inspect", { namespace: "blue" });
    const link = namespaces[0].links.find((link) => link.name === "v0");
    assert.deepEqual([link.kind, link.peer, link.up], ["veth", "v1", true]);
    assert.ok(link.addresses.includes("10.77.0.2/24"));
    const route = namespaces[0].routes.find((route) => route.destination === "10.78.0.0/16");
    assert.deepEqual(route.via, ["10.77.0.1 dev v0"]);
    // Looking into it leaves the agent where it was.
    assert.ok(!result("host_netns_inspect", { namespace: "host" }).namespaces[0].links.some((link) => link.name === "v0"));
    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    assert.equal(skill("host_netns_inspect", { namespace: "blue" }, { as: nobody }).error_kind ?? "succeeded", "permission_denied");
    shell("ip netns del blue");
  });
  await check("a ping needs permission, and says which", () => {
    shell("sysctl -qw net.ipv4.ping_group_range='1 0' 2>/dev/null || echo '1 0' >/proc/sys/net/ipv4/ping_group_range");
    const pinged = result("probe_ping", { host: "127.0.0.1", count: 2 });
    assert.deepEqual([pinged.received, pinged.loss_percent], [2, 0]);
    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const report = skill("probe_ping", { host: "127.0.0.1", count: 1 }, { as: nobody });
    assert.equal(report.error_kind, "permission_denied");
    assert.match(report.error, /ping_group_range/);
  });
  await check("a huge journal is read fast from its end", () => {
    shell("mkdir -p /run/systemd/journald.conf.d && printf '[Journal]\\nRateLimitIntervalSec=0\\n' >/run/systemd/journald.conf.d/flood.conf && systemctl restart systemd-journald");
    shell("seq 1 100000 | systemd-cat -t flood && journalctl --sync");
    const quick = took(() => {
      const { entries, more } = result("read_journal", { lines: 5 });
      assert.ok(entries.length === 5 && more);
    });
    assert.ok(quick < 5000, `the last lines took ${quick} ms`);
  });
  await check("a damaged journal shows what can be read", () => {
    shell("journalctl --rotate && f=$(ls -S /run/log/journal/*/*@*.journal /var/log/journal/*/*@*.journal 2>/dev/null | head -1) && dd if=/dev/urandom of=$f bs=4096 seek=64 count=64 conv=notrunc status=none");
    shell("echo after-the-damage | systemd-cat -t steady && journalctl --sync");
    const { entries } = result("read_journal", { boot: "0", lines: 50 });
    assert.ok(entries.some((entry) => entry.message === "after-the-damage"));
  });
  await check("load and memory agree with free, df and uptime", () => {
    const load = result("host_load");
    const [, total] = shell("free -b").split("\n")[1].split(/\s+/);
    assert.equal(load.memory.total, Number(total));
    const size = Number(shell("df -B1 --output=size / | tail -1"));
    assert.equal(load.filesystems.find((one) => one.mount === "/").size, size);
    const booted = Date.parse(`${shell("TZ=UTC uptime -s").trim().replace(" ", "T")}Z`);
    assert.ok(Math.abs(Date.parse(load.booted_at) - booted) <= 3000, load.booted_at);
  });
}
