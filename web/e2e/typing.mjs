/** From a key to the paint that shows it, in a chat of 2,000 messages. The chat is made up; the console is real. */
import assert from "node:assert/strict";

const SESSION = "0197a4c2-0000-7000-8000-0000000000aa";
const TURNS = 1000;
const KEYS = 40;
const BUDGET_MS = 50;

function madeUpEvents() {
  const events = [];
  const at = new Date().toISOString();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const turnId = `0197a4c2-0001-7000-8000-${turn.toString(16).padStart(12, "0")}`;
    const add = (kind, payload) =>
      events.push({ id: events.length + 1, session_id: SESSION, turn_id: turnId, seq: 1, kind, at, payload });
    const text = `Answer ${turn}.\n\n| Host | Load |\n|---|--:|\n| web-1 | 0.${turn} |\n\nIt is **fine**, see \`uptime\`.`;
    add("chat.user-message.v1", { message_id: `u${turn}`, text: `question ${turn}`, user_id: 1, user_name: "admin" });
    add("chat.turn-started.v1", { model: { provider: "builtin", model: "router", builtin: true } });
    add("chat.message.v1", { message_id: `m${turn}`, text, calls: [] });
    add("chat.turn-finished.v1", { outcome: "answered", usage: { input_tokens: 1, output_tokens: 1 }, duration_ms: 3 });
  }
  return events;
}

export async function keysUnderLoad(context) {
  const page = await context.newPage();
  await page.route(`**/api/v1/sessions/${SESSION}/events**`, (route) =>
    route.fulfill({ json: { items: madeUpEvents() } }),
  );
  await page.goto(`/chat/${SESSION}`);
  await page
    .locator("[data-turn]")
    .nth(TURNS - 1)
    .waitFor({ timeout: 60_000 });
  await page.getByLabel("Message").focus();
  await page.evaluate(() => {
    window.waits = [];
    document.activeElement.addEventListener("keydown", () => {
      const began = performance.now();
      // A task after the next frame's callbacks: the frame with the letter is painted.
      requestAnimationFrame(() => setTimeout(() => window.waits.push(performance.now() - began)));
    });
  });
  for (let key = 0; key < KEYS; key += 1) await page.keyboard.press("a");
  await page.waitForFunction((count) => window.waits.length >= count, KEYS);
  const waits = (await page.evaluate(() => window.waits)).sort((a, b) => a - b);
  const median = waits[Math.floor(waits.length / 2)];
  console.log(`    key to paint: median ${median.toFixed(0)} ms, slowest ${waits.at(-1).toFixed(0)} ms`);
  assert.ok(median <= BUDGET_MS, `median of ${median.toFixed(0)} ms from key to paint, more than ${BUDGET_MS} ms`);
  await page.close();
}
