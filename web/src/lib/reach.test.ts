import { describe, expect, it } from "vitest";
import { isRestricted, parseSelectors, reachWords } from "./reach";

const hosts = [
  { id: 1, name: "web-1" },
  { id: 2, name: "db-1" },
];

describe("the hosts of an account", () => {
  it("are all where none is named", () => {
    expect(isRestricted({})).toBe(false);
    expect(reachWords({ edge_ids: [], labels: [] }, hosts)).toBeNull();
  });

  it("are named, with the id where a host isn't seen", () => {
    expect(reachWords({ edge_ids: [2, 7] }, hosts)).toBe("db-1, host 7");
    expect(reachWords({ labels: ["env=staging", "env=prod,role=web"] }, hosts)).toBe(
      "those with env=staging or env=prod,role=web",
    );
    expect(reachWords({ edge_ids: [1], labels: ["env=staging"] }, hosts)).toBe("web-1, and those with env=staging");
  });

  it("are read from one selector a line", () => {
    expect(parseSelectors("env=staging\n\n env = prod , role = web \n")).toEqual({
      labels: ["env=staging", "env=prod,role=web"],
      problem: null,
    });
    for (const wrong of ["env", "=x", "env=", "env=a b", "a=b,", "a==b"]) {
      expect(parseSelectors(wrong).problem).toContain("name=value");
    }
  });
});
