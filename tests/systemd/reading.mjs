// The skills that read, where only a real host shows whether they are right: network namespaces, sockets, pings, and what
// the host's own programs say of the same things.
import assert from "node:assert/strict";

export async function reading(host, { check }) {
  const result = (key, params) => host.result(key, params);
  const skill = (key, params, options) => host.skill(key, params, options);
  const must = (...words) => host.must(...words);
  const shell = (script) => host.shell(script);

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
  await check("load, memory, swap, file systems and uptime agree with free, df and uptime", () => {
    const columns = (line) => line.trim().split(/\s+/).map(Number);
    const free = () => shell("free -b").split("\n").slice(1).map((line) => columns(line.split(":")[1] ?? ""));
    const [before] = free();
    const load = result("host_load");
    const [after, swap] = free();
    assert.equal(load.memory.total, after[0]);
    // What is available moves meanwhile; it is between the two, or near.
    const [least, most] = [Math.min(before[5], after[5]), Math.max(before[5], after[5])];
    const near = after[0] / 20;
    assert.ok(load.memory.available >= least - near && load.memory.available <= most + near, `${load.memory.available}: ${least} to ${most}`);
    assert.deepEqual([load.swap.total, load.swap.used > 0], [swap[0], swap[1] > 0]);
    for (const mount of ["/", "/run", "/tmp"]) {
      const [size, used] = columns(shell(`df -B1 --output=size,used ${mount} | tail -1`));
      const told = load.filesystems.find((one) => one.mount === mount);
      assert.equal(told?.size, size, mount);
      assert.ok(Math.abs(told.used - used) <= 8 * 1024 * 1024, `${mount}: ${told.used}, ${used}`);
    }
    const booted = Date.parse(`${shell("TZ=UTC uptime -s").trim().replace(" ", "T")}Z`);
    assert.ok(Math.abs(Date.parse(load.booted_at) - booted) <= 3000, load.booted_at);
    const average = Number(/load average: ([\d.]+)/.exec(shell("LC_ALL=C uptime"))[1]);
    assert.ok(Math.abs(load.load.one - average) <= 1 + average / 5, `${JSON.stringify(load.load)}, ${average}`);
    assert.equal(load.hostname, host.name);
  });
}
