import { describe, expect, it } from "vitest";
import { hostsIn, judgeLink } from "./links";

describe("a link", () => {
  it.each([
    ["https://a.example/x?y#z", "x", "a.example/x?y#z"],
    ["https:a.example", "x", "a.example"],
    ["http://A.EXAMPLE/", "x", "a.example"],
    ["https://a.example:8443/", "x", "a.example:8443"],
    ["https://аррӏе.com/", "x", "xn--80ak6aa92e.com"],
    ["https://[::1]:3000/", "x", "[::1]:3000"],
    ["http://2130706433/", "x", "127.0.0.1"],
    ["mailto:a@b.example", "x", "a@b.example"],
    ["mailto:a%40b@c.example", "x", "a@b@c.example"],
  ])("shows where it leads: %s", (href, text, target) => {
    expect(judgeLink(href, text)).toMatchObject({ kind: "link", target });
  });

  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://a.example/1",
    "//evil.example",
    "/relative",
    "ftp://a.example",
    "tel:112",
    "about:blank",
    "chrome://settings",
    "",
  ])("is none in another scheme: %j", (href) => {
    expect(judgeLink(href, "x").kind).toBe("none");
  });

  it("needs no word about its target when its text says it", () => {
    for (const text of ["https://a.example/x", "a.example/x"])
      expect(judgeLink("https://a.example/x", text)).toMatchObject({ said: true, warning: null });
    expect(judgeLink("https://a.example/", "https://a.example")).toMatchObject({ said: true });
    expect(judgeLink("https://a.example/", "here")).toMatchObject({ said: false, warning: null });
  });

  it.each([
    ["https://evil.example/", "https://bank.example", "not bank.example"],
    ["https://evil.example/", "see HTTPS://BANK.example/login now", "not bank.example"],
    ["https://evil.example/", "bank.com", "not bank.com"],
    ["https://evil.example/", "www.bank.zone", "not www.bank.zone"],
    ["https://evil.example/", "bank\u200b.com", "not bank.com"],
    ["https://evil.example/", "bank.zone/login", "not bank.zone"],
    ["https://bank.com@evil.example/", "x", "what stands before the @ is no host"],
    ["https://evil.example/", "https://bank.com@evil.example/", null],
    ["https://аррӏе.com/", "аррӏе.com", "a name with letters of other alphabets"],
    ["https://apple.com/", "аррӏе.com", "not xn--80ak6aa92e.com"],
    ["https://www.bank.com/x", "bank.com", null],
    ["https://git.example/nginx.conf", "nginx.conf", null],
    ["https://git.example/README.md", "README.md", null],
    ["https://git.example/", "main.rs", null],
    ["https://git.example/", "version 1.2.3", null],
    ["mailto:a@b.example?bcc=evil@x.example&body=x", "a@b.example", "fills in bcc, body"],
  ])("tells when its text names another place: %s as %j", (href, text, warning) => {
    expect(judgeLink(href, text)).toMatchObject({ warning });
  });

  it("is looked at as its reader sees it", () => {
    expect(hostsIn("\u202ebank.com\u202c")).toEqual(["bank.com"]);
    expect(hostsIn("ｂａｎｋ．com")).toEqual(["bank.com"]);
    expect(hostsIn("no host here. And none there")).toEqual([]);
  });
});
