import { describe, expect, it } from "vitest";
import { emptyConversation, reduce } from "../events/reducer";
import type { TurnEvent } from "../events/types";
import { chatAsJson, chatAsMarkdown } from "./export-chat";

const drafts = [
  ["chat.user-message.v1", { message_id: "u", text: "why?\nnow", user_id: 1, user_name: "ada" }],
  ["chat.turn-started.v1", { model: { provider: "x", model: "m-1", builtin: false } }],
  ["chat.phase.v1", { phase: "tools", round: 1 }],
  [
    "chat.tool-call.v1",
    { call_id: "c1", tool: "bash", scope: "host", class: "safe", edge_name: "web-1", args: { command: "cat x" } },
  ],
  [
    "chat.tool-result.v1",
    { call_id: "c1", state: "succeeded", result: { stdout: "```\n# not a heading\u202e\n````" }, duration_ms: 12 },
  ],
  ["chat.tool-call.v1", { call_id: "c2", tool: "bash", scope: "host", class: "safe", args: {} }],
  ["chat.tool-result.v1", { call_id: "c2", state: "failed", error: "gone\n## Fake heading" }],
  ["chat.message.v1", { message_id: "m", text: "It is **fine**.", calls: [] }],
  ["chat.turn-finished.v1", { outcome: "limited", reason: "too many rounds" }],
] as const;
const events = drafts.map(
  ([kind, payload], index) =>
    ({
      id: index + 1,
      session_id: "s",
      turn_id: "t",
      seq: index,
      at: "2026-05-01T10:00:00Z",
      kind,
      payload,
    }) as unknown as TurnEvent,
);
const chat = {
  id: "s",
  title: "A title\nof two lines",
  conversation: reduce(emptyConversation, events),
  at: "2026-05-02T00:00:00Z",
};

describe("a saved chat", () => {
  it("reads as it was", () => {
    const text = chatAsMarkdown(chat);
    for (const part of [
      "# A title of two lines\n",
      "## ada, 2026-05-01T10:00:00Z, answered by m-1",
      "> why?\n> now",
      "**Call `bash`** on web-1: succeeded, 12 ms (c1)",
      '"command": "cat x"',
      "> gone ## Fake heading",
      "It is **fine**.",
      "> limited: too many rounds",
    ]) {
      expect(text).toContain(part);
    }
  });

  it("can't be broken out of by what a host said, and hides nothing", () => {
    const text = chatAsMarkdown(chat);
    expect(text).toContain("`````json");
    expect(text).toContain("⟨U+202E⟩");
    expect(text.split("\n").filter((each) => each.startsWith("#"))).toHaveLength(2);
  });

  it("is whole for programs", () => {
    const json = JSON.parse(chatAsJson(chat));
    expect(json).toMatchObject({ format: "steadyhand.chat.v1", id: "s", exported_at: "2026-05-02T00:00:00Z" });
    expect(json.turns[0].calls.map((call: { id: string }) => call.id)).toEqual(["c1", "c2"]);
    expect(json.turns[0].calls[0].result.stdout).toContain("\u202e");
  });
});
