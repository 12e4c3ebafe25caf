import { describe, expect, it } from "vitest";
import { looksLikeDiff, parseDiff } from "./diff";

const git = `diff --git a/etc/nginx.conf b/etc/nginx.conf
index 3f1a..9b2c 100644
--- a/etc/nginx.conf
+++ b/etc/nginx.conf
@@ -1,4 +1,5 @@ http {
 user www-data;
-worker_processes 1;
+worker_processes auto;
+pid /run/nginx.pid;
 
 events {
@@ -20 +21,2 @@
-old
+new
+newer
\\ No newline at end of file
`;

describe("a unified diff", () => {
  it("is told by its head", () => {
    expect(looksLikeDiff(git)).toBe(true);
    expect(looksLikeDiff("--- a\t2026-01-01\n+++ b\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n")).toBe(true);
    expect(looksLikeDiff("@@ -1 +1 @@\n-a\n+b")).toBe(true);
    expect(looksLikeDiff("commit 1234\nAuthor: A\n\n    Message\n\ndiff --git a/x b/x\n")).toBe(true);
    for (const text of ["--- a rule ---\ntext", "+1\n-1", "diff is a program", "", "-----BEGIN CERTIFICATE-----\nx"]) {
      expect(looksLikeDiff(text), text).toBe(false);
    }
  });

  it("has its lines with both their numbers", () => {
    const { rows, files, added, removed, hunks } = parseDiff(git);
    expect({ files, added, removed, hunks }).toEqual({ files: 1, added: 4, removed: 2, hunks: [4, 11] });
    expect(rows.slice(4, 11)).toEqual([
      { kind: "hunk", text: "@@ -1,4 +1,5 @@ http {" },
      { kind: "same", text: "user www-data;", before: 1, after: 1 },
      { kind: "removed", text: "worker_processes 1;", before: 2 },
      { kind: "added", text: "worker_processes auto;", after: 2 },
      { kind: "added", text: "pid /run/nginx.pid;", after: 3 },
      { kind: "same", text: "", before: 3, after: 4 },
      { kind: "same", text: "events {", before: 4, after: 5 },
    ]);
    expect(rows.at(-1)).toEqual({ kind: "note", text: "No newline at end of file" });
  });

  it("isn't fooled by lines that look like heads", () => {
    const { rows, files } = parseDiff("--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- not a file\n+++ neither\n same\n");
    expect(files).toBe(1);
    expect(rows.slice(3)).toEqual([
      { kind: "removed", text: "-- not a file", before: 1 },
      { kind: "added", text: "++ neither", after: 1 },
      { kind: "same", text: "same", before: 2, after: 2 },
    ]);
  });

  it("counts files without hunks", () => {
    expect(parseDiff("diff --git a/x b/x\nBinary files a/x and b/x differ\n").files).toBe(1);
    expect(parseDiff("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n").files).toBe(1);
  });

  it("keeps every line, and never throws, whatever comes", () => {
    let seed = 99;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return seed % below;
    };
    const likely = [
      "@@ -1,3 +1,4 @@\n",
      "--- a\n",
      "+++ b\n",
      "+x\n",
      "-y\n",
      " z\n",
      "\n",
      "\\ No\n",
      "diff --git a b\n",
      "@@ -9 +9 @@",
      "\u001b[31m\n",
    ];
    for (let round = 0; round < 2000; round += 1) {
      const text = Array.from({ length: random(30) }, () => likely[random(likely.length)] ?? "").join("");
      const { rows } = parseDiff(text);
      const lines = text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
      expect(rows.length, JSON.stringify(text)).toBe(lines);
    }
  });
});
