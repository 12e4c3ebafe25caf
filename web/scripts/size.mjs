/** Fails when the first load grows beyond its budget: the entry and everything that it imports at once, gzipped. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 250 * 1024;
const dist = join(import.meta.dirname, "..", "dist");
const manifest = JSON.parse(readFileSync(join(dist, ".vite", "manifest.json"), "utf8"));

const files = new Set();
function add(name) {
  const chunk = manifest[name];
  if (!chunk || files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const each of chunk.imports ?? []) add(each);
}
for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) add(name);

const sizeOf = (file) => gzipSync(readFileSync(join(dist, file))).length;
const entry = [...files].filter((file) => file.endsWith(".js")).reduce((sum, file) => sum + sizeOf(file), 0);
const pages = Object.values(manifest)
  .filter((chunk) => chunk.isDynamicEntry)
  .map((chunk) => `${chunk.name} ${(sizeOf(chunk.file) / 1024).toFixed(1)}`);

console.log(`first load: ${(entry / 1024).toFixed(1)} of ${BUDGET_BYTES / 1024} KiB of JavaScript, gzipped`);
console.log(`pages (KiB): ${pages.join(", ")}`);
if (entry > BUDGET_BYTES) {
  console.error("The first load is over its budget: move something into a page's chunk.");
  process.exit(1);
}
// It was made for this; the manager needn't serve it.
rmSync(join(dist, ".vite"), { recursive: true });
