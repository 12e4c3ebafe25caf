import { describe, expect, it } from "vitest";
import type { Json } from "../../api/types";
import { foldEqual, hostResults } from "./hosts";

const batch: Json = {
  succeeded: 2,
  failed: 1,
  hosts: [
    { edge_id: 1, name: "web-1", state: "succeeded", result: { load1: 1 } },
    { edge_id: 2, name: "web-2", state: "succeeded", result: { load1: 1 } },
    { edge_id: 3, name: "db-1", state: "failed", error: "offline" },
  ],
};

describe("a result of several hosts", () => {
  it("is read host by host, and equal ones fold", () => {
    const hosts = hostResults(batch);
    expect(hosts && foldEqual(hosts).map((group) => group.map((host) => host.name))).toEqual([
      ["web-1", "web-2"],
      ["db-1"],
    ]);
  });

  it("is not seen in lists of other things", () => {
    expect(hostResults({ hosts: [{ edge_id: 1, name: "web-1", status: "online" }] })).toBeNull();
    expect(hostResults({ hosts: [] })).toBeNull();
    expect(hostResults([1])).toBeNull();
  });
});
