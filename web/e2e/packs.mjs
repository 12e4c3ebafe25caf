/** A pack that waits for an admin: read, accepted and taken back without the mouse. */
import assert from "node:assert/strict";
import { axeProblems } from "./axe.mjs";

/** The pack that `scripts/test-browser` puts beside the manager; the stand-in manager has its own. */
const name = process.env.STEADYHAND_MOCK ? "net-tools" : process.env.STEADYHAND_PACK;

/** The control that has the focus, by its words. */
const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");

async function tabTo(page, words) {
  for (let presses = 0; presses < 80; presses += 1) {
    if (words.test(await focused(page))) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${words} can't be reached with the Tab key`);
}

export async function packs({ step, page }) {
  if (!name) return;
  await step("a pack waits for an admin, and is read, accepted and taken back by keys alone", async () => {
    await page.goto("/skills");
    const pack = page.locator(`[data-pack="${name}"]`);
    await pack.getByText("waits for an admin").waitFor();
    await page.getByLabel("Filter skills").focus();
    await tabTo(page, new RegExp(`^Accept ${name}$`));
    await tabTo(page, /what they may reach/);
    await page.keyboard.press("Enter");
    await pack.locator("details[open]").waitFor();
    assert.deepEqual(await axeProblems(page), []);
    await page.keyboard.press("Shift+Tab");
    assert.equal(await focused(page), `Accept ${name}`);
    await page.keyboard.press("Enter");
    await page.locator(`[data-pack="${name}"][data-pack-state="accepted"]`).waitFor();
    await page.getByText(`${name} is accepted.`).waitFor();
    assert.match(await focused(page), /what they may reach/, "the focus got lost with the button");
    await page.keyboard.press("Shift+Tab");
    assert.equal(await focused(page), `Revoke ${name}`);
    await page.keyboard.press("Enter");
    await page.locator(`[data-pack="${name}"][data-pack-state="waiting"]`).waitFor();
  });
}
