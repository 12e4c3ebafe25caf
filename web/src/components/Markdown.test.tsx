import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown } from "./Markdown";

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

describe("what a model wrote", () => {
  it("never becomes HTML", () => {
    const shown = html(
      'Hi <script>alert(1)</script> <b onclick="x()">b</b>\n\n<iframe src="https://evil.example"></iframe>\n\n<style>*{}</style>',
    );
    expect(shown).not.toMatch(/<(script|b|iframe|style)\b/);
  });

  it("never loads an image", () => {
    const shown = html("![pixel](https://evil.example/p.png?leak=1) ![][x]\n\n[x]: https://evil.example/q.png");
    expect(shown).not.toMatch(/<img|src=/);
  });

  it("shows where a link leads and opens it apart", () => {
    const shown = html("See [the bank](https://evil.example/login).");
    expect(shown).toContain("(evil.example/login)");
    expect(shown).toContain('rel="noreferrer noopener nofollow"');
  });

  it("makes no link of other schemes", () => {
    for (const href of [
      "javascript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "//evil.example",
      "file:///etc/passwd",
    ]) {
      expect(html(`[x](${href})`)).not.toContain("href");
    }
  });

  it("draws tables", () => {
    expect(html("| Host | Load |\n|---|--:|\n| web-1 | 0.4 |")).toContain("<td");
  });
});
