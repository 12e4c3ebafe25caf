// The edge's own command line on hosts that are really booted, and on one that isn't.
//
// usage: node run.mjs EDGE_BINARY CACHE_FOLDER
import path from "node:path";
import { bare, files, kept, processes, reboot, units } from "./changes.mjs";
import { Checks } from "./checks.mjs";
import { CannotBoot, Host, notTested, rootFileSystem } from "./host.mjs";
import { looking } from "./looking.mjs";

const [edge, cache] = process.argv.slice(2).map((word) => path.resolve(word));
const root = rootFileSystem(cache);
const host = new Host(root, edge);
const checks = new Checks();
const sheet = { check: checks.check.bind(checks) };
try {
  host.configure('[changes]\nwrite_roots = ["/srv"]\nunits = ["*.service", "*.timer"]\n');
  try {
    await host.boot();
  } catch (error) {
    if (!(error instanceof CannotBoot)) throw error;
    await host.stop();
    notTested(error.message);
  }
  await looking(host, sheet);
  await units(host, sheet);
  await processes(host, sheet);
  await files(host, sheet);
  await kept(host, sheet);
  await bare(root, edge, sheet);
  await reboot(host, sheet);
} finally {
  await host.stop();
}
process.exit(checks.failures === 0 ? 0 : 1);
