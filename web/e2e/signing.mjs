/** Dangerous calls: what is imported, the passkeys of two people, and everything that stops a call. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { axeProblems } from "./axe.mjs";
import { PHONE } from "./browser.mjs";
import { ask, finished, textOf } from "./chat.mjs";
import { lookAtAll } from "./looks.mjs";
import { approver, KEYS, ORIGIN, pinnedHost, signList, signProcedure } from "./signing-setup.mjs";

const signButton = (page) => page.getByRole("button", { name: "Sign with a passkey" });

async function makePasskey({ page, name }) {
  await page.goto("/settings/keys");
  await page.getByRole("button", { name: "Make a passkey" }).click();
  const dialog = page.getByRole("dialog", { name: "Make a passkey" });
  await dialog.getByLabel("Label").fill(`phone of ${name}`);
  assert.deepEqual(await axeProblems(page), []);
  await dialog.getByRole("button", { name: "Make it" }).click();
  await page
    .locator('[data-listed="no"]')
    .filter({ hasText: `phone of ${name}` })
    .waitFor();
}

async function chooseFiles(dialog, [document, signature]) {
  await dialog.locator('input[type="file"]').first().setInputFiles(document);
  await dialog.locator('input[type="file"]').last().setInputFiles(signature);
}

async function importProcedure(page, files, version) {
  await page.getByRole("button", { name: "Import", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Import a procedure" });
  await chooseFiles(dialog, files);
  const preview = dialog.locator('[data-sop-preview="tidy-up"]');
  await preview.waitFor();
  const told = await preview.innerText();
  assert.deepEqual(await axeProblems(page), []);
  await dialog.getByRole("button", { name: `Import version ${version}` }).click();
  await page.locator(`[data-sop-detail="tidy-up/${version}"]`).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(`[data-sop="tidy-up/${version}"][data-sop-state="active"]`).waitFor();
  return told;
}

/** Fills in the form of a removal. */
async function askToRemove(page, host, path) {
  await page.goto("/skills/host/remove_path");
  const choice = await page.getByLabel(/^Host/).locator("option", { hasText: host }).getAttribute("value");
  await page.getByLabel(/^Host/).selectOption(choice);
  await page.getByLabel(/^path/).fill(path);
  await page.getByLabel(/^expect/).fill('{"count": 1, "bytes": 5}');
}

/** Runs what the form says, which waits for signatures. */
async function runAndWait(page) {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const card = page.locator('[data-approval-state="pending"]');
  await card.waitFor();
  return { card, id: await card.getAttribute("data-approval") };
}

/**
 * @param tour `step`, `page`, `context`, `browser`, `account`, `complaints`. It needs STEADYHAND_SIGNING: the keys that
 * the manager pins.
 */
export async function signing({ step, page, context, browser, account, complaints }) {
  if (!KEYS) return;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "steadyhand-signing-")));
  const files = join(folder, "files");
  const file = (name) => {
    const path = join(files, name);
    writeFileSync(path, "12345");
    return path;
  };
  mkdirSync(files);
  let host;
  let ana;
  let ben;
  /** A refusal is also the browser's own error in its console. */
  const expectRefusal = async (body) => {
    const heard = complaints.length;
    await body();
    const told = complaints.splice(heard);
    assert.deepEqual(
      told.filter((each) => !/status of 4\d\d/.test(each)),
      [],
    );
  };

  try {
    await step("a host says on its page what it pins, and that dangerous calls can run there", async () => {
      host = await pinnedHost(page, folder, files);
      await page.goto("/settings/security");
      const row = page.locator(`[data-host-signing="${host.name}"]`);
      await row.getByText("Dangerous calls can run.").waitFor();
      await row.getByText(/signatures for files and opaque commands/).waitFor();
      await row.getByRole("link", { name: host.name }).click();
      await page.locator('[data-dangerous="on"]').waitFor();
      assert.match(await page.locator("[data-host-signing]").innerText(), /Approvers' root\s+[0-9a-f]{16}/);
      assert.deepEqual(await axeProblems(page), []);
    });

    await step("two people make their passkeys, where passkeys work", async () => {
      await page.goto("/settings/keys");
      await page.getByText(`Passkeys work only at ${ORIGIN}`).waitFor();
      assert.ok(await page.getByRole("button", { name: "Make a passkey" }).isDisabled());
      ana = await approver(browser, page, complaints, "ana");
      ben = await approver(browser, page, complaints, "ben", { viewport: PHONE, hasTouch: true, isMobile: true });
      await makePasskey(ana);
      await makePasskey(ben);
    });

    await step("the list of approvers is imported only with its root key's signature", async () => {
      await page.goto("/settings/security");
      const lines = [];
      for (const name of ["ana", "ben"]) {
        const offer = page.locator("[data-offer]").filter({ hasText: name });
        lines.push(await offer.locator("pre").innerText());
      }
      const good = signList(folder, 1, lines);
      const other = signProcedure(folder, 9, files, "any_host = true");
      await page.getByRole("button", { name: "Import a list" }).click();
      const dialog = page.getByRole("dialog", { name: "Import a list of approvers" });
      await expectRefusal(async () => {
        await chooseFiles(dialog, [good[0], other[1]]);
        await dialog.getByRole("button", { name: "Import the list" }).click();
        await dialog.getByRole("alert").waitFor();
      });
      await chooseFiles(dialog, good);
      assert.deepEqual(await axeProblems(page), []);
      await dialog.getByRole("button", { name: "Import the list" }).click();
      for (const name of ["ana", "ben"]) await page.locator(`[data-approver="${name}"]`).waitFor();
      await page.locator("[data-offer]").first().waitFor({ state: "detached" });
      for (const each of [ana, ben]) {
        await each.page.reload();
        await each.page.locator('[data-listed="yes"]').waitFor();
      }
    });

    await step("a procedure is imported after its changes were looked at", async () => {
      const first = await importProcedure(page, signProcedure(folder, 1, files, "any_host = true"), 1);
      assert.match(first, /first version/);
      const where = 'labels = { role = "drill" }';
      const second = await importProcedure(page, signProcedure(folder, 2, files, where), 2);
      assert.match(second, /^-any_host = true$/m);
      assert.match(second, /^\+labels = \{ role = "drill" \}$/m);
      await page.getByLabel(/Also those that hold no more/).check();
      await page.locator('[data-sop="tidy-up/1"][data-sop-state="superseded"]').waitFor();
    });

    await step("a dangerous call that no procedure covers is refused, and the form says so before", async () => {
      await askToRemove(page, host.name, "/srv/elsewhere");
      await page.getByText("No procedure covers exactly this call").waitFor();
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.locator('[data-call][data-state="refused"]').waitFor();
    });

    await step("a dangerous call runs once, after two people have signed it with their passkeys", async () => {
      const path = file("two");
      await askToRemove(page, host.name, path);
      await page.locator("[data-procedure-select]").getByText("tidy-up/remove").waitFor({ state: "attached" });
      await page.getByText("--sop tidy-up/remove").waitFor();
      const { card, id } = await runAndWait(page);
      // Who asked doesn't sign.
      await card.locator("[data-may-not]").waitFor();
      assert.equal(await signButton(card).count(), 0);
      assert.equal(await card.getByRole("button", { name: "Allow once" }).count(), 0);
      assert.match(await card.locator('[data-procedure="tidy-up/remove"]').innerText(), /0 of 5 used/);

      await ana.page.goto("/approvals");
      const hers = ana.page.locator(`[data-approval="${id}"]`);
      await hers.waitFor();
      assert.deepEqual(await axeProblems(ana.page), []);
      // One key allows nothing here.
      await hers.focus();
      await ana.page.keyboard.press("a");
      await ben.page.goto(`/approvals/${id}`);
      const his = ben.page.locator(`[data-approval="${id}"]`);
      await his.waitFor();
      assert.equal(await his.getByLabel(/to confirm the host/).count(), 0);
      await signButton(hers).click();
      await hers.locator('[data-slot="ana"]').waitFor();
      await hers.locator("[data-may-not]").waitFor();
      // It shows everywhere, and nothing ran.
      for (const place of [card, his]) await place.locator('[data-slot="ana"]').waitFor();
      assert.equal(readFileSync(path, "utf8"), "12345");

      const typed = his.getByLabel(`Type ${host.name} to confirm the host`);
      await typed.fill("another-host");
      assert.ok(await signButton(his).isDisabled());
      await typed.fill(host.name);
      const box = await signButton(his).boundingBox();
      assert.ok(box.height >= 44, `the button is ${box.height} px high`);
      const place = await his.boundingBox();
      assert.ok(place.x >= 0 && place.x + place.width <= PHONE.width, "the card is wider than the screen");
      assert.deepEqual(await axeProblems(ben.page), []);
      await signButton(his).tap();
      await his.locator("[data-decided]").getByText("Signed by ana and ben").waitFor();
      await page.locator('[data-call][data-state="succeeded"]').waitFor();
      await page.locator(`[data-approval="${id}"]`).getByText("Signed by ana and ben").waitFor();
      assert.ok(!existsSync(path), "it is still there");
      await page.goto(`/approvals/${id}`);
      await page.getByRole("link", { name: "The call in the audit" }).click();
      const sheet = page.locator("[data-call-detail]");
      await sheet.getByText("approval.signed").nth(1).waitFor();
      await sheet.getByText("tidy-up@2/remove").first().waitFor();
    });

    await step("one person's no is enough, and the note reaches the chat that asked", async () => {
      const path = file("denied");
      await page.goto("/");
      const figures = `expect='{"count":1,"bytes":5}'`;
      const turn = await ask(page, `/remove_path @${host.name} path=${path} ${figures} sop=tidy-up/remove`);
      const asked = turn.locator('[data-approval-state="pending"]');
      await asked.locator("[data-may-not]").waitFor();
      const id = await asked.getAttribute("data-approval");
      await ana.page.goto(`/approvals/${id}`);
      const hers = ana.page.locator(`[data-approval="${id}"]`);
      await signButton(hers).click();
      await hers.locator('[data-slot="ana"]').waitFor();
      await ben.page.goto(`/approvals/${id}`);
      const his = ben.page.locator(`[data-approval="${id}"]`);
      await his.getByLabel("Note with the decision (optional)").fill("Look at the backup first.");
      await his.getByRole("button", { name: "Deny" }).tap();
      await his.locator("[data-decided]").getByText("Denied by ben").waitFor();
      await turn.locator('[data-call][data-state="denied"]').waitFor();
      await finished(turn);
      assert.match(await textOf(turn), /denied by ben: Look at the backup first\./i);
      await hers.getByText("Look at the backup first.").waitFor();
      assert.ok(existsSync(path));
    });

    await step("when the host's agent starts anew, signatures are void and are asked for again", async () => {
      const path = file("again");
      await askToRemove(page, host.name, path);
      const { id } = await runAndWait(page);
      await ana.page.goto(`/approvals/${id}`);
      const hers = ana.page.locator(`[data-approval="${id}"]`);
      await signButton(hers).click();
      await hers.locator('[data-slot="ana"]').waitFor();
      await host.restart();
      await hers.locator("[data-reopened]").waitFor();
      assert.equal(await hers.locator('[data-slot="open"]').count(), 2);
      await ana.page.reload();
      assert.match(await hers.locator("[data-reopened]").innerText(), /signed by ana/);
      await signButton(hers).click();
      await hers.locator('[data-slot="ana"]').waitFor();
      await ben.page.goto(`/approvals/${id}`);
      const his = ben.page.locator(`[data-approval="${id}"]`);
      await his.getByLabel(`Type ${host.name} to confirm the host`).fill(host.name);
      await signButton(his).tap();
      await page.locator('[data-call][data-state="succeeded"]').waitFor();
      assert.ok(!existsSync(path));
    });

    await step("a file is written there only with one approver's signature", async () => {
      await page.goto("/skills/host/write_file");
      const choice = await page.getByLabel(/^Host/).locator("option", { hasText: host.name }).getAttribute("value");
      await page.getByLabel(/^Host/).selectOption(choice);
      await page.getByLabel(/^path/).fill(join(files, "written"));
      await page.getByLabel(/^content/).fill("by hand");
      const { id } = await runAndWait(page);
      await ana.page.goto(`/approvals/${id}`);
      const hers = ana.page.locator(`[data-approval="${id}"]`);
      await hers.locator("[data-slot]").first().waitFor();
      assert.equal(await hers.locator("[data-slot]").count(), 1);
      assert.equal(await hers.locator("[data-procedure]").count(), 0);
      await signButton(hers).click();
      await page.locator('[data-call][data-state="succeeded"]').waitFor();
      assert.equal(readFileSync(join(files, "written"), "utf8"), "by hand");
    });

    await step("what needs signatures looks right, wide and narrow, dark and light", async () => {
      await askToRemove(page, host.name, file("looks"));
      const { id } = await runAndWait(page);
      const asAdmin = await lookAtAll(
        browser,
        account.url,
        await context.storageState(),
        {
          "settings-security": "/settings/security?ended=true",
          "settings-security-procedure": "/settings/security?sop=tidy-up%2F2",
          "settings-keys": "/settings/keys",
          "approval-own": `/approvals/${id}`,
          "host-pinned": async (one) => {
            await one.goto("/settings/security");
            await one.locator(`[data-host-signing="${host.name}"]`).getByRole("link").click();
            await one.locator("[data-dangerous]").waitFor();
          },
        },
        complaints,
      );
      const asApprover = await lookAtAll(
        browser,
        ORIGIN,
        await ana.context.storageState(),
        { "approval-to-sign": `/approvals/${id}`, "settings-keys-listed": "/settings/keys" },
        complaints,
      );
      assert.deepEqual([...asAdmin, ...asApprover], []);
      await ana.page.goto(`/approvals/${id}`);
      await ana.page.getByRole("button", { name: "Deny" }).click();
      await ana.page.locator("[data-decided]").waitFor();
    });

    await step("a revoked procedure covers nothing any more, nor does the version before it", async () => {
      await page.goto("/settings/security?sop=tidy-up%2F2");
      await page.getByRole("button", { name: "Revoke" }).click();
      const dialog = page.getByRole("dialog", { name: "Revoke tidy-up version 2?" });
      await dialog.getByText("The versions before it are revoked with it").waitFor();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await page.locator("[data-sop-detail]").getByText("revoked", { exact: true }).waitFor();
      await page.goto("/settings/security?sop=tidy-up%2F1");
      await page.locator("[data-sop-detail]").getByText("revoked", { exact: true }).waitFor();
      await askToRemove(page, host.name, file("revoked"));
      await page.getByText("No procedure covers exactly this call").waitFor();
    });
  } finally {
    await host?.stop();
    for (const each of [ana, ben]) await each?.context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
