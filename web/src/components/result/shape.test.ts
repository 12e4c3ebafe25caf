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

  it("tells the gist of arguments", () => {
    expect(gistOf({ unit: "nginx.service", since: "1h", grep: null })).toBe("nginx.service  since=1h");
    expect(gistOf({ edge_ids: [1, 2], top_n: 5 })).toBe("top_n=5");
    expect(gistOf({})).toBe("");
  });
});
