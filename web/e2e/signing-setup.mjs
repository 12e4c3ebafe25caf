/** What dangerous calls need around them: documents signed outside of the manager, a host that pins the keys, people. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changeFirstPassword, fillSignIn } from "./account.mjs";
import { openContext } from "./browser.mjs";

const bin = process.env.STEADYHAND_BIN_DIR ?? join(import.meta.dirname, "../../target/debug");

/** Where the keys are that `scripts/test-browser` made, and that the manager pins. */
export const KEYS = process.env.STEADYHAND_SIGNING;
/** The console's address for passkeys: `browser.mjs` leads it to the manager. */
export const ORIGIN = "http://localhost";

/** Runs a program to its end, and returns what it printed. */
export function run(program, ...args) {
  const ran = spawnSync(join(bin, program), args, { encoding: "utf8" });
  assert.equal(ran.status, 0, `${program} ${args.join(" ")}\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}

const keyOf = (name) => join(KEYS, `${name}.key.pem`);

function signed(kind, file, text, key) {
  writeFileSync(file, text);
  run("steadyhand", kind, "sign", file, "--key", keyOf(key));
  return [file, `${file}.sig`];
}

const inDays = (days) => `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 19)}Z`;

/** Signs a list of these lines; returns its two files. */
export function signList(folder, version, lines) {
  const text = `version = ${version}\nexpires = ${inDays(30)}\n\n${lines.join("\n")}`;
  return signed("approvers", join(folder, `approvers-${version}.toml`), text, "root");
}

/** Signs a procedure that lets files below `below` be removed; returns its two files. */
export function signProcedure(folder, version, below, where) {
  const text = `id = "tidy-up"
version = ${version}
title = "Remove files of the drill"
description = "For trying out what two people sign."
valid_from = ${inDays(-1)}
valid_until = ${inDays(30)}

[[steps]]
name = "remove"
skill = "remove_path"
${where}
maximum_runs = 5

[steps.parameters]
type = "object"
required = ["path"]

[steps.parameters.properties]
path = { type = "string", pattern = "^${below}/" }
`;
  return signed("sop", join(folder, `tidy-up-${version}.toml`), text, "operations");
}

/** A host that pins the keys and lets files below `writable` be changed. */
export async function pinnedHost(page, folder, writable) {
  const me = await (await page.request.get("/api/v1/me")).json();
  const made = await page.request.post("/api/v1/enrollment-tokens", {
    headers: { "x-steadyhand-csrf": me.csrf_token },
    data: { labels: { role: "drill" }, ttl_seconds: 600 },
  });
  assert.equal(made.status(), 201, await made.text());
  const { command } = await made.json();
  const dir = join(folder, "edge");
  mkdirSync(dir);
  const place = ["--dir", dir, "--config", join(dir, "edge.toml")];
  const words = command.slice(command.indexOf("enroll")).trim().split(/\s+/).slice(1);
  run("steadyhand-edge", "enroll", ...words, "--name", "pinned-host", ...place);
  const root = readFileSync(join(KEYS, "root.txt"), "utf8").trim();
  appendFileSync(
    join(dir, "edge.toml"),
    `
[changes]
write_roots = ["${writable}"]

[labels]
role = "drill"

[security]
approval_proof = "mixed"

[security.sop]
trusted_keys = ["${join(KEYS, "operations.pub.pem")}"]

[security.approvers]
root_key = "${root}"
origin = "${ORIGIN}"
rp_id = "localhost"
`,
  );
  const start = () => spawn(join(bin, "steadyhand-edge"), ["run", ...place], { stdio: "ignore" });
  let edge = start();
  const stop = () =>
    new Promise((resolve) => {
      if (edge.exitCode !== null || edge.signalCode !== null) return resolve();
      edge.once("exit", resolve);
      edge.kill("SIGTERM");
    });
  return {
    name: "pinned-host",
    stop,
    restart: async () => {
      await stop();
      edge = start();
    },
  };
}

/** An approver with an authenticator of their own, signed in where passkeys work. */
export async function approver(browser, page, complaints, name, options) {
  const me = await (await page.request.get("/api/v1/me")).json();
  const made = await page.request.post("/api/v1/users", {
    headers: { "x-steadyhand-csrf": me.csrf_token },
    data: { name, roles: ["approver"], password: "the first word of many 1" },
  });
  assert.equal(made.status(), 201, await made.text());
  const context = await openContext(browser, ORIGIN, complaints, options);
  const own = await context.newPage();
  const devtools = await context.newCDPSession(own);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await own.goto("/");
  await fillSignIn(own, name, "the first word of many 1");
  await own.getByRole("heading", { name: "Choose a password" }).waitFor();
  await changeFirstPassword(own, "the first word of many 1", "another word of many 2");
  await own.getByLabel("Message").waitFor();
  return { name, context, page: own };
}
