// Mixed calls through the API for a while: every skill that reads, calls that fail, calls that are cancelled, large results.
// Samples resident memory, descriptors and threads of the edge and the manager, and fails if they grow.
//
// usage: STEADYHAND_URL=… STEADYHAND_PASSWORD=… node run.mjs MINUTES EDGE_PID MANAGER_PID
import assert from "node:assert/strict";
import fs from "node:fs";

const [minutes, edgePid, managerPid] = process.argv.slice(2).map(Number);
const url = process.env.STEADYHAND_URL;
const began = performance.now();
const end = began + minutes * 60_000;
/** Calls at once. */
const WORKERS = 6;

let cookie = "";
let csrf = "";
async function request(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", cookie, "x-steadyhand-csrf": csrf },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const set = response.headers.getSetCookie();
  if (set.length > 0) cookie = set.map((one) => one.split(";")[0]).join("; ");
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined, retryAfter: response.headers.get("retry-after") };
}

async function signIn() {
  const first = process.env.STEADYHAND_PASSWORD;
  const chosen = "a calm horse by the river 7";
  const me = await request("POST", "/api/v1/sign-in", { name: "admin", password: first });
  assert.equal(me.status, 200, JSON.stringify(me.body));
  csrf = me.body.csrf_token;
  const changed = await request("POST", "/api/v1/me/password", { current: first, new: chosen });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  csrf = changed.body.csrf_token;
}

/** What is called; where the host lacks something for it, it is left out, and said so. */
let MIX = [
  ["host_load", {}],
  ["host_processes", { top_n: 50 }],
  ["read_file", { path: "/etc/os-release" }],
  ["read_file", { path: "/etc/shadow" }],
  ["tail_file", { path: "/proc/cpuinfo", lines: 1000 }],
  ["tail_file", { path: "/no/such/file" }],
  ["probe_tcp", { target: "127.0.0.1:1", timeout_ms: 500 }],
  ["probe_dns", { name: "localhost" }],
  ["service_status", { failed_only: true }],
  ["read_journal", { since: "10m", lines: 50 }],
  ["host_files", { action: "du", paths: ["/etc"] }],
  ["host_sockets", {}],
  ["bash", { command: "ps aux | sort -rnk 4 | head -n 5" }],
  ["bash", { command: "seq 1 200000" }],
  ["bash", { command: "sleep 1; cat /etc/hostname" }],
];

const states = new Map();
let calls = 0;
async function work(number) {
  for (let turn = number; performance.now() < end; turn += WORKERS) {
    const [tool, args] = MIX[turn % MIX.length];
    const answer = await request("POST", "/api/v1/calls", { tool, args, edge_id: 1, scope: "host", timeout_seconds: 20 });
    calls += 1;
    const state = answer.status === 200 ? answer.body.state : `HTTP ${answer.status}`;
    const key = `${tool}: ${state}`;
    states.set(key, (states.get(key) ?? 0) + 1);
    // A limit tells when to come back; asking sooner would only measure the limit.
    if (answer.status === 429 || answer.body?.error?.includes("limit")) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.retryAfter ?? 1)));
    }
  }
}

function sample(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))[1]);
  return { kib: field("VmRSS"), anon: field("RssAnon"), threads: field("Threads"), descriptors: fs.readdirSync(`/proc/${pid}/fd`).length };
}

const samples = [];
function note() {
  const now = { minute: (performance.now() - began) / 60_000, edge: sample(edgePid), manager: sample(managerPid), calls };
  samples.push(now);
  const show = (name) => `${name} ${now[name].kib} KiB (${now[name].anon} anonymous), ${now[name].descriptors} descriptors, ${now[name].threads} threads`;
  console.log(`  ${now.minute.toFixed(1).padStart(5)} min  ${String(calls).padStart(7)} calls  ${show("edge")}  ${show("manager")}`);
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

await signIn();
const { body: host } = await request("GET", "/api/v1/hosts/1");
for (const skill of host.skills.filter((one) => one.unmet.length > 0)) {
  if (MIX.some(([tool]) => tool === skill.key)) console.log(`  !!! NOT TESTED: ${skill.key}: ${skill.unmet.join("; ")} !!!`);
  MIX = MIX.filter(([tool]) => tool !== skill.key);
}
const timer = setInterval(note, Math.max(5_000, (minutes * 60_000) / 60));
await Promise.all(Array.from({ length: WORKERS }, (_, number) => work(number)));
clearInterval(timer);
note();

for (const [key, count] of [...states].toSorted()) console.log(`  ${String(count).padStart(7)}  ${key}`);
// Refused calls would keep everything flat.
for (const tool of new Set(MIX.map(([tool]) => tool))) {
  assert.ok(states.get(`${tool}: succeeded`), `${tool} never succeeded`);
}
// The first fifth is warming up; after it, the last fifth may not be above the second one by more than noise.
const fifth = Math.max(1, Math.floor(samples.length / 5));
let failed = false;
for (const name of ["edge", "manager"]) {
  for (const [what, slack] of [["anon", 2048], ["descriptors", 8], ["threads", 4]]) {
    const early = median(samples.slice(fifth, 2 * fifth).map((one) => one[name][what]));
    const late = median(samples.slice(-fifth).map((one) => one[name][what]));
    const grew = late - early > Math.max(slack, early * 0.1);
    failed ||= grew;
    console.log(`  ${name} ${what}: ${early} early, ${late} late${grew ? "  ← grows" : ""}`);
  }
}
process.exit(failed ? 1 : 0);
