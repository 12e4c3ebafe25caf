/**
 * The tour of a new user, in a real browser against a real manager and a real edge. Needs STEADYHAND_URL and
 * STEADYHAND_PASSWORD. Steps build on one another; the first that fails ends the run.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { changeFirstPassword, fillSignIn, NEW_PASSWORD, settings, signIn } from "./account.mjs";
import { approvals } from "./approvals.mjs";
import { axeProblems } from "./axe.mjs";
import { launch, openContext } from "./browser.mjs";
import { budgets } from "./budgets.mjs";
import { ask, finished, textOf } from "./chat.mjs";
import { enrolHost } from "./enrol.mjs";
import { lookAtAll, SCREENSHOTS, settle } from "./looks.mjs";
import { packs } from "./packs.mjs";
import { results, resultsChat } from "./results.mjs";
import { signing } from "./signing.mjs";

mkdirSync(SCREENSHOTS, { recursive: true });
const account = settings();
const browser = await launch();
const complaints = [];
const context = await openContext(browser, account.url, complaints);
const page = await context.newPage();
/** Open event streams of this browser. */
let streams = 0;
let mostStreams = 0;
const isStream = (request) => new URL(request.url()).pathname === "/api/v1/events";
context.on("request", (request) => {
  if (isStream(request)) mostStreams = Math.max(mostStreams, ++streams);
});
for (const end of ["requestfinished", "requestfailed"]) {
  context.on(end, (request) => {
    if (isStream(request)) streams -= 1;
  });
}

let at = "";
async function step(sentence, body) {
  at = sentence;
  const began = performance.now();
  await body();
  assert.deepEqual(complaints, [], "the browser complained");
  console.log(`ok  ${sentence} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
}

async function noAxeProblems(where) {
  assert.deepEqual(await axeProblems(page), [], where);
}

async function tour() {
  let sessionUrl = "";
  let hostName = "";

  await step("a wrong password is refused without saying what was wrong", async () => {
    await page.goto("/");
    await settle(page);
    await noAxeProblems("the sign-in page");
    await fillSignIn(page, account.name, "not the password at all");
    const told = await page.getByRole("alert").innerText();
    assert.match(told, /name or (the )?password/i);
  });

  await step("the first password lets in only to choose another", async () => {
    await fillSignIn(page, account.name, account.password);
    const forced = page.getByRole("heading", { name: "Choose a password" });
    const refused = page.getByRole("alert");
    await forced.or(refused).first().waitFor();
    if (await forced.isVisible()) {
      await noAxeProblems("the password page");
      await changeFirstPassword(page, account.password, "short");
      await page.getByText("At least 12 characters.").waitFor();
      await changeFirstPassword(page, account.password, NEW_PASSWORD);
    } else {
      await signIn(page, account);
    }
    await page.getByLabel("Message").waitFor();
  });

  await step("the console is live", async () => {
    await page.locator('[data-stream="online"]').waitFor();
  });

  await step("“how loaded is this host?” runs host_load and answers with a table", async () => {
    const turn = await ask(page, "how loaded is this host?");
    sessionUrl = page.url();
    const call = turn.locator("[data-call]").first();
    await call.waitFor();
    await finished(turn);
    assert.match(await call.innerText(), /host_load/);
    assert.equal(await call.getAttribute("data-state"), "succeeded");
    hostName = (await call.innerText()).match(/on (\S+)/)?.[1] ?? "";
    await turn.locator("[data-answer] table").first().waitFor();
    await turn.getByText("Answered by the built-in router").waitFor();
    await call.getByRole("button", { name: /host_load/ }).click();
    await call.getByRole("button", { name: "JSON", exact: true }).click();
    await call.getByRole("button", { name: "View", exact: true }).click();
  });

  await step("“is port 22 open on localhost?” runs probe_tcp", async () => {
    const turn = await ask(page, "is port 22 open on localhost?");
    await finished(turn);
    assert.match(await turn.locator("[data-call]").first().innerText(), /probe_tcp/);
    assert.ok((await turn.locator("[data-answer]").last().innerText()).length > 10);
    await turn.getByText("Answered by the built-in router").waitFor();
    const end = await turn.evaluate((element) => element.getBoundingClientRect().bottom);
    const composer = await page.getByLabel("Message").boundingBox();
    assert.ok(
      end <= composer.y + 8,
      `the answer ends at ${end} px, below the composer's ${composer.y} px: the view didn't follow`,
    );
    assert.equal(await page.getByRole("button", { name: "New below" }).count(), 0);
  });

  await step("a second tab shows the same and shares the stream", async () => {
    const second = await context.newPage();
    await second.goto(sessionUrl);
    const turns = page.locator("[data-turn]");
    await second.locator("[data-turn]").nth(1).waitFor();
    await second.locator('[data-stream="online"]').waitFor();
    const turn = await ask(page, "what is eating memory?");
    const there = second.locator("[data-turn]").nth(2);
    await there.waitFor();
    await finished(turn);
    await finished(there);
    assert.equal(await textOf(there), await textOf(turn));
    assert.equal(await turns.count(), await second.locator("[data-turn]").count());
    // The tab that reads the stream goes; the other takes over.
    const next = await context.newPage();
    await next.goto("/hosts");
    await next.close();
    await second.close();
    assert.ok(mostStreams <= 2, `${mostStreams} event streams were open at once`);
  });

  await step("a reload in the middle of a turn shows the same", async () => {
    const turn = await ask(page, "how loaded is this host?");
    await turn.locator("[data-call], [data-working]").first().waitFor();
    await page.reload();
    const again = page.locator("[data-turn]").nth(3);
    await again.waitFor();
    await finished(again);
    const live = await textOf(again);
    await page.reload();
    await again.waitFor();
    await finished(again);
    assert.equal(await textOf(again), live);
    await again.locator("[data-answer] table").first().waitFor();
  });

  await step("`/` completes a tool, and its form runs it without the mouse", async () => {
    const message = page.getByLabel("Message");
    await message.focus();
    await page.keyboard.type("/probe_t");
    await page.getByRole("option", { name: /probe_tcp/ }).waitFor();
    await page.keyboard.press("Enter");
    const form = page.getByRole("region", { name: "Parameters of probe_tcp" });
    await form.getByLabel(/^target/).focus();
    await page.keyboard.type("localhost:22");
    await page.keyboard.press("Enter");
    const turn = page.locator("[data-turn]").nth(4);
    await turn.waitFor();
    await finished(turn);
    assert.match(await turn.locator("[data-user-message]").innerText(), /^\/probe_tcp .*target=localhost:22/);
    await turn.locator('[data-call][data-state="succeeded"]').waitFor();
  });

  await step("drafts survive a reload", async () => {
    await page.getByLabel("Message").fill("half a thou");
    await page.reload();
    assert.equal(await page.getByLabel("Message").inputValue(), "half a thou");
    await page.getByLabel("Message").fill("");
  });

  await step("Skills lists everything and runs a skill from its form", async () => {
    await page.getByRole("link", { name: "Skills" }).first().click();
    await page.locator('[data-skill="host/probe_tcp"]').waitFor();
    for (const key of [
      "host_load",
      "host_processes",
      "tail_file",
      "read_journal",
      "service_status",
      "restart_service",
      "reboot_host",
    ]) {
      assert.equal(await page.locator(`[data-skill="host/${key}"]`).count(), 1, key);
    }
    await page.getByLabel("Filter skills").fill("tcp");
    await page.waitForURL(/q=tcp/);
    await page.getByRole("link", { name: "probe_tcp" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("is required").waitFor();
    await page.getByLabel(/^target/).fill("localhost:22");
    await page.getByLabel(/^count/).fill("2");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator('[data-call][data-state="succeeded"]').waitFor();
    await page.getByText("steadyhand call probe_tcp").waitFor();
  });

  await packs({ step, page });

  await step("Audit shows each of these calls, from whichever door", async () => {
    await page.getByRole("link", { name: "Audit" }).first().click();
    const rows = page.locator("[data-audit-call]");
    await rows.first().waitFor();
    const shown = (await rows.allInnerTexts()).join("\n");
    for (const tool of ["host_load", "probe_tcp", "host_processes"]) assert.match(shown, new RegExp(tool));
    assert.match(shown, /chat/);
    assert.match(shown, /api/);
    await page.locator('[data-chain="ok"]').waitFor();
    await page.goto("/admin/audit?tool=probe_tcp");
    await rows.first().waitFor();
    for (const row of await rows.allInnerTexts()) assert.match(row, /probe_tcp/);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator("[data-call-detail]").getByText("Rows in the chained log").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[data-call-detail]").waitFor({ state: "detached" });
  });

  await step("Hosts shows the edge online", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.waitForURL(/\/hosts/);
    const row = page.locator('[data-host-state="online"]').first();
    await row.waitFor();
    if (hostName) assert.match(await row.innerText(), new RegExp(hostName));
    await row.getByRole("link").click();
    for (const tab of ["Skills", "Calls", "Settings", "Overview"]) {
      await page.getByRole("tab", { name: tab }).click();
      await settle(page);
    }
    await page.getByText("Kernel", { exact: true }).waitFor();
  });

  await step("a host is added with one command and turns green by itself", async () => {
    await enrolHost(page);
  });

  await approvals({ step, page, context, browser, account, complaints, host: hostName });

  await signing({ step, page, context, browser, account, complaints });

  await step("⌘K finds pages, hosts, chats and skills", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /Search/ }).fill("tail_file");
    await page.getByRole("option", { name: /tail_file/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/skills\/host\/tail_file/);
    await page.getByRole("heading", { name: /tail_file/ }).waitFor();
  });

  await step("Settings shows and tests the models, accounts and tokens", async () => {
    await page.goto("/settings");
    await page.waitForURL(/\/settings\/models/);
    const builtin = page.locator('[data-model="builtin"]');
    await builtin.getByRole("button", { name: "Test" }).click();
    await builtin.locator('[data-model-test="ok"]').waitFor();
    await page.getByRole("link", { name: "Accounts and tokens" }).click();
    await page.getByRole("heading", { name: "Accounts and tokens" }).waitFor();
    await settle(page);
    await page.getByRole("button", { name: "Make a token" }).click();
    const dialog = page.getByRole("dialog", { name: "Make a token" });
    await dialog.getByLabel("Name").fill("browser test");
    await dialog.getByRole("button", { name: "Make", exact: true }).click();
    await dialog.getByText(/^shp_/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("browser test").first().waitFor();
  });

  await step("a lost connection is said, and heals by itself", async () => {
    await page.goto("/hosts");
    await page.locator('[data-stream="online"]').waitFor();
    // The stream's end and each new try are the browser's own console errors, and expected here.
    const heard = complaints.length;
    await context.setOffline(true);
    await page.getByText(/No connection to the manager/).waitFor({ timeout: 45_000 });
    await context.setOffline(false);
    await page.locator('[data-stream="online"]').waitFor({ timeout: 45_000 });
    complaints.splice(heard);
  });

  await results({ step, context });

  await budgets({ step, context, page, complaints, sessionUrl, openStreams: () => streams });

  await step("the README's picture shows what the product does", async () => {
    const one = await context.newPage();
    await one.emulateMedia({ colorScheme: "dark" });
    // Low enough to leave out the file systems, which would tell of the machine that took the picture.
    await one.setViewportSize({ width: 1440, height: 600 });
    await one.goto("/");
    const turn = await ask(one, "how loaded is this host?");
    await finished(turn);
    await settle(one);
    // As high as the question, its call and the first table: what follows is about this machine.
    const conversation = one.getByRole("region", { name: "Conversation" });
    await conversation.evaluate((element) => element.scrollTo(0, 0));
    const table = await turn.locator("[data-answer] .answer-table").first().boundingBox();
    const composer = await one.locator("[data-composer]").boundingBox();
    const below = 900 - composer.y + 24;
    await one.setViewportSize({ width: 1440, height: Math.ceil(table.y + table.height + below) });
    await conversation.evaluate((element) => element.scrollTo(0, 0));
    await one.mouse.move(0, 0);
    await one.screenshot({ path: join(SCREENSHOTS, "readme.png") });
    // The committed picture changes only when asked: each run would show another load.
    if (process.env.STEADYHAND_PICTURE) {
      copyFileSync(join(SCREENSHOTS, "readme.png"), join(import.meta.dirname, "../../docs/screenshot.png"));
    }
    await one.close();
  });

  await step("every page looks right, wide and narrow, dark and light", async () => {
    const storage = await context.storageState();
    const calls = await (await context.request.get("/api/v1/calls?limit=50")).json();
    const hosts = await (await context.request.get("/api/v1/hosts")).json();
    const host = hosts.items.find((each) => each.state === "online")?.id;
    const openCall = async (one, name) => {
      const call = one.locator("[data-call]").filter({ hasText: name }).first();
      await call.getByRole("button").first().click();
    };
    const problems = await lookAtAll(
      browser,
      account.url,
      storage,
      {
        chat: new URL(sessionUrl).pathname,
        "chat-open-call": async (one) => {
          await one.goto(sessionUrl);
          await openCall(one, "host_load");
        },
        "chat-results": async (one) => {
          await resultsChat().show(one);
          await openCall(one, "bash");
          await openCall(one, "write_file");
          await one.getByRole("region", { name: "Conversation" }).evaluate((element) => element.scrollTo(0, 0));
        },
        "chat-new": "/",
        "chat-tool-form": async (one) => {
          await one.goto("/");
          await one.getByLabel("Message").fill("/probe_tcp ");
          await one.getByRole("region", { name: "Parameters of probe_tcp" }).waitFor();
        },
        "chat-tools": async (one) => {
          await one.goto("/");
          await one.getByLabel("Message").fill("/");
          await one.getByRole("option").first().waitFor();
        },
        hosts: "/hosts",
        host: `/hosts/${host}`,
        "host-skills": `/hosts/${host}?tab=skills`,
        "host-calls": `/hosts/${host}?tab=calls`,
        "host-settings": `/hosts/${host}?tab=settings`,
        "add-host": async (one) => {
          await one.goto("/hosts");
          await one.getByRole("button", { name: "Add a host" }).first().click();
        },
        skills: "/skills",
        "skills-pack": async (one) => {
          await one.goto("/skills");
          await one.locator("[data-skill]").first().waitFor();
          const waiting = one.locator('[data-pack-state="waiting"] summary').first();
          if ((await waiting.count()) > 0) await waiting.click();
        },
        skill: "/skills/host/probe_tcp",
        "skill-asks": "/skills/host/restart_service",
        "skill-refused": "/skills/host/reboot_host",
        "skill-depends": "/skills/host/bash",
        "skill-manager": "/skills/manager/host_load",
        approvals: "/approvals",
        "approvals-history": "/approvals?tab=history",
        "approvals-history-empty": "/approvals?tab=history&q=nothing-like-it",
        "approvals-grants": "/approvals?tab=grants&ended=true",
        approval: async (one) => {
          await one.goto("/approvals?tab=history");
          await one.locator("[data-decision]").first().getByRole("link").click();
          await one.locator("[data-decided]").waitFor();
        },
        audit: "/admin/audit",
        "audit-empty": "/admin/audit?tool=reboot_host&state=running",
        "audit-call": `/admin/audit?call=${calls.items.find((each) => each.tool === "probe_tcp")?.id}`,
        "settings-models": "/settings/models",
        "settings-accounts": "/settings/accounts",
        "settings-access": "/settings/access",
        "settings-policy": "/settings/policy?tool=host%2Fbash",
        "settings-enrolment": "/settings/enrolment",
        "settings-about": "/settings/about",
        palette: async (one) => {
          await one.goto("/hosts");
          await one.getByRole("button", { name: /Search/ }).click();
          await one.getByRole("dialog", { name: "Search" }).getByRole("option").first().waitFor();
        },
        keys: async (one) => {
          await one.goto("/approvals");
          await one.getByRole("heading", { name: "Approvals" }).waitFor();
          await one.keyboard.press("?");
          await one.getByRole("dialog", { name: "Keys" }).waitFor();
        },
        "not-found": "/no/such/page",
      },
      complaints,
    );
    assert.deepEqual(problems, []);
  });

  await step("signing out ends it in every tab", async () => {
    await page.goto("/hosts");
    const other = await context.newPage();
    await other.goto("/skills");
    await other.locator('[data-stream="online"]').waitFor();
    await page.locator('[data-stream="online"]').waitFor();
    await page.getByRole("button", { name: /Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
  });
}

let failed = false;
try {
  await tour();
} catch (error) {
  failed = true;
  console.error(`not ok  ${at}\n${error.stack ?? error}`);
  if (complaints.length > 0) console.error(`The browser complained:\n${complaints.join("\n")}`);
  await page.screenshot({ path: join(SCREENSHOTS, "failed.png") }).catch(() => {});
  console.error(`See ${join(SCREENSHOTS, "failed.png")}, taken at ${page.url()}`);
}
await browser.close();
process.exit(failed ? 1 : 0);
