/** Accessibility rules over a page as it stands. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Every violation, one line each. Runs through the debugger, so the page's policy stays in force. */
export async function axeProblems(page) {
  await page.evaluate(source);
  const violations = await page.evaluate(async () => {
    const result = await window.axe.run(document, {
      // Only these are wanted, and telling the rest takes most of the time.
      resultTypes: ["violations"],
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      rules: { region: { enabled: false } },
    });
    return result.violations.map((each) => ({
      id: each.id,
      help: each.help,
      nodes: each.nodes
        .slice(0, 4)
        .map(
          (node) =>
            `${node.target.join(" ")} ${node.html.slice(0, 160)} ${node.any.map((check) => check.message).join("; ")}`,
        ),
    }));
  });
  return violations.map((each) => `${each.id}: ${each.help}\n      ${each.nodes.join("\n      ")}`);
}
