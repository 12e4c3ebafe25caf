import { describe, expect, it } from "vitest";
import { extremesOf, pathOf, scaleOf, seriesOf, timeOf } from "./series";

const at = (minute: number) => `2026-05-01T10:${String(minute).padStart(2, "0")}:00Z`;

describe("a series over time", () => {
  it("is found in rows with a time and numbers", () => {
    const found = seriesOf([0, 1, 2, 3].map((minute) => ({ time: at(minute), cpu: minute, mem: null })));
    expect(found?.times).toHaveLength(4);
    expect(found?.series).toEqual([{ name: "cpu", values: [0, 1, 2, 3] }]);
  });

  it("is turned when the newest comes first", () => {
    const found = seriesOf([3, 2, 1, 0].map((minute) => ({ at: at(minute), cpu: minute })));
    expect(found?.series[0]?.values).toEqual([0, 1, 2, 3]);
  });

  it("is found in pairs and in what Prometheus answers", () => {
    expect(seriesOf([0, 15, 30, 45].map((second) => [1_767_000_000 + second, second]))?.series[0]?.values).toEqual([
      0, 15, 30, 45,
    ]);
    const matrix = seriesOf([
      {
        metric: { __name__: "up", job: "a" },
        values: [
          [1767000000, "1"],
          [1767000015, "0"],
        ],
      },
      {
        metric: { job: "b" },
        values: [
          [1767000015, "NaN"],
          [1767000030, "2.5"],
        ],
      },
    ]);
    expect(matrix?.series).toEqual([
      { name: "up{job=a}", values: [1, 0, null] },
      { name: "{job=b}", values: [null, null, 2.5] },
    ]);
  });

  it.each([
    ["a journal", [0, 1, 2, 3].map((minute) => ({ time: at(minute), priority: 3, message: "x" }))],
    ["attempts without a time", [1, 2, 3, 4].map((attempt) => ({ attempt, connect_ms: attempt }))],
    ["rows out of order", [0, 2, 1, 3].map((minute) => ({ time: at(minute), cpu: 1 }))],
    ["rows with one time twice", [0, 1, 1, 3].map((minute) => ({ time: at(minute), cpu: 1 }))],
    ["too few", [0, 1].map((minute) => ({ time: at(minute), cpu: 1 }))],
    ["pairs of small numbers", [1, 2, 3, 4].map((each) => [each, each])],
    ["words", ["a", "b", "c", "d"]],
    ["nothing", []],
  ])("isn't %s", (_what, list) => {
    expect(seriesOf(list)).toBeNull();
  });

  it("reads times in the forms that results have", () => {
    expect(timeOf("2026-05-01T10:00:00+02:00")).toBe(Date.UTC(2026, 4, 1, 8));
    expect(timeOf(1_767_000_000)).toBe(1_767_000_000_000);
    expect(timeOf(1_767_000_000_123)).toBe(1_767_000_000_123);
    for (const other of ["10:00", "today", 42, null, -1e12, 1e300]) expect(timeOf(other)).toBeNull();
  });
});

describe("the drawing", () => {
  it("has round numbers around all values", () => {
    expect(scaleOf(3, 97)).toEqual({ from: 0, to: 100, ticks: [0, 25, 50, 75, 100] });
    expect(scaleOf(0.2, 0.9).to).toBe(1);
    expect(scaleOf(5, 5).from).toBeLessThanOrEqual(5);
    for (const [min, max] of [
      [-7, -3],
      [0, 0],
      [1e9, 1e9 + 3],
      [-1, 1e-9],
      [99.5, 100],
    ] as const) {
      const { from, to, ticks } = scaleOf(min, max);
      expect([from <= min + 1e-6, to >= max - 1e-6, ticks.length <= 8], `${min}…${max}`).toEqual([true, true, true]);
    }
  });

  it("loses no spike however many points there are", () => {
    const times = Array.from({ length: 50_000 }, (_, index) => index);
    const values = times.map((time) => (time === 31_337 ? 100 : 1));
    const path = pathOf(times, values, { from: 0, to: 100 }, 600, 100);
    expect(path).toContain(" 0L");
    expect(path.length).toBeLessThan(20_000);
  });

  it("leaves gaps, and shows a lone point", () => {
    const path = pathOf([0, 1, 2, 3, 4], [1, 1, null, null, 1], { from: 0, to: 1 }, 4, 10);
    expect(path).toBe("M0 0h0.01L1 0h0.01M4 0h0.01");
  });

  it("tells the least, the most and the last", () => {
    expect(extremesOf([3, null, 1, 2, null])).toEqual({ min: 1, max: 3, last: 2 });
    expect(extremesOf([null])).toBeNull();
  });
});
