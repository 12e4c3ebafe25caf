/** Chats that nobody had, for what would take a real model hours: the events are made up, the console is real. */

const SESSION = "0197a4c2-0000-7000-8000-0000000000aa";
const turnId = (turn) => `0197a4c2-0001-7000-8000-${turn.toString(16).padStart(12, "0")}`;

/** Writes the events of one chat with rising ids. */
export class MadeUp {
  constructor(session = SESSION) {
    this.session = session;
    this.events = [];
    this.turns = 0;
  }

  add(kind, payload) {
    const id = this.events.length + 1;
    const at = new Date().toISOString();
    const event = { id, session_id: this.session, turn_id: turnId(this.turns), seq: id, kind, at, payload };
    this.events.push(event);
    return event;
  }

  begin(question) {
    this.turns += 1;
    this.add("chat.user-message.v1", {
      message_id: `u${this.turns}`,
      text: question,
      user_id: 1,
      user_name: "admin",
    });
    this.add("chat.turn-started.v1", { model: { provider: "builtin", model: "router", builtin: true } });
    this.add("chat.phase.v1", { phase: "model", round: 1 });
  }

  call(tool, result, args = {}) {
    const call_id = `0197a4c2-0002-7000-8000-${this.events.length.toString(16).padStart(12, "0")}`;
    this.add("chat.tool-call.v1", {
      call_id,
      tool,
      scope: "host",
      class: "safe",
      edge_id: 1,
      edge_name: "web-1",
      args,
    });
    this.add("chat.tool-result.v1", { call_id, state: "succeeded", result, result_bytes: 1, duration_ms: 3 });
  }

  answer(text) {
    this.add("chat.message.v1", { message_id: `m${this.turns}`, text, calls: [] });
    this.add("chat.turn-finished.v1", {
      outcome: "answered",
      usage: { input_tokens: 1, output_tokens: 1 },
      duration_ms: 3,
    });
  }

  /** Opens the chat in a page. */
  async show(page) {
    await page.route(`**/api/v1/sessions/${this.session}/events**`, (route) => {
      const after = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
      return route.fulfill({ json: { items: this.events.filter((each) => each.id > after) } });
    });
    await page.goto(`/chat/${this.session}`);
    await page.locator(`[data-turns="${this.turns}"]`).waitFor();
  }
}

/** Slows a page's processor. */
export async function slowDown(page, times) {
  const debuggerOf = await page.context().newCDPSession(page);
  await debuggerOf.send("Emulation.setCPUThrottlingRate", { rate: times });
}

/** Notes from each key to the paint that shows it, in `window.waits`. */
export async function watchKeys(page) {
  await page.getByLabel("Message").focus();
  await page.evaluate(() => {
    window.waits = [];
    document.activeElement.addEventListener("keydown", () => {
      const began = performance.now();
      let noted = false;
      const note = () => {
        if (!noted) window.waits.push(performance.now() - began);
        noted = true;
      };
      // The frame with the letter is painted before the next task and before the next frame. A slow browser puts off
      // tasks while keys come, but not frames.
      requestAnimationFrame(() => {
        setTimeout(note);
        requestAnimationFrame(note);
      });
    });
  });
}

export async function typeKeys(page, keys) {
  const before = await page.evaluate(() => window.waits.length);
  for (let key = 0; key < keys; key += 1) await page.keyboard.press("a");
  await page.waitForFunction((count) => window.waits.length >= count, before + keys);
  return summary((await page.evaluate(() => window.waits)).slice(before));
}

export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { median: at(0.5), most: at(0.95), slowest: sorted.at(-1) ?? 0 };
}

export const ms = (value) => `${value.toFixed(0)} ms`;
