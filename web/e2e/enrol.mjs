/** Adds a host through the sheet, with a real edge where its program is at hand. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bin = process.env.STEADYHAND_BIN_DIR ?? join(import.meta.dirname, "../../target/debug");
const edgeProgram = join(bin, "steadyhand-edge");

export async function enrolHost(page) {
  await page.goto("/hosts");
  await page.getByRole("button", { name: "Add a host" }).first().click();
  const sheet = page.getByRole("dialog", { name: "Add a host" });
  await sheet.getByLabel("Labels of the new host").fill("role=db oops");
  await sheet.getByRole("button", { name: "Make the command" }).click();
  await sheet.getByText("is not of the form").waitFor();
  await sheet.getByLabel("Labels of the new host").fill("role=db, site=fra");
  await sheet.getByRole("button", { name: "Make the command" }).click();
  const command = (await sheet.locator("[data-enroll-command]").innerText()).trim();
  await sheet.getByText(/The command works for another/).waitFor();
  assert.match(command, /steadyhand-edge enroll .*--token/);

  if (!existsSync(edgeProgram) || process.env.STEADYHAND_MOCK) {
    await page.keyboard.press("Escape");
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "steadyhand-edge-"));
  let edge;
  try {
    const words = command.slice(command.indexOf("enroll")).split(/\s+/).slice(1);
    const place = ["--dir", folder, "--config", join(folder, "edge.toml")];
    const enrolled = spawnSync(edgeProgram, ["enroll", ...words, "--name", "second-host", ...place], {
      encoding: "utf8",
    });
    assert.equal(enrolled.status, 0, `${enrolled.stdout}\n${enrolled.stderr}`);
    await sheet.locator("[data-enrolled]").waitFor();
    edge = spawn(edgeProgram, ["run", ...place], { stdio: "ignore" });
    await sheet.getByText(/is online/).waitFor();
    await sheet.getByRole("link", { name: "Open it" }).click();
    await page.getByText("role=db").first().waitFor();
    // It goes, and the page says so without being asked again.
    edge.kill("SIGTERM");
    await page.getByText("offline", { exact: true }).first().waitFor();
  } finally {
    edge?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}
