import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { Json } from "../../api/types";
import { Arguments } from "./Arguments";

const shown = (tool: string, args: Json, reasons = [] as { text: string; start: number; end: number }[]) =>
  renderToStaticMarkup(<Arguments tool={tool} args={args} reasons={reasons} />);

/** What a reader sees. */
const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&gt;", ">")
    .replaceAll("&lt;", "<")
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");

describe("what would run", () => {
  it("shows a command as it is, with its reasons' parts marked", () => {
    const command = "echo '<b>' > /etc/motd && true";
    const html = shown("bash", { command }, [{ text: "writes to a file", start: 11, end: 22 }]);
    expect(textOf(html)).toBe(command);
    expect(html).toMatch(/data-marked[^>]*title="writes to a file"[^>]*>&gt; \/etc\/motd</);
  });

  it("shows the other arguments of a command as well", () => {
    expect(textOf(shown("bash", { command: "true", cwd: "/srv" }))).toContain('"cwd": "/srv"');
  });

  it("shortens nothing, however long or deep", () => {
    const long = "x".repeat(20_000);
    const args = {
      path: "/etc/x",
      list: Array.from({ length: 500 }, (_, index) => index),
      deep: { a: { b: { c: long } } },
    };
    const text = textOf(shown("write_file", args));
    expect(JSON.parse(text)).toEqual(args);
  });

  it("names characters in texts and keys that wouldn't show", () => {
    const text = textOf(shown("write_file", { "na\u200bme": "abc\u202e.gpj" }));
    expect(text).toContain("naU+200Bme");
    expect(text).toContain("abcU+202E.gpj");
  });

  it("says when there is nothing", () => {
    expect(textOf(shown("restart_service", {}))).toBe("No arguments.");
  });
});
