import { describe, expect, it } from "vitest";
import { formatBytes, formatCountdown, formatDuration, formatSeconds, formatTime, humanKey } from "./format";

describe("formats", () => {
  it("shows bytes in the largest unit that keeps them above one", () => {
    expect([0, 1023, 1024, 1536, 157_286_400, 1.2e12].map(formatBytes)).toEqual([
      "0 B",
      "1023 B",
      "1.0 KiB",
      "1.5 KiB",
      "150 MiB",
      "1.1 TiB",
    ]);
  });

  it("shows durations in at most two units", () => {
    expect([0.2, 31, 1_540, 42_000, 3_725_000].map(formatDuration)).toEqual([
      "<1 ms",
      "31 ms",
      "1.5 s",
      "42 s",
      "1 h 2 min",
    ]);
    expect([0, 59, 60, 90, 86_400 * 3 + 4 * 3600].map(formatSeconds)).toEqual([
      "0 s",
      "59 s",
      "1 min",
      "1 min 30 s",
      "3 d 4 h",
    ]);
  });

  it("counts down in minutes and seconds", () => {
    expect([299.2, 60, 9, -4].map(formatCountdown)).toEqual(["5:00", "1:00", "0:09", "0:00"]);
  });

  it("is relative for the last day only", () => {
    const now = Date.parse("2026-05-02T12:00:00Z");
    expect(formatTime("2026-05-02T11:59:57Z", now)).toBe("just now");
    expect(formatTime("2026-05-02T11:20:00Z", now)).toBe("40 min ago");
    expect(formatTime("2026-05-01T13:00:00Z", now)).toBe("23 h ago");
    expect(formatTime("2026-04-20T13:00:00Z", now)).toMatch(/^20 Apr 2026, /);
    expect(formatTime("nonsense", now)).toBe("nonsense");
  });

  it("makes labels of field names", () => {
    expect(humanKey("memory_used_bytes")).toBe("Memory used bytes");
  });
});
