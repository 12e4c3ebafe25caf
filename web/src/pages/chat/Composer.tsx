/** Where messages are written: grows to 8 lines, completes tools and hosts, keeps its draft over a reload. */
import { useQuery } from "@tanstack/react-query";
import { ArrowUp, Clock, Square, X } from "lucide-react";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { capabilitiesQuery, hostsQuery } from "../../api/queries";
import type { Capability } from "../../api/types";
import { Button, IconButton } from "../../components/Button";
import { SchemaForm } from "../../components/SchemaForm";
import { ClassIcon, HostStateWord } from "../../components/Words";
import { slashCommand } from "../../lib/command-lines";
import { type Completion, complete, completionAt, toolOf } from "../../lib/completion";
import { cx } from "../../lib/cx";
import { fuzzyFilter } from "../../lib/fuzzy";
import { recall, remember } from "../../lib/storage";

interface ComposerProps {
  draftKey: string;
  running: boolean;
  sending: boolean;
  queued: string | null;
  stopping: boolean;
  /** Why nothing can be sent. */
  reason: string | null;
  onSend: (text: string) => void;
  onStop: () => void;
  onDropQueued: () => void;
}

interface Choice {
  id: string;
  insert: string;
  shown: ReactNode;
  capability?: Capability;
}

const SHOWN = 8;
const MAX_LINES = 8;
const LINE_PX = 20;
const PADDING_PX = 20;

export const Composer = memo(function Composer({
  draftKey,
  running,
  sending,
  queued,
  stopping,
  reason,
  onSend,
  onStop,
  onDropQueued,
}: ComposerProps) {
  const [text, setText] = useState(() => recall(`draft.${draftKey}`) ?? "");
  const [caret, setCaret] = useState(text.length);
  const [at, setAt] = useState(0);
  const [dismissed, setDismissed] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const list = useId();

  const completion = dismissed || reason ? null : completionAt(text, caret);
  const choices = useChoices(completion);
  const chosen = completion ? choices[Math.min(at, choices.length - 1)] : undefined;
  const form = useToolForm(text);

  useEffect(() => remember(`draft.${draftKey}`, text), [draftKey, text]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MAX_LINES * LINE_PX + PADDING_PX)}px`;
  }, [text]);

  const write = (next: string, nextCaret = next.length) => {
    setText(next);
    setCaret(nextCaret);
    setAt(0);
    setDismissed(false);
  };
  const choose = (choice: Choice) => {
    if (!completion) return;
    const done = complete(text, completion, choice.insert);
    write(done.text, done.caret);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(done.caret, done.caret);
    });
  };
  const send = (message: string) => {
    const trimmed = message.trim();
    if (!trimmed || reason) return;
    onSend(trimmed);
    write("");
    area.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // While an input method composes, Enter belongs to it.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (completion && choices.length > 0) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        setAt((before) => (Math.min(before, choices.length - 1) + step + choices.length) % choices.length);
        return;
      }
      if ((event.key === "Enter" || event.key === "Tab") && chosen && !event.shiftKey) {
        event.preventDefault();
        choose(chosen);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        setDismissed(true);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send(text);
    }
  };

  return (
    <div className="relative mx-auto w-full max-w-[760px]">
      {completion && choices.length > 0 && (
        <div
          id={list}
          role="listbox"
          aria-label={completion.kind === "tool" ? "Tools" : "Hosts"}
          className="absolute bottom-full left-0 z-20 mb-1 max-h-72 w-full overflow-y-auto rounded-card border border-line bg-raised p-1 shadow-overlay"
        >
          {choices.map((choice) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the keys
            <div
              key={choice.id}
              id={`${list}-${choice.id}`}
              role="option"
              aria-selected={choice === chosen}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(choice)}
              className={cx(
                "flex min-h-8 items-center gap-2 rounded-control px-2 text-13",
                choice === chosen && "bg-line/60",
              )}
            >
              {choice.shown}
            </div>
          ))}
        </div>
      )}
      {form && !completion && (
        <section
          aria-label={`Parameters of ${form.key}`}
          className="mb-2 max-h-[50dvh] overflow-y-auto rounded-card border border-line bg-surface p-3"
        >
          <header className="mb-3 flex items-center gap-2">
            <ClassIcon value={form.class} />
            <span className="font-mono text-13 font-medium">{form.key}</span>
            <span className="min-w-0 flex-1 truncate text-12 text-muted">{form.description}</span>
            <IconButton
              icon={X}
              label="Close the form"
              tip={false}
              size={14}
              className="size-6"
              onClick={() => write("")}
            />
          </header>
          <SchemaForm
            key={`${form.scope}-${form.key}`}
            capability={form}
            compact
            submitLabel="Send"
            reason={reason}
            onChange={(call) => setText(`${slashCommand(call, nameOf(form, call.edge_id))} `)}
            onSubmit={(call) => send(slashCommand(call, nameOf(form, call.edge_id)))}
          />
        </section>
      )}
      {queued !== null && (
        <div className="mb-1 flex items-center gap-2 rounded-control border border-line bg-surface px-2 py-0.5 text-12">
          <Clock aria-hidden size={14} className="shrink-0 text-muted" />
          <span className="min-w-0 flex-1 truncate">
            <span className="text-muted">Next: </span>
            {queued}
          </span>
          <Button size="small" look="quiet" onClick={onStop}>
            Interrupt and send
          </Button>
          <IconButton icon={X} label="Don't send it" tip={false} size={14} className="size-6" onClick={onDropQueued} />
        </div>
      )}
      <div
        className={cx(
          "flex items-end gap-1 rounded-card border border-line bg-surface p-1 transition-colors focus-within:border-accent",
          reason && "opacity-60",
        )}
      >
        <textarea
          ref={area}
          rows={1}
          data-composer
          aria-label="Message"
          aria-controls={completion && choices.length > 0 ? list : undefined}
          aria-autocomplete="list"
          aria-activedescendant={chosen ? `${list}-${chosen.id}` : undefined}
          disabled={Boolean(reason)}
          placeholder={reason ?? "Ask about your hosts. / tools, @ hosts"}
          className="min-h-10 flex-1 resize-none bg-transparent px-2 py-2.5 leading-5 outline-none"
          value={text}
          onChange={(event) => write(event.target.value, event.target.selectionStart)}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
        />
        {running && text.trim() === "" ? (
          <button
            type="button"
            aria-label="Stop"
            disabled={stopping}
            onClick={onStop}
            className="m-1 flex h-8 items-center gap-1.5 rounded-control border border-line bg-raised px-3 text-13 hover:border-muted/50 disabled:opacity-50"
          >
            <Square aria-hidden size={12} fill="currentColor" /> Stop
          </button>
        ) : (
          <button
            type="button"
            aria-label={running ? "Send after this turn" : "Send"}
            disabled={sending || text.trim() === "" || Boolean(reason)}
            onClick={() => send(text)}
            className="m-1 flex size-8 items-center justify-center rounded-control bg-accent text-on-accent transition-opacity hover:brightness-110 disabled:bg-raised disabled:text-muted"
          >
            <ArrowUp aria-hidden size={16} />
          </button>
        )}
      </div>
    </div>
  );
});

function nameOf(capability: Capability, edge: number | undefined): string | undefined {
  return capability.hosts.find((host) => host.edge_id === edge)?.name;
}

function useChoices(completion: Completion | null): Choice[] {
  const capabilities = useQuery(capabilitiesQuery).data ?? [];
  const hosts = useQuery(hostsQuery).data ?? [];
  if (!completion) return [];
  if (completion.kind === "host") {
    return fuzzyFilter(completion.query, hosts, (host) => host.name)
      .slice(0, SHOWN)
      .map((host) => ({
        id: String(host.id),
        insert: host.name,
        shown: (
          <>
            <span className="font-medium">{host.name}</span>
            <span className="ml-auto text-12">
              <HostStateWord value={host.state} />
            </span>
          </>
        ),
      }));
  }
  // One line per name: where a batch form exists, the form beside it asks for one host.
  const named = new Map(capabilities.map((each) => [each.key, each]));
  for (const each of capabilities) if (each.scope === "host") named.set(each.key, each);
  return fuzzyFilter(completion.query, [...named.values()], (each) => each.key)
    .slice(0, SHOWN)
    .map((each) => ({
      id: each.key,
      insert: each.key,
      capability: each,
      shown: (
        <>
          <ClassIcon value={each.class} />
          <span className="shrink-0 font-mono text-12 font-medium">{each.key}</span>
          <span className="min-w-0 truncate text-12 text-muted">{each.description}</span>
        </>
      ),
    }));
}

/** The capability whose form stands above the text: while a slash command is being written. */
function useToolForm(text: string): Capability | null {
  const capabilities = useQuery(capabilitiesQuery).data;
  const key = toolOf(text);
  if (!key || !capabilities) return null;
  return (
    capabilities.find((each) => each.key === key && each.scope === "host") ??
    capabilities.find((each) => each.key === key) ??
    null
  );
}
