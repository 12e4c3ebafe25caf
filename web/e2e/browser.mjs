/** A real Chromium, and pages that note everything a healthy console never does. */
import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

function findChromium() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next name.
    }
  }
  throw new Error("No Chromium on the PATH. On Debian: apt-get install chromium");
}

/** Passkeys need a name for the console that is known before its port is: `http://localhost` leads to the manager. */
function localhostIsTheManager() {
  if (!process.env.STEADYHAND_SIGNING) return [];
  return [`--host-resolver-rules=MAP localhost ${new URL(process.env.STEADYHAND_URL).host}`];
}

export async function launch() {
  return chromium.launch({ executablePath: findChromium(), args: [...FLAGS, ...localhostIsTheManager()] });
}

/** Failed requests that belong to a test: the 401 before signing in, and a second check of the chain at once. */
const EXPECTED = [/status of 401/, /status of 429/];

/** A browser context whose pages write violations and errors to `complaints`. */
export async function openContext(browser, baseURL, complaints, options = {}) {
  const context = await browser.newContext({
    baseURL,
    reducedMotion: "reduce",
    viewport: WIDE,
    locale: "en-GB",
    ...options,
  });
  // Generous: a machine that builds at the same time may take long for a page; a failure takes as long once.
  context.setDefaultTimeout(45_000);
  await context.exposeFunction("reportViolation", (text) => complaints.push(`CSP violation: ${text}`));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      window.reportViolation(
        `${event.violatedDirective} blocked ${event.blockedURI || "inline"} at ${event.sourceFile}:${event.lineNumber}`,
      );
    });
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => complaints.push(`Uncaught at ${page.url()}: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !EXPECTED.some((pattern) => pattern.test(message.text()))) {
        complaints.push(`Console at ${page.url()}: ${message.text()}`);
      }
    });
  });
  return context;
}
