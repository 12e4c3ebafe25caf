/** What a person does in a chat. */

/** Says something and waits for the end of the turn. Returns the turn's element. */
export async function ask(page, text) {
  const before = await page.locator("[data-turn]").count();
  const message = page.getByLabel("Message");
  await message.fill(text);
  await message.press("Enter");
  // A new chat moves to its own page, where its first turn is.
  if (before === 0) await page.waitForURL(/\/chat\//);
  const turn = page.locator("[data-turn]").nth(before);
  await turn.waitFor();
  return turn;
}

export async function finished(turn) {
  await turn.locator("[data-working]").waitFor({ state: "detached", timeout: 60_000 });
}

/** What a turn shows, without what changes with the clock. */
export async function textOf(turn) {
  return (await turn.innerText()).replace(/\s+/g, " ").trim();
}
