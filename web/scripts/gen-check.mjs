/** Fails when `src/api/generated.ts` isn't what the committed OpenAPI document gives. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const web = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "steadyhand-gen-"));
try {
  const fresh = join(folder, "generated.ts");
  execFileSync(join(web, "node_modules/.bin/openapi-typescript"), [join(web, "../docs/openapi.json"), "-o", fresh], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (readFileSync(fresh, "utf8") !== readFileSync(join(web, "src/api/generated.ts"), "utf8")) {
    console.error("src/api/generated.ts is out of date: run `npm run gen` in web/ and commit the result.");
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
