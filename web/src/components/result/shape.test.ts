import { describe, expect, it } from "vitest";
import { formatValue, gistOf, labelOf, shapeOf } from "./shape";

describe("the shape of a result", () => {
  it("draws a list of flat objects as a table, without empty columns", () => {
    const shape = shapeOf([
      { mount: "/", used_percent: 61.4, note: null },
      { mount: "/var", used_percent: 45, note: null },
    ]);
    expect(shape).toMatchObject({ kind: "table", columns: ["mount", "used_percent"] });
  });

  it("splits an object into lines and sections", () => {
    const shape = shapeOf({ uptime_seconds: 3, text: "a\nb", disks: [{ name: "vda" }], gone: null });
    expect(shape.kind === "fields" && [shape.small.map(([key]) => key), shape.large.map(([key]) => key)]).toEqual([
      ["uptime_seconds"],
      ["text", "disks"],
    ]);
  });

  it("draws lines of text as text", () => {
    expect(shapeOf(Array.from({ length: 60 }, (_, index) => `line number ${index} of the journal`))).toMatchObject({
      kind: "text",
    });
  });

  it("reads units off the names", () => {
    expect(formatValue("used_bytes", 1536).text).toBe("1.5 KiB");
    expect(formatValue("used_percent", 61.44).text).toBe("61.4 %");
    expect(formatValue("connect_ms", 0.21).text).toBe("0.21 ms");
    expect(formatValue("uptime_seconds", 90).text).toBe("1 min 30 s");
    expect(formatValue("pid", 12345).text).toBe("12345");
    expect(labelOf("used_bytes")).toBe("Used");
    expect(labelOf("bytes")).toBe("Bytes");
    expect(labelOf("cpu_time_ms")).toBe("CPU time");
  });

  it("reads bytes off what they belong to, and rates", () => {
    expect(formatValue("used", 2117742592, "memory").text).toBe("2.0 GiB");
    expect(formatValue("used", 3, "seats").text).toBe("3");
    expect(formatValue("read_bytes_per_second", 220556).text).toBe("215 KiB/s");
    expect(labelOf("read_bytes_per_second")).toBe("Read");
    expect(formatValue("labels", { role: "db", site: "fra" }).text).toBe("role=db, site=fra");
  });

  it("draws short lines as lines, and rows with labels as a table", () => {
    expect(shapeOf(["a", "b"], "lines")).toMatchObject({ kind: "text", text: "a\nb" });
    expect(shapeOf(["a", "b"], "addresses")).toMatchObject({ kind: "value" });
    expect(shapeOf([{ name: "vm", labels: { role: "db" } }])).toMatchObject({ kind: "table" });
  });

  it("draws changes, series and pictures as what they are", () => {
    const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n";
    expect(shapeOf(diff, "stdout")).toMatchObject({ kind: "diff" });
    expect(shapeOf(diff.split("\n"), "lines")).toMatchObject({ kind: "diff" });
    expect(shapeOf("+a line\n-another", "diff")).toMatchObject({ kind: "diff" });
    expect(shapeOf("+a line\n-another", "stdout")).toMatchObject({ kind: "text" });
    const times = [0, 1, 2, 3].map((second) => 1_767_000_000 + second);
    expect(shapeOf(times.map((time) => ({ time, load: 1 })))).toMatchObject({ kind: "series" });
    const png = `iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW${"AAAA".repeat(8)}`;
    const answered = { type: "image", mimeType: "image/svg+xml", data: png };
    expect(shapeOf(answered)).toMatchObject({ kind: "picture", picture: { type: "image/png", width: 2, height: 3 } });
    expect(shapeOf({ ...answered, a: 1, b: 2 })).toMatchObject({ kind: "fields" });
  });

  it("tells a list of a hundred thousand rows by some of them", () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => ({ index, name: `n${index}` }));
    expect(shapeOf(rows)).toMatchObject({ kind: "table", columns: ["index", "name"] });
  });

  it("tells the gist of arguments", () => {
    expect(gistOf({ unit: "nginx.service", since: "1h", grep: null })).toBe("nginx.service  since=1h");
    expect(gistOf({ edge_ids: [1, 2], top_n: 5 })).toBe("top_n=5");
    expect(gistOf({})).toBe("");
  });
});
