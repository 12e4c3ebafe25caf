/**
 * What the console may cost, at sizes that hurt. Times are printed; what must hold on any machine is the work: how much
 * is drawn, how often, and what isn't touched again.
 */
import assert from "node:assert/strict";
import { MadeUp, ms, slowDown, summary, typeKeys, watchKeys } from "./made-up.mjs";

const TURNS = 1000;
const KEYS = 40;
const BUDGET_MS = 50;
/** Turns that may be drawn at once, on a screen of 900 pixels. */
const DRAWN_TURNS = 40;
const DRAWN_LINES = 120;

/** From a key to the paint that shows it, in a chat of 2,000 messages. */
async function longChat(page) {
  const chat = new MadeUp();
  for (let turn = 0; turn < TURNS; turn += 1) {
    chat.begin(`question ${turn}`);
    chat.answer(
      `Answer ${turn}.\n\n| Host | Load |\n|---|--:|\n| web-1 | 0.${turn} |\n\nIt is **fine**, see \`uptime\`.`,
    );
  }
  await chat.show(page);
  const drawn = page.locator("[data-turn]");
  const conversation = page.getByRole("region", { name: "Conversation" });
  await page.getByText(`Answer ${TURNS - 1}.`).waitFor();
  const gap = await conversation.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
  assert.ok(gap < 50, `the chat opens ${gap} px above its end`);
  assert.ok((await drawn.count()) <= DRAWN_TURNS, `${await drawn.count()} turns are drawn`);
  await watchKeys(page);
  const keys = await typeKeys(page, KEYS);
  console.log(`    key to paint in 2,000 messages: median ${ms(keys.median)}, slowest ${ms(keys.slowest)}`);
  assert.ok(keys.median <= BUDGET_MS, `median of ${ms(keys.median)} from key to paint, more than ${BUDGET_MS} ms`);
  await conversation.evaluate((element) => element.scrollTo(0, 0));
  await page.getByText("question 0", { exact: true }).waitFor();
  assert.ok((await drawn.count()) <= DRAWN_TURNS, `${await drawn.count()} turns are drawn at the top`);
  // What is said below doesn't pull a reader away, but is told.
  chat.begin("one more");
  await tell(page, chat.events.slice(-3));
  await page.getByRole("button", { name: "New below" }).waitFor();
  assert.ok((await conversation.evaluate((element) => element.scrollTop)) < 50, "the reader was pulled away");
  await page.getByRole("button", { name: "New below" }).click();
  await page.getByText("one more", { exact: true }).waitFor();
  await page.getByRole("button", { name: "New below" }).waitFor({ state: "detached" });
}

/** Gives events to the page as another tab would that holds the stream. */
function tell(page, events) {
  return page.evaluate((all) => {
    window.channel ??= new BroadcastChannel("steadyhand.events.v2");
    window.channel.postMessage({ type: "signals", signals: all.map((event) => ({ type: "turn-event", event })) });
  }, events);
}

const TOKENS = 1200;
const TOKENS_PER_SECOND = 200;
const TOKENS_PER_BLOCK = 60;

/** A fast model on a slow machine. */
async function fastStream(page) {
  const chat = new MadeUp();
  for (let turn = 0; turn < 20; turn += 1) {
    chat.begin(`question ${turn}`);
    chat.answer(`Answer ${turn} with **words**.\n\n- one\n- two`);
  }
  await chat.show(page);
  await slowDown(page, 6);
  await watchKeys(page);
  chat.begin("tell me much");
  await tell(page, chat.events.slice(-3));
  await page.getByText("tell me much", { exact: true }).waitFor();
  const words = "the load of this host rises while its **journal** tells of slow `answers` and".split(" ");
  const first = chat.add("chat.text-delta.v1", { message_id: "stream", text: "Begin. " });
  await page.evaluate(
    ({ first, words, tokens, rate, perBlock }) => {
      const watched = { commits: 0, frames: 0, touched: 0, began: performance.now(), sent: 0, done: null, shown: null };
      window.watched = watched;
      const closed = new WeakSet();
      const conversation = document.querySelector('[aria-label="Conversation"]');
      new MutationObserver((records) => {
        watched.commits += 1;
        for (const { target } of records) {
          const element = target instanceof Element ? target : target.parentElement;
          const block = element?.closest("[data-block]");
          if (block && closed.has(block)) watched.touched += 1;
        }
        // The last two may still turn out to be one.
        for (const block of [...conversation.querySelectorAll("[data-block]")].slice(0, -2)) closed.add(block);
        if (conversation.textContent.includes("That is all.")) watched.shown ??= performance.now();
      }).observe(conversation, { subtree: true, childList: true, characterData: true });
      const frame = () => {
        watched.frames += 1;
        if (watched.shown === null) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      const channel = new BroadcastChannel("steadyhand.events.v2");
      const signal = (text) => {
        watched.sent += 1;
        const event = { ...first, id: first.id + watched.sent, payload: { ...first.payload, text } };
        return { type: "turn-event", event };
      };
      const timer = setInterval(() => {
        const due = Math.min(tokens, Math.floor(((performance.now() - watched.began) * rate) / 1000));
        const signals = [];
        while (watched.sent < due) {
          const word = words[watched.sent % words.length];
          signals.push(signal(watched.sent % perBlock === perBlock - 1 ? `${word}.\n\n` : `${word} `));
        }
        if (watched.sent >= tokens) {
          clearInterval(timer);
          signals.push(signal("That is all."));
          watched.done = performance.now();
        }
        channel.postMessage({ type: "signals", signals });
      }, 16);
    },
    { first, words, tokens: TOKENS, rate: TOKENS_PER_SECOND, perBlock: TOKENS_PER_BLOCK },
  );
  const keys = await typeKeys(page, 20);
  await page.waitForFunction(() => window.watched.shown !== null, undefined, { timeout: 60_000 });
  const { commits, frames, touched, sent, began, done, shown } = await page.evaluate(() => window.watched);
  console.log(
    `    ${sent} tokens in ${ms(done - began)} at a sixth of the speed: drawn ${commits} times in ${frames} frames, ` +
      `the last ${ms(shown - done)} after it came; key to paint meanwhile: median ${ms(keys.median)}, slowest ${ms(keys.slowest)}`,
  );
  assert.equal(touched, 0, "blocks that were complete were drawn again");
  // A commit of React may come in two pieces; what matters is that it isn't one for each token.
  assert.ok(commits <= frames * 2 + 10, `drawn ${commits} times in ${frames} frames`);
  assert.ok(shown - done < 5_000, `the last token was shown ${ms(shown - done)} after it came`);
  const gap = await page
    .getByRole("region", { name: "Conversation" })
    .evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
  assert.ok(gap < 50, `the view is ${gap} px above the end that it should follow`);
}

const LINES = 100_000;

/** A result that no screen holds. */
async function longResult(page) {
  const chat = new MadeUp();
  chat.begin("show the log");
  const lines = Array.from(
    { length: LINES },
    (_, index) =>
      `\u001b[2m${index}\u001b[0m ${index % 10 === 0 ? "\u001b[31merror\u001b[0m" : "info"} some words of a log`,
  );
  chat.call("tail_file", { path: "/var/log/app.log", text: lines.join("\n") });
  chat.answer("There it is.");
  await chat.show(page);
  await page.locator("[data-call]").waitFor();
  await slowDown(page, 4);
  const painted = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const began = performance.now();
        document.querySelector("[data-call] button").click();
        const look = () => {
          if (!document.querySelector("[data-long-output] span")) return requestAnimationFrame(look);
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
        };
        look();
      }),
  );
  const output = page.locator("[data-long-output]");
  const rows = output.locator("[data-index]");
  assert.ok((await rows.count()) <= DRAWN_LINES, `${await rows.count()} lines are drawn`);
  await page.getByText("100,000 lines").waitFor();
  const frames = summary(
    await output.evaluate(async (element) => {
      const times = [];
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      for (let step = 0; step < 60; step += 1) {
        const began = performance.now();
        element.scrollTop += 1_500;
        await frame();
        await frame();
        times.push((performance.now() - began) / 2);
      }
      return times;
    }),
  );
  assert.ok((await rows.count()) <= DRAWN_LINES, `${await rows.count()} lines are drawn after scrolling`);
  await watchKeys(page);
  const keys = await typeKeys(page, 20);
  console.log(
    `    ${LINES} lines at a quarter of the speed: first paint after ${ms(painted)}; ` +
      `scrolling: a frame each ${ms(frames.median)}, the slowest ${ms(frames.slowest)}; key to paint: median ${ms(keys.median)}`,
  );
  assert.ok(painted < 2_000, `the first paint took ${ms(painted)}`);
  await output.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await output.getByText(String(LINES - 1), { exact: true }).waitFor();
  assert.match(
    (await output
      .locator(`[data-index="${LINES - 10}"] span`)
      .nth(2)
      .getAttribute("class")) ?? "",
    /red/,
  );
}

/** Tabs of one browser. */
async function manyTabs(context, openStreams) {
  const tabs = [];
  for (let tab = 0; tab < 8; tab += 1) tabs.push(await context.newPage());
  await Promise.all(tabs.map((tab) => tab.goto("/hosts")));
  for (const tab of tabs) await tab.locator('[data-stream="online"]').waitFor();
  console.log(`    ${tabs.length + 1} tabs, event streams open: ${openStreams()}`);
  assert.ok(openStreams() >= 1 && openStreams() <= 2, `${openStreams()} event streams are open`);
  for (const tab of tabs) await tab.close();
}

/** A laptop that is closed for a while. */
async function offlineAndBack({ context, page, complaints, sessionUrl }) {
  const heard = complaints.length;
  await page.goto(sessionUrl);
  await page.locator("[data-turn]").first().waitFor();
  await page.locator('[data-stream="online"]').waitFor();
  const me = await (await context.request.get("/api/v1/me")).json();
  const id = new URL(sessionUrl).pathname.split("/").at(-1);
  const turns = await page.locator("[data-turn]").count();
  await context.setOffline(true);
  await page.locator('[data-stream="offline"]').first().waitFor();
  await page.getByText("No connection to the manager for").waitFor();
  await page.getByLabel("Message").fill("what I was about to ask");
  // Meanwhile somebody goes on in this chat, from elsewhere: this request isn't the browser's.
  const began = await context.request.post(`/api/v1/sessions/${id}/turns`, {
    headers: { "x-steadyhand-csrf": me.csrf_token },
    data: { text: "is port 22 open on localhost?" },
  });
  assert.ok(began.ok(), `the turn was not taken: ${began.status()}`);
  const asked = [];
  const follow = (request) => {
    if (/\/api\/v1\/(events|sessions\/[^/]+\/events)/.test(request.url())) asked.push(new URL(request.url()));
  };
  page.on("request", follow);
  await context.setOffline(false);
  await page.locator('[data-stream="online"]').waitFor();
  await page.locator("[data-turn]").nth(turns).waitFor();
  await page.locator("[data-turn]").nth(turns).locator("[data-working]").waitFor({ state: "detached" });
  page.off("request", follow);
  assert.equal(await page.locator("[data-turn]").count(), turns + 1);
  assert.equal(await page.getByLabel("Message").inputValue(), "what I was about to ask");
  assert.equal(await page.getByText("No connection to the manager for").count(), 0);
  assert.ok(
    asked.some((url) => Number(url.searchParams.get("after")) > 0),
    "it read everything anew instead of what came after the last event",
  );
  await page.getByLabel("Message").fill("");
  // The browser tells of each request that had no network.
  for (const told of complaints.splice(heard)) {
    if (!/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|Failed to fetch/.test(told)) complaints.push(told);
  }
}

export async function budgets({ step, context, page, complaints, sessionUrl, openStreams }) {
  const apart = async (body) => {
    const one = await context.newPage();
    try {
      await body(one);
    } finally {
      await one.close();
    }
  };
  await step("a chat of 2,000 messages draws what is near, follows its end, and keeps typing quick", () =>
    apart(longChat),
  );
  await step("text at 200 tokens a second is drawn by the frame, and only its last block anew", () =>
    apart(fastStream),
  );
  await step("a result of 100,000 lines is there at once, and draws what is near", () => apart(longResult));
  await step("eight tabs share a stream", () => manyTabs(context, openStreams));
  await step("offline and back: a bar says so, the draft stays, and nothing is missed", () =>
    offlineAndBack({ context, page, complaints, sessionUrl }),
  );
}
