import { describe, expect, it } from "vitest";
import { cliCommand, curlCommand, shellQuote, slashCommand } from "./command-lines";

describe("command lines", () => {
  it("quote what a slash command would read as something else", () => {
    expect(
      slashCommand({
        tool: "read_journal",
        edge_id: 2,
        args: { unit: "nginx.service", grep: 'a "b"', since: "10", lines: 5, boot: true },
      }),
    ).toBe('/read_journal edge_id=2 unit=nginx.service grep="a \\"b\\"" since="10" lines=5 boot=true');
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
});
