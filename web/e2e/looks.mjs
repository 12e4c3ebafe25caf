/** Every page at both sizes and in both themes: screenshots, axe, nothing cut off sideways. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { axeProblems } from "./axe.mjs";
import { openContext, PHONE, WIDE } from "./browser.mjs";

export const SCREENSHOTS = join(import.meta.dirname, "../../target/screenshots");

export async function settle(page) {
  await page.waitForLoadState("load");
  await page.locator("main").first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  // Skeletons, spinners and the first answer are gone when no request is open and nothing loads.
  await page.locator('[role="status"][aria-label="Loading"]').first().waitFor({ state: "detached" });
  if ((await page.locator("[data-stream]").count()) > 0) await page.locator('[data-stream="online"]').waitFor();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/**
 * `pages`: name → address, or a function that goes there. Returns what is wrong, one line each.
 */
export async function lookAtAll(browser, baseURL, storageState, pages, complaints) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const problems = [];
  // Both themes at once: most of the time is waiting.
  const look = async (theme) => {
    for (const [size, viewport] of [
      ["1440", WIDE],
      ["390", PHONE],
    ]) {
      const context = await openContext(browser, baseURL, complaints, {
        viewport,
        colorScheme: theme,
        storageState,
        hasTouch: size === "390",
      });
      const page = await context.newPage();
      for (const [name, go] of Object.entries(pages)) {
        try {
          if (typeof go === "string") await page.goto(go);
          else await go(page);
          await settle(page);
          await page.screenshot({ path: join(SCREENSHOTS, `${name}-${size}-${theme}.png`) });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          if (wide > 0) problems.push(`${name} ${size} ${theme}: ${wide} px wider than the screen`);
          for (const problem of await axeProblems(page)) problems.push(`${name} ${size} ${theme}: ${problem}`);
        } catch (error) {
          problems.push(`${name} ${size} ${theme}: ${error.message}`);
          await page.screenshot({ path: join(SCREENSHOTS, `failed-${name}-${size}-${theme}.png`) }).catch(() => {});
        }
      }
      await context.close();
    }
  };
  await Promise.all(["dark", "light"].map(look));
  // The same in several looks is one problem.
  const places = new Map();
  for (const problem of problems) {
    const [, place, what] = /^(\S+ \d+ \w+): ([\s\S]*)$/.exec(problem) ?? [undefined, "", problem];
    places.set(what, [...(places.get(what) ?? []), place]);
  }
  return [...places].map(([what, where]) => `${where.join(", ")}: ${what}`);
}
