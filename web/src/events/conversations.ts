/** The conversations that are open in this tab: replayed over REST, then kept current by the stream. */
import { useEffect, useSyncExternalStore } from "react";
import { api, messageOf } from "../api/client";
import { nextFrame } from "./frames";
import { type Conversation, emptyConversation, reduce } from "./reducer";
import { stream } from "./stream";
import type { TurnEvent } from "./types";

export interface OpenConversation {
  conversation: Conversation;
  status: "loading" | "ready" | "failed";
  error: string | null;
}

interface Entry {
  view: OpenConversation;
  /** Live events that came while the replay is being read. */
  waiting: TurnEvent[];
  reading: boolean;
  readAgain: boolean;
  /** Live events that the next frame will show. */
  pending: TurnEvent[];
}

const loading: OpenConversation = { conversation: emptyConversation, status: "loading", error: null };

export class Conversations {
  #entries = new Map<string, Entry>();
  #listeners = new Set<() => void>();
  #schedule: (flush: () => void) => void;
  #scheduled = false;

  /** However fast events come, they are shown when `schedule` calls back: once a frame. */
  constructor(schedule: (flush: () => void) => void = nextFrame) {
    this.#schedule = schedule;
    stream.onSignal((signal) => {
      if (signal.type === "turn-event") this.#receive(signal.event);
      if (signal.type === "resync") for (const id of this.#entries.keys()) void this.read(id);
    });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get(id: string): OpenConversation {
    return this.#entries.get(id)?.view ?? loading;
  }

  open(id: string): void {
    if (this.#entries.has(id)) return;
    this.#entries.set(id, { view: loading, waiting: [], reading: false, readAgain: false, pending: [] });
    void this.read(id);
  }

  /** Reads everything after the last known event. */
  async read(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    if (entry.reading) {
      entry.readAgain = true;
      return;
    }
    entry.reading = true;
    try {
      let after: number | null = entry.view.conversation.lastId;
      let conversation = entry.view.conversation;
      while (after !== null) {
        const page: Awaited<ReturnType<typeof api.events>> = await api.events(id, after);
        conversation = reduce(conversation, page.items);
        const next: number | null = page.next_after ?? null;
        // A page without progress ends the reading, whatever it claims.
        after = page.items.length > 0 && next !== null && next > after ? next : null;
      }
      entry.view = { conversation: reduce(conversation, entry.waiting), status: "ready", error: null };
    } catch (error) {
      const conversation = reduce(entry.view.conversation, []);
      const had = entry.view.status === "ready";
      entry.view = { conversation, status: had ? "ready" : "failed", error: messageOf(error) };
    } finally {
      entry.waiting = [];
      entry.reading = false;
      this.#notify();
    }
    if (entry.readAgain) {
      entry.readAgain = false;
      await this.read(id);
    }
  }

  forget(): void {
    this.#entries.clear();
  }

  #receive(event: TurnEvent): void {
    const entry = this.#entries.get(event.session_id);
    if (!entry) return;
    if (entry.reading) {
      entry.waiting.push(event);
      // What is already on the screen goes on streaming during a later read.
      if (entry.view.status !== "ready") return;
    }
    entry.pending.push(event);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(this.#flush);
  }

  #flush = (): void => {
    this.#scheduled = false;
    let changed = false;
    for (const entry of this.#entries.values()) {
      if (entry.pending.length === 0) continue;
      const conversation = reduce(entry.view.conversation, entry.pending);
      entry.pending = [];
      if (conversation === entry.view.conversation) continue;
      entry.view = { ...entry.view, conversation };
      changed = true;
    }
    if (changed) this.#notify();
  };

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const conversations = new Conversations();

export function useConversation(id: string | null): OpenConversation | null {
  useEffect(() => {
    if (id) conversations.open(id);
  }, [id]);
  return useSyncExternalStore(conversations.subscribe, () => (id ? conversations.get(id) : null));
}
