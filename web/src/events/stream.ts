/**
 * One event stream per browser. The tab that holds a Web Lock reads the stream and repeats it to the other tabs over
 * a broadcast channel; when it goes, the next tab takes over where the last event ended.
 */
import type { CallState } from "../api/types";
import type { TurnEvent } from "./types";

export type StreamStatus = "connecting" | "online" | "offline";

export type Signal =
  | { type: "turn-event"; event: TurnEvent }
  | { type: "host-changed"; edgeId: number | null }
  | { type: "packs-changed" }
  | { type: "signing-changed" }
  | { type: "call-changed"; callId: string; state: CallState | null }
  | { type: "approval-changed"; approvalId: string; callId: string }
  | { type: "freeze-changed" }
  /** Something may have been missed: read again what is on the screen. */
  | { type: "resync" };

type Message =
  | { type: "signals"; signals: Signal[] }
  | { type: "status"; status: StreamStatus; since: number; lastId: number }
  | { type: "hello" }
  | { type: "signed-out" };

const NAMES = [
  "message",
  "chat.user-message.v1",
  "chat.turn-started.v1",
  "chat.phase.v1",
  "chat.text-delta.v1",
  "chat.reasoning-delta.v1",
  "chat.message.v1",
  "chat.tool-call.v1",
  "chat.tool-progress.v1",
  "chat.tool-result.v1",
  "chat.approval.v1",
  "attempt.superseded.v1",
  "chat.notice.v1",
  "chat.turn-finished.v1",
  "session.updated.v1",
  "hosts.changed.v1",
  "calls.changed.v1",
  "packs.changed.v1",
  "signing.changed.v1",
  "approval.changed.v1",
  "freeze.changed.v1",
  "resync.v1",
];

/** Tabs talk only to those that speak the same: after an upgrade some may run the console of before for a while. */
const NAME = "steadyhand.events.v2";
/** So long signals are gathered for the other tabs: a message for each would cost more than drawing them. */
const GATHER_MS = 16;
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** Reads one message of the stream. `null` for what this console doesn't know. */
export function readSignal(name: string, data: string): Signal | null {
  let parsed: { kind?: unknown; payload?: unknown; id?: unknown; session_id?: unknown };
  try {
    parsed = data ? JSON.parse(data) : {};
  } catch {
    return null;
  }
  if (parsed === null || typeof parsed !== "object") return null;
  const kind = typeof parsed.kind === "string" ? parsed.kind : name;
  const payload = (parsed.payload ?? parsed) as Record<string, unknown>;
  if (kind === "resync.v1") return { type: "resync" };
  if (kind === "packs.changed.v1") return { type: "packs-changed" };
  if (kind === "signing.changed.v1") return { type: "signing-changed" };
  if (kind === "freeze.changed.v1") return { type: "freeze-changed" };
  if (kind === "approval.changed.v1") {
    return {
      type: "approval-changed",
      approvalId: String(payload.approval_id ?? ""),
      callId: String(payload.call_id ?? ""),
    };
  }
  if (kind === "hosts.changed.v1") {
    return { type: "host-changed", edgeId: typeof payload.edge_id === "number" ? payload.edge_id : null };
  }
  if (kind === "calls.changed.v1") {
    return { type: "call-changed", callId: String(payload.call_id ?? ""), state: (payload.state as CallState) ?? null };
  }
  if (typeof parsed.id === "number" && typeof parsed.session_id === "string") {
    return { type: "turn-event", event: parsed as unknown as TurnEvent };
  }
  return null;
}

export class SharedStream {
  status: StreamStatus = "connecting";
  /** When the status became what it is, in milliseconds since the epoch. */
  since = Date.now();
  lastId = 0;

  #channel: BroadcastChannel | null = null;
  #source: EventSource | null = null;
  #release: (() => void) | null = null;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #outbox: Signal[] = [];
  #outboxTimer: ReturnType<typeof setTimeout> | undefined;
  #stopped = true;
  #signalListeners = new Set<(signal: Signal) => void>();
  #statusListeners = new Set<() => void>();
  #signedOutListeners = new Set<() => void>();

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    if (typeof BroadcastChannel !== "undefined") {
      this.#channel = new BroadcastChannel(NAME);
      this.#channel.onmessage = (message: MessageEvent<Message>) => this.#hear(message.data);
      this.#channel.postMessage({ type: "hello" } satisfies Message);
    }
    addEventListener("online", this.#reconnectNow);
    addEventListener("offline", this.#probe);
    // Web Locks need a secure context. Without them each tab reads its own stream.
    if (this.#channel && navigator.locks) {
      navigator.locks
        .request(NAME, () => {
          if (this.#stopped) return;
          return new Promise<void>((resolve) => {
            this.#release = resolve;
            this.#connect();
          });
        })
        .catch(() => this.#connect());
    } else {
      this.#connect();
    }
  }

  stop(signedOut = false): void {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#retryTimer);
    removeEventListener("online", this.#reconnectNow);
    removeEventListener("offline", this.#probe);
    this.#source?.close();
    this.#source = null;
    this.#post(signedOut ? { type: "signed-out" } : null);
    this.#channel?.close();
    this.#channel = null;
    this.#release?.();
    this.#release = null;
    this.lastId = 0;
    this.#setStatus("connecting");
  }

  onSignal(listener: (signal: Signal) => void): () => void {
    this.#signalListeners.add(listener);
    return () => this.#signalListeners.delete(listener);
  }

  onStatus = (listener: () => void): (() => void) => {
    this.#statusListeners.add(listener);
    return () => this.#statusListeners.delete(listener);
  };

  onSignedOut(listener: () => void): () => void {
    this.#signedOutListeners.add(listener);
    return () => this.#signedOutListeners.delete(listener);
  }

  getStatus = (): StreamStatus => this.status;

  #connect(): void {
    if (this.#stopped) return;
    clearTimeout(this.#retryTimer);
    const source = new EventSource(`/api/v1/events${this.lastId ? `?after=${this.lastId}` : ""}`);
    this.#source = source;
    source.onopen = () => {
      this.#attempt = 0;
      this.#setStatus("online");
      // Events between what was read over REST and this moment may not be in the stream.
      this.#emit({ type: "resync" });
    };
    source.onerror = () => {
      if (this.#source !== source) return;
      source.close();
      this.#source = null;
      this.#setStatus("offline");
      const wait = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#attempt) * (0.5 + Math.random() / 2);
      this.#attempt += 1;
      this.#retryTimer = setTimeout(() => this.#connect(), wait);
    };
    const onMessage = (message: MessageEvent<string>) => {
      const signal = readSignal(message.type, message.data);
      if (signal) this.#emit(signal);
    };
    for (const name of NAMES) source.addEventListener(name, onMessage);
  }

  #reconnectNow = (): void => {
    if (this.#release === null && this.#channel && navigator.locks) return;
    if (this.status !== "offline") return;
    this.#attempt = 0;
    this.#source?.close();
    this.#source = null;
    this.#connect();
  };

  /** The system lost its network. A stream over loopback lives on, any other may hang for long: a new one tells. */
  #probe = (): void => {
    if (!this.#source) return;
    this.#source.close();
    this.#connect();
  };

  #emit(signal: Signal): void {
    this.#outbox.push(signal);
    this.#outboxTimer ??= setTimeout(() => this.#post(null), GATHER_MS);
    this.#deliver(signal);
  }

  /** Sends what was gathered, then the message: what a status says must not overtake it. */
  #post(message: Message | null): void {
    clearTimeout(this.#outboxTimer);
    this.#outboxTimer = undefined;
    const signals = this.#outbox;
    this.#outbox = [];
    if (signals.length > 0) this.#channel?.postMessage({ type: "signals", signals } satisfies Message);
    if (message) this.#channel?.postMessage(message);
  }

  #deliver(signal: Signal): void {
    if (signal.type === "turn-event") this.lastId = Math.max(this.lastId, signal.event.id);
    for (const listener of this.#signalListeners) listener(signal);
  }

  #hear(message: Message): void {
    if (message.type === "signals") for (const signal of message.signals) this.#deliver(signal);
    if (message.type === "status") {
      const wasOffline = this.status !== "online";
      this.lastId = Math.max(this.lastId, message.lastId);
      this.#setStatus(message.status, message.since, false);
      // A tab that joins has read its data while nobody was listening for it.
      if (wasOffline && message.status === "online") this.#deliver({ type: "resync" });
    }
    if (message.type === "hello" && this.#source) this.#tellStatus();
    if (message.type === "signed-out") for (const listener of this.#signedOutListeners) listener();
  }

  #setStatus(status: StreamStatus, since = Date.now(), tell = true): void {
    if (status !== this.status) {
      this.status = status;
      this.since = since;
      for (const listener of this.#statusListeners) listener();
    }
    if (tell) this.#tellStatus();
  }

  #tellStatus(): void {
    this.#post({ type: "status", status: this.status, since: this.since, lastId: this.lastId });
  }
}

export const stream = new SharedStream();
