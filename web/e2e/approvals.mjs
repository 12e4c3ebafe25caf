/** Decisions: in the chat, on a phone, by keys alone; standing grants, the freeze, read-only hosts, the policy's answer. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { axeProblems } from "./axe.mjs";
import { openContext, PHONE } from "./browser.mjs";
import { ask, finished, textOf } from "./chat.mjs";
import { lookAtAll, settle } from "./looks.mjs";

/** The stand-in manager runs nothing. */
const real = !process.env.STEADYHAND_MOCK;

const cardIn = (place) => place.locator("[data-approval]").last();

async function pendingCard(turn) {
  const card = cardIn(turn);
  await card.waitFor();
  await turn
    .page()
    .locator(`[data-approval="${await card.getAttribute("data-approval")}"]`)
    .waitFor();
  assert.equal(await card.getAttribute("data-approval-state"), "pending");
  return card;
}

const becomes = (place, state) => place.locator(`[data-approval-state="${state}"]`).last().waitFor();

const focusIs = (page, selector) => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);

/** Moves backwards from the composer until the card has the focus, with the keyboard alone. */
async function tabBackTo(page, id) {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await focusIs(page, `[data-approval="${id}"]`)) return;
    await page.keyboard.press("Shift+Tab");
  }
  assert.fail("the card can't be reached with the Tab key");
}

/** Puts a call to a person over the API, and doesn't wait for it. */
export async function askOverTheApi(page, call) {
  await page.evaluate(async (body) => {
    const me = await (await fetch("/api/v1/me")).json();
    void fetch("/api/v1/calls", {
      method: "POST",
      keepalive: true,
      headers: { "content-type": "application/json", "x-steadyhand-csrf": me.csrf_token },
      body: JSON.stringify(body),
    }).catch(() => undefined);
  }, call);
}

/** Denies what is left over, so that nothing waits for the next step. */
async function denyTheRest(page) {
  const me = await (await page.request.get("/api/v1/me")).json();
  const pending = await (await page.request.get("/api/v1/approvals?state=pending")).json();
  for (const each of pending.items) {
    if (!each.may_decide) continue;
    await page.request.post(`/api/v1/approvals/${each.id}/decision`, {
      headers: { "x-steadyhand-csrf": me.csrf_token },
      data: { decision: "deny" },
    });
  }
}

/**
 * @param tour `step`, `page`, `context`, `browser`, `account`, `complaints`; `host` is the name of a connected one.
 */
export async function approvals({ step, page, context, browser, account, complaints, host }) {
  const folder = mkdtempSync(join(tmpdir(), "steadyhand-approvals-"));
  const writes = (name) => `/bash @${host} command='echo once >> ${join(folder, name)}'`;
  const written = (name) => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, "utf8") : null;
  };
  const hosts = await (await page.request.get("/api/v1/hosts")).json();
  const edge = hosts.items.find((each) => each.name === host)?.id;

  try {
    await page.goto("/");
    await step("a call that changes something waits in the chat, and runs once when it is allowed", async () => {
      const turn = await ask(page, writes("allowed"));
      const card = await pendingCard(turn);
      assert.match(await card.locator("[data-command]").innerText(), /echo once >> /);
      assert.ok((await card.locator("[data-marked]").count()) > 0, "nothing in the command is marked");
      assert.match(await card.locator("[data-countdown]").innerText(), /^\d+:\d\d$/);
      assert.match(await card.innerText(), new RegExp(`on\\s+${host}`));
      assert.ok(await focusIs(page, "[data-composer]"), "the card took the focus");
      if (real) assert.equal(written("allowed"), null);
      assert.deepEqual(await axeProblems(page), []);
      const second = await context.newPage();
      await second.goto(page.url());
      await becomes(second, "pending");
      await page.locator("[data-badge]").first().waitFor();
      await card.getByRole("button", { name: "Allow once" }).dblclick();
      await becomes(turn, "approved");
      await becomes(second, "approved");
      await turn.locator('[data-call][data-state="succeeded"]').waitFor();
      await finished(turn);
      assert.match(await card.innerText(), /Allowed once by/);
      assert.match(await cardIn(second).innerText(), /Allowed once by/);
      if (real) assert.equal(written("allowed"), "once\n");
      await second.close();
    });

    await step("a denied call doesn't run, and the note reaches the chat", async () => {
      const turn = await ask(page, writes("denied"));
      const card = await pendingCard(turn);
      await card.getByLabel("Note with the decision (optional)").fill("Not on a Friday.");
      await card.getByRole("button", { name: "Deny" }).click();
      await becomes(turn, "denied");
      await turn.locator('[data-call][data-state="denied"]').waitFor();
      await finished(turn);
      assert.equal(await card.locator("[data-note]").innerText(), "Not on a Friday.");
      assert.match(await textOf(turn), /denied by/i);
      if (real) assert.equal(written("denied"), null);
      await page.reload();
      await page.locator("[data-turn]").first().waitFor();
      await becomes(page, "denied");
      assert.equal(await cardIn(page).locator("[data-note]").innerText(), "Not on a Friday.");
    });

    await step("by keys alone: letters stay letters in the composer, `d` and `a` decide on the card", async () => {
      const turn = await ask(page, writes("keys"));
      const card = await pendingCard(turn);
      const id = await card.getAttribute("data-approval");
      await page.keyboard.type("ad");
      assert.equal(await page.getByLabel("Message").inputValue(), "ad");
      await page.getByLabel("Message").fill("");
      assert.equal(await card.getAttribute("data-approval-state"), "pending");
      await tabBackTo(page, id);
      // `g` and then `a` goes to the audit, and allows nothing.
      await page.keyboard.press("g");
      await page.keyboard.press("a");
      await page.waitForURL(/\/admin\/audit/);
      await page.keyboard.press("g");
      await page.keyboard.press("p");
      await page.locator(`[data-approval="${id}"][data-approval-state="pending"]`).waitFor();
      await page.keyboard.press("j");
      assert.ok(await focusIs(page, `[data-approval="${id}"]`), "`j` doesn't reach the card");
      await page.keyboard.press("d");
      await page.locator(`[data-approval="${id}"][data-approval-state="denied"]`).waitFor();
      assert.ok(await focusIs(page, `[data-approval="${id}"]`), "the focus got lost with the buttons");
      await page.goBack();
      await page.goBack();
      await page.locator("[data-turn]").first().waitFor();
      const again = await ask(page, writes("keys"));
      const next = await (await pendingCard(again)).getAttribute("data-approval");
      await tabBackTo(page, next);
      await page.keyboard.press("a");
      await becomes(again, "approved");
      await finished(again);
      if (real) assert.equal(written("keys"), "once\n");
    });

    await step("on the phone a decision takes one thumb", async () => {
      const phone = await openContext(browser, account.url, complaints, {
        viewport: PHONE,
        hasTouch: true,
        isMobile: true,
        storageState: await context.storageState(),
      });
      const inbox = await phone.newPage();
      await inbox.goto("/approvals");
      await inbox.locator('[data-stream="online"]').waitFor();
      const turn = await ask(page, writes("phone"));
      const card = inbox.locator('[data-approval-state="pending"]').filter({ hasText: join(folder, "phone") });
      await card.waitFor();
      const place = await card.boundingBox();
      assert.ok(place.x >= 0 && place.x + place.width <= PHONE.width, "the card is wider than the screen");
      for (const button of await card.locator("button:visible").all()) {
        const box = await button.boundingBox();
        assert.ok(box.height >= 44, `“${await button.innerText()}” is ${box.height} px high`);
      }
      assert.deepEqual(await axeProblems(inbox), []);
      await card.getByRole("button", { name: "Allow once" }).tap();
      await becomes(turn, "approved");
      await finished(turn);
      await inbox.getByText("Allowed once by").first().waitFor();
      if (real) assert.equal(written("phone"), "once\n");
      await phone.close();
    });

    await step("“Always…” makes a standing grant, which runs without asking until it is revoked", async () => {
      const turn = await ask(page, writes("always"));
      const card = await pendingCard(turn);
      await card.getByRole("button", { name: "Always…" }).click();
      const form = page.getByRole("dialog", { name: "Always allow bash" });
      assert.match(await form.locator("[data-grant-sentence]").innerText(), /exactly this command/);
      assert.deepEqual(await axeProblems(page), []);
      await form.getByRole("button", { name: "Always allow" }).click();
      await becomes(turn, "approved");
      await finished(turn);
      const again = await ask(page, writes("always"));
      await again.locator('[data-call][data-state="succeeded"]').waitFor();
      await finished(again);
      assert.equal(await again.locator("[data-approval]").count(), 0, "it asked although a grant fits");
      if (real) assert.equal(written("always"), "once\nonce\n");

      const chat = page.url();
      await page.goto("/approvals");
      await page.getByRole("tab", { name: "Standing grants" }).click();
      const grant = page.locator('[data-grant-state="active"]').filter({ hasText: join(folder, "always") });
      await grant.waitFor();
      if (real) assert.match(await grant.innerText(), /used once/);
      await grant.getByRole("button", { name: "Revoke" }).click();
      await page
        .getByRole("dialog", { name: /Revoke the grant/ })
        .getByRole("button", { name: "Revoke" })
        .click();
      await grant.waitFor({ state: "detached" });
      await page.goto(chat);
      await page.locator("[data-turn]").first().waitFor();
      const asked = await ask(page, writes("always"));
      await (await pendingCard(asked)).getByRole("button", { name: "Deny" }).click();
      await finished(asked);
    });

    await step("the history keeps who decided what, with its filters in the address", async () => {
      await page.goto("/approvals?tab=history&outcome=denied&q=friday");
      const rows = page.locator("[data-decision]");
      await rows.first().waitFor();
      for (const row of await rows.all()) assert.equal(await row.getAttribute("data-approval-state"), "denied");
      await rows.first().getByRole("link").click();
      await page.waitForURL(/\/approvals\/[0-9a-f-]{36}$/);
      await page
        .locator("[data-decided]")
        .getByText(/Denied by/)
        .waitFor();
      await page.getByText("Not on a Friday.").waitFor();
      await page.getByRole("link", { name: "The call in the audit" }).click();
      await page.locator("[data-call-detail]").getByText("approval.decided").first().waitFor();
    });

    await step("a skill's form shows the same card while its call waits", async () => {
      await page.goto("/skills/host/bash");
      await page.locator("[data-class-depends]").first().waitFor();
      await page.getByLabel(/^Host/).selectOption({ value: String(edge) });
      await page.getByLabel(/^command/).fill(`echo once >> ${join(folder, "form")}`);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      const card = cardIn(page);
      await card.getByRole("button", { name: "Allow once" }).click();
      await page.locator('[data-call][data-state="succeeded"]').waitFor();
      if (real) assert.equal(written("form"), "once\n");
      // Stop withdraws what waits.
      await page.getByLabel(/^command/).fill(`echo once >> ${join(folder, "stopped")}`);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await becomes(page, "pending");
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await page.locator('[data-call][data-state="cancelled"]').waitFor();
      if (real) assert.equal(written("stopped"), null);
    });

    await step("the policy says what would happen to a call, and by which rule", async () => {
      await page.goto("/settings/policy");
      await page.getByLabel("Skill or tool").selectOption("host/bash");
      const asked = async (command, decision) => {
        await page.getByLabel(/^command/).fill(command);
        await page.getByRole("button", { name: "What would happen?" }).click();
        await page.locator(`[data-explanation="${decision}"]`).waitFor();
      };
      await asked("rm -rf /srv/nothing-here", "ask");
      assert.deepEqual(await axeProblems(page), []);
      if (real) await asked("uptime", "run");
      await page.getByLabel("Skill or tool").selectOption("host/reboot_host");
      await page.getByLabel(/^reason/).fill("to see what would happen");
      await page.getByRole("button", { name: "What would happen?" }).click();
      await page.locator('[data-explanation="deny"]').waitFor();
    });

    await step("a read-only host says so, and lets changes in again", async () => {
      await page.goto(`/hosts/${edge}?tab=settings`);
      await page.getByRole("button", { name: "Make read-only" }).click();
      await page.locator("[data-read-only]").first().waitFor();
      await page.goto("/hosts");
      await page.locator(`[data-host="${edge}"] [data-read-only]`).waitFor();
      await page.goto(`/hosts/${edge}?tab=settings`);
      await page.getByRole("button", { name: "Allow changes again" }).click();
      await page.locator("[data-read-only]").first().waitFor({ state: "detached" });
    });

    await step("a freeze shows on every page and stops changes until an admin lifts it", async () => {
      await page.goto("/hosts");
      const other = await context.newPage();
      await other.goto("/skills");
      await other.locator('[data-stream="online"]').waitFor();
      await page.getByRole("button", { name: "Freeze changes" }).click();
      const dialog = page.getByRole("dialog", { name: "Freeze changes?" });
      await dialog.getByLabel("Reason").fill("a drill");
      await dialog.getByRole("button", { name: "Freeze", exact: true }).click();
      for (const each of [page, other]) {
        const banner = each.locator("[data-freeze-banner]");
        await banner.waitFor();
        assert.match(await banner.innerText(), /frozen since .* by .*: A drill\./s);
      }
      await other.close();
      if (real) {
        await page.goto("/");
        const turn = await ask(page, writes("frozen"));
        await Promise.race([becomes(turn, "pending"), finished(turn)]);
        const card = turn.locator('[data-approval-state="pending"]');
        if ((await card.count()) > 0) await card.getByRole("button", { name: "Allow once" }).click();
        await finished(turn);
        assert.match(await textOf(turn), /frozen/);
        assert.equal(written("frozen"), null);
      }
      const problems = await lookAtAll(
        browser,
        account.url,
        await context.storageState(),
        { "frozen-hosts": "/hosts", "frozen-access": "/settings/access" },
        complaints,
      );
      assert.deepEqual(problems, []);
      await page.goto("/hosts");
      await page.getByRole("button", { name: "Unfreeze" }).click();
      await page.getByRole("dialog", { name: "Unfreeze changes?" }).getByRole("button", { name: "Unfreeze" }).click();
      await page.locator("[data-freeze-banner]").waitFor({ state: "detached" });
    });

    await step("a waiting card looks right, wide and narrow, dark and light", async () => {
      const command = `cd ${folder} && rm -f old.log && echo once >> new; true`;
      const waits = async (one) => {
        await askOverTheApi(one, { tool: "bash", scope: "host", edge_id: edge, args: { command } });
        await becomes(one, "pending");
      };
      const problems = await lookAtAll(
        browser,
        account.url,
        await context.storageState(),
        {
          "approvals-inbox": async (one) => {
            await one.goto("/approvals");
            await waits(one);
          },
          "approvals-always": async (one) => {
            await one.goto("/approvals");
            await waits(one);
            await one
              .locator('[data-approval-state="pending"]')
              .first()
              .getByRole("button", { name: "Always…" })
              .click();
            await settle(one);
          },
        },
        complaints,
      );
      await denyTheRest(page);
      assert.deepEqual(problems, []);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
