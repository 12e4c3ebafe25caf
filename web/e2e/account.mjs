/** Signing in as the first admin, with the one-time password or, on a manager that was used before, the chosen one. */

export const NEW_PASSWORD = process.env.STEADYHAND_NEW_PASSWORD ?? "a calm horse by the river 7";

export function settings() {
  const url = process.env.STEADYHAND_URL;
  const password = process.env.STEADYHAND_PASSWORD;
  if (!url || !password) throw new Error("STEADYHAND_URL and STEADYHAND_PASSWORD (the first password) are needed");
  return { url, name: process.env.STEADYHAND_USER ?? "admin", password };
}

export async function fillSignIn(page, name, password) {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

export async function changeFirstPassword(page, current, next) {
  await page.getByLabel("Current password").fill(current);
  await page.getByLabel("New password", { exact: true }).fill(next);
  await page.getByLabel("New password again").fill(next);
  await page.getByRole("button", { name: "Change the password" }).click();
}

/** Ends on the console, whatever was done to this manager before. */
export async function signIn(page, { name, password }) {
  await page.goto("/");
  await fillSignIn(page, name, password);
  const refused = page.getByRole("alert");
  const forced = page.getByRole("heading", { name: "Choose a password" });
  const inside = page.getByRole("navigation", { name: "Pages" }).first();
  await refused.or(forced).or(inside).first().waitFor();
  if (await refused.isVisible()) await fillSignIn(page, name, NEW_PASSWORD);
  else if (await forced.isVisible()) await changeFirstPassword(page, password, NEW_PASSWORD);
  await page.getByLabel("Message").waitFor();
}
