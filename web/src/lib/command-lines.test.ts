import { describe, expect, it } from "vitest";
import { cliCommand, curlCommand, shellQuote, slashCommand } from "./command-lines";

describe("command lines", () => {
  it("quote for a slash command what its reader would split", () => {
    const args = { unit: "nginx.service", grep: 'it\'s "b"', since: "10", lines: 5, boot: true };
    expect(slashCommand({ tool: "read_journal", edge_id: 2, args }, "web-1")).toBe(
      `/read_journal @web-1 unit=nginx.service grep='it'\\''s "b"' since=10 lines=5 boot=true`,
    );
  });

  it("write lists with commas where nothing in them has one", () => {
    expect(slashCommand({ tool: "host_load", args: { edge_ids: [1, 2] } })).toBe("/host_load edge_ids=1,2");
    expect(slashCommand({ tool: "host_files", edge_id: 1, args: { paths: ["/a b", "/c"] } })).toBe(
      `/host_files edge_id=1 paths='["/a b","/c"]'`,
    );
  });

  it("survive a POSIX shell", () => {
    expect(shellQuote("it's $HOME")).toBe("'it'\\''s $HOME'");
    expect(cliCommand({ tool: "tail_file", edge_id: 1, args: { path: "/var/log/a b.log", lines: 3 } })).toBe(
      "steadyhand call tail_file --edge 1 --param 'path=/var/log/a b.log' --param lines=3",
    );
  });

  it("leave the token to the environment", () => {
    const curl = curlCommand({ tool: "host_load", edge_id: 1, args: {} }, "http://127.0.0.1:7180");
    expect(curl).toContain("$STEADYHAND_TOKEN");
    expect(curl).toContain(`-d '{"tool":"host_load","edge_id":1,"args":{}}'`);
  });

  it("name the procedure of a dangerous call", () => {
    const call = { tool: "reboot_host", edge_id: 1, args: { reason: "x" }, sop: { id: "reboot-web", step: "reboot" } };
    expect(slashCommand(call, "web-1")).toBe("/reboot_host @web-1 reason=x sop=reboot-web/reboot");
    expect(cliCommand(call)).toBe("steadyhand call reboot_host --edge 1 --sop reboot-web/reboot --param reason=x");
    expect(curlCommand(call, "http://x")).toContain('"sop":{"id":"reboot-web","step":"reboot"}');
  });
});
