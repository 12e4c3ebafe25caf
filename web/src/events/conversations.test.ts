import { beforeEach, describe, expect, it, vi } from "vitest";
import { api } from "../api/client";
import { Conversations } from "./conversations";
import { type Signal, stream } from "./stream";
import type { TurnEvent } from "./types";

function event(id: number, text: string): TurnEvent {
  const payload = { message_id: "m", text };
  return { id, session_id: "s", turn_id: "t", seq: id, at: "", kind: "chat.text-delta.v1", payload };
}

const all = [event(1, "a"), event(2, "b"), event(3, "c"), event(4, "d")];

describe("an open conversation", () => {
  let emit: (signal: Signal) => void;
  let conversations: Conversations;
  /** What the manager has. */
  let kept: TurnEvent[];
  let answers: (() => void)[];

  beforeEach(() => {
    kept = [];
    answers = [];
    vi.spyOn(stream, "onSignal").mockImplementation((listener) => {
      emit = listener;
      return () => true;
    });
    // Answers when the test lets it, two events a page.
    vi.spyOn(api, "events").mockImplementation((_session, after) => {
      const items = kept.filter((each) => each.id > after).slice(0, 2);
      const next = kept.some((each) => each.id > (items.at(-1)?.id ?? after)) ? items.at(-1)?.id : undefined;
      return new Promise((resolve) => answers.push(() => resolve({ items, next_after: next })));
    });
    conversations = new Conversations((flush) => flush());
  });

  const text = () => {
    const part = conversations.get("s").conversation.turns[0]?.parts[0];
    return part?.kind === "text" ? part.text : "";
  };

  async function answerAll(): Promise<void> {
    while (answers.length > 0) {
      answers.shift()?.();
      await vi.waitFor(() => undefined);
      await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  it("reads every page of the replay", async () => {
    kept = all;
    conversations.open("s");
    await answerAll();
    expect(conversations.get("s").status).toBe("ready");
    expect(text()).toBe("abcd");
  });

  it("misses nothing that comes while the replay is read, and shows nothing twice", async () => {
    kept = all.slice(0, 2);
    conversations.open("s");
    emit({ type: "turn-event", event: all[1] as TurnEvent });
    emit({ type: "turn-event", event: all[2] as TurnEvent });
    await answerAll();
    emit({ type: "turn-event", event: all[3] as TurnEvent });
    expect(text()).toBe("abcd");
  });

  it("reads again what it missed while the stream was down", async () => {
    kept = all.slice(0, 1);
    conversations.open("s");
    await answerAll();
    kept = all;
    emit({ type: "resync" });
    await answerAll();
    expect(text()).toBe("abcd");
  });

  it("shows what came since the last frame at once, however much it is", async () => {
    const frames: (() => void)[] = [];
    conversations = new Conversations((flush) => frames.push(flush));
    conversations.open("s");
    await answerAll();
    let told = 0;
    conversations.subscribe(() => {
      told += 1;
    });
    for (let id = 1; id <= 200; id += 1) emit({ type: "turn-event", event: event(id, "x") });
    expect([frames.length, told, text()]).toEqual([1, 0, ""]);
    frames[0]?.();
    expect([told, text().length]).toEqual([1, 200]);
    emit({ type: "turn-event", event: event(201, "y") });
    expect(frames).toHaveLength(2);
  });

  it("keeps what it has when a later read fails, and says so when the first does", async () => {
    vi.mocked(api.events).mockRejectedValueOnce(new Error("gone"));
    conversations.open("s");
    await new Promise((resolve) => setImmediate(resolve));
    expect(conversations.get("s")).toMatchObject({ status: "failed", error: "gone" });
    kept = all;
    void conversations.read("s");
    await answerAll();
    vi.mocked(api.events).mockRejectedValueOnce(new Error("gone again"));
    await conversations.read("s");
    expect(conversations.get("s").status).toBe("ready");
    expect(text()).toBe("abcd");
  });
});
