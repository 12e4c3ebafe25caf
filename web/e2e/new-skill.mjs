/** A skill that was just written appears on the Skills page and runs from its form. Needs STEADYHAND_SKILL too. */
import assert from "node:assert/strict";
import { settings, signIn } from "./account.mjs";
import { launch, openContext } from "./browser.mjs";

const account = settings();
const key = process.env.STEADYHAND_SKILL;
assert.ok(key, "STEADYHAND_SKILL names the skill");
const browser = await launch();
const complaints = [];
try {
  const context = await openContext(browser, account.url, complaints);
  const page = await context.newPage();
  await signIn(page, account);
  await page.goto("/skills");
  const row = page.locator(`[data-skill="host/${key}"]`);
  await row.waitFor();
  await row.getByRole("link").click();
  await page.getByLabel(/^path/).fill("/etc/hostname");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator('[data-call][data-state="succeeded"]').waitFor();
  assert.deepEqual(complaints, []);
  console.log(`ok  ${key} is on the Skills page and ran from its form`);
} finally {
  await browser.close();
}
