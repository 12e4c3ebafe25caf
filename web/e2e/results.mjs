/** Every way in which a result is drawn, and what is done with it; and text that tries to be more than text. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axeProblems } from "./axe.mjs";
import { MadeUp } from "./made-up.mjs";

const ESC = "\u001b";
/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGN46uELAAOQAXsmNkYKAAAAAElFTkSuQmCC";

const DIFF = `--- a/etc/motd
+++ b/etc/motd
@@ -1,2 +1,2 @@
 kept
-gone
+come
@@ -9 +9,2 @@
 end
+more
`;

export function resultsChat() {
  const chat = new MadeUp();
  chat.begin("show every view");
  chat.call(
    "bash",
    {
      exit_code: 0,
      stdout: `${ESC}[1;31mred${ESC}[0m ${ESC}[38;5;208morange${ESC}[0m ${ESC}[2Jcleared invoice\u202egpj.exe\n 10 %\r 50 %\r100 %\n`,
    },
    { command: "make" },
  );
  chat.call("write_file", { path: "/etc/motd", diff: DIFF });
  chat.call("host_processes", {
    processes: Array.from({ length: 2_000 }, (_, index) => ({
      pid: 100 + index,
      name: index === 7 ? "=cmd|calc" : `worker-${index}`,
      cpu_percent: (index * 37) % 100,
    })),
  });
  chat.call("host_load", {
    samples: Array.from({ length: 300 }, (_, index) => ({
      time: new Date(Date.UTC(2026, 4, 1) + index * 60_000).toISOString(),
      cpu_percent: index === 150 ? 99 : 20,
    })),
  });
  chat.call("probe_http", { status: 200, image: { type: "image", mimeType: "image/svg+xml", data: PNG } });
  chat.answer("One of each view.");
  return chat;
}

const NASTY = [
  "<script>window.ran = true</script><img src=x onerror='window.ran = true'>",
  "![pixel](https://evil.example/p.png?leak=1) and [click](javascript:window.ran=true)",
  "[https://bank.example/](https://evil.example/x) and <https://аррӏе.com/>",
  "invoice\u202egpj.exe",
  "```sh\nls -l\n```",
].join("\n\n");

async function views(page) {
  await resultsChat().show(page);
  const open = async (tool) => {
    const call = page.locator("[data-call]").filter({ hasText: tool }).first();
    await call.getByRole("button").first().click();
    return call;
  };
  const terminal = await open("bash");
  await terminal.locator("[data-control]", { hasText: "^[[2J" }).waitFor();
  await terminal.locator("[data-hidden-mark]", { hasText: "U+202E" }).waitFor();
  assert.equal(await terminal.getByText("50 %").count(), 0, "what was written over is shown");
  await terminal.getByRole("button", { name: "Unfold what was written over" }).click();
  await terminal.getByText("50 %").waitFor();

  const changes = await open("write_file");
  assert.match(await changes.locator("[data-diff]").innerText(), /\+2\s+−1\s+in one file/);
  assert.equal(await changes.locator('[data-diff-row="added"]').count(), 2);

  const table = await open("host_processes");
  const rows = table.locator("tbody tr:not([aria-hidden])");
  assert.ok((await rows.count()) < 100, `${await rows.count()} of 2,000 rows are drawn`);
  const head = table.getByRole("columnheader", { name: "PID" });
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  assert.match(await rows.first().innerText(), /^2099/);
  const [csv] = await Promise.all([page.waitForEvent("download"), table.getByRole("button", { name: "CSV" }).click()]);
  const lines = readFileSync(await csv.path(), "utf8")
    .trimEnd()
    .split("\r\n");
  assert.deepEqual([lines.length, lines[0], lines[1]], [2001, "pid,name,cpu_percent", "2099,worker-1999,63"]);
  assert.ok(lines.some((line) => line.includes("'=cmd|calc")));
  await table.getByRole("button", { name: "JSON", exact: true }).click();
  await table.getByLabel("Find in the JSON").fill("worker-1234");
  await table.getByText("1", { exact: true }).or(table.getByText("1+")).first().waitFor();
  await page.keyboard.press("Enter");
  await table.getByRole("treeitem", { name: /worker-1234/ }).waitFor();
  await table.getByText("/processes/1234/name").waitFor();

  const load = await open("host_load");
  const chart = load.locator('[aria-roledescription="chart"]');
  assert.equal(await chart.locator("path[fill=none]").count(), 1);
  await chart.focus();
  await page.keyboard.press("Home");
  await load.getByRole("cell", { name: "99 %" }).first().waitFor();
  await load.getByRole("button", { name: "As a table" }).click();
  await load.getByText("300 rows").waitFor();

  const picture = await open("probe_http");
  const image = picture.locator("img");
  await image.waitFor();
  assert.match((await image.getAttribute("src")) ?? "", /^data:image\/png;/);
  assert.equal(await image.evaluate((element) => element.decode().then(() => element.naturalWidth)), 1);

  const [whole] = await Promise.all([
    page.waitForEvent("download"),
    changes.getByRole("button", { name: "Download the result" }).click(),
  ]);
  assert.deepEqual(JSON.parse(readFileSync(await whole.path(), "utf8")).path, "/etc/motd");
  assert.deepEqual(await axeProblems(page), []);

  await page.getByRole("button", { name: "Save this chat" }).click();
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "As Markdown" }).click(),
  ]);
  assert.match(readFileSync(await saved.path(), "utf8"), /> show every view[\s\S]*\*\*Call `write_file`\*\* on web-1/);
}

async function nasty(page) {
  const elsewhere = [];
  page.on("request", (request) => {
    if (new URL(request.url()).hostname.includes("evil")) elsewhere.push(request.url());
  });
  const chat = new MadeUp();
  chat.begin("say something nasty \u202e");
  chat.answer(NASTY);
  await chat.show(page);
  const answer = page.locator("[data-answer]");
  await answer.getByText("image not shown: pixel").waitFor();
  await answer.getByText("not a link: javascript:window.ran=true").waitFor();
  await answer.getByText("xn--80ak6aa92e.com").waitFor();
  await answer.locator("[data-link-warning]", { hasText: "not bank.example" }).waitFor();
  await answer.locator("[data-hidden-mark]", { hasText: "U+202E" }).waitFor();
  await page.locator("[data-user-message] [data-hidden-mark]").waitFor();
  assert.equal(await answer.locator("img, script").count(), 0);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.deepEqual(elsewhere, []);
  await answer.getByRole("button", { name: "Copy the code" }).focus();
  assert.deepEqual(await axeProblems(page), []);
}

export async function results({ step, context }) {
  for (const [sentence, body] of [
    ["results are tables, trees, terminals, changes, charts and pictures, and can be taken along", views],
    ["what a model writes is text: nothing runs, nothing is fetched, nothing hides", nasty],
  ]) {
    await step(sentence, async () => {
      const page = await context.newPage();
      await body(page);
      await page.close();
    });
  }
}
