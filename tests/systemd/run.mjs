// The edge's own command line on hosts that are really booted, and on one that isn't.
//
// usage: node run.mjs EDGE_BINARY CACHE_FOLDER [STAGE…]
import path from "node:path";
import { bare, files, kept, processes, reboot, units } from "./changes.mjs";
import { Checks } from "./checks.mjs";
import { CannotBoot, Host, notTested, rootFileSystem } from "./host.mjs";
import { journal } from "./journal.mjs";
import { looking } from "./looking.mjs";
import { many } from "./many.mjs";
import { odd } from "./odd.mjs";
import { reading } from "./reading.mjs";
import { shipped } from "./shipped.mjs";

const [edge, cache] = process.argv.slice(2, 4).map((word) => path.resolve(word));
const wanted = process.argv.slice(4);
const root = rootFileSystem(cache);
const host = new Host(root, edge);
const checks = new Checks();
const sheet = { check: checks.check.bind(checks) };

/// In this order: the reboot forgets what was there before it.
const stages = {
  looking: () => looking(host, sheet),
  reading: () => reading(host, sheet),
  units: () => units(host, sheet),
  processes: () => processes(host, sheet),
  many: () => many(host, sheet),
  files: () => files(host, sheet),
  odd: () => odd(host, sheet),
  kept: () => kept(host, sheet),
  bare: () => bare(root, edge, sheet),
  reboot: () => reboot(host, sheet),
  shipped: () => shipped(host, sheet),
  journal: () => journal(host, sheet),
};
const unknown = wanted.find((name) => !(name in stages));
if (unknown) throw new Error(`there is no stage \`${unknown}\`, only ${Object.keys(stages).join(", ")}`);

try {
  host.configure('[changes]\nwrite_roots = ["/srv"]\nunits = ["*.service", "*.timer"]\n');
  try {
    await host.boot();
  } catch (error) {
    if (!(error instanceof CannotBoot)) throw error;
    await host.stop();
    notTested(error.message);
  }
  for (const [name, stage] of Object.entries(stages)) {
    if (wanted.length && !wanted.includes(name)) continue;
    const begun = performance.now();
    try {
      await stage();
    } catch (error) {
      checks.failures += 1;
      console.log(`  FAIL the stage ${name} ended early\n       ${error.stack ?? error}`);
    }
    console.log(`       (${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s)`);
  }
} finally {
  await host.stop();
}
process.exit(checks.failures === 0 ? 0 : 1);
