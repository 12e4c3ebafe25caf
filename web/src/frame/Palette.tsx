/** ⌘K: pages, hosts, chats, skills and actions in one list. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Blocks,
  Keyboard,
  type LucideIcon,
  MessageSquare,
  Moon,
  Plus,
  Search,
  Server,
  Snowflake,
  Sun,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from "react";
import { capabilitiesQuery, hostsQuery, sessionsQuery } from "../api/queries";
import { Dialog } from "../components/Dialog";
import { cx } from "../lib/cx";
import { fuzzyFilter } from "../lib/fuzzy";
import { chooseTheme } from "../lib/theme";
import { useFrame } from "./actions";
import { PLACES } from "./navigation";

interface Entry {
  id: string;
  group: string;
  name: string;
  note?: string;
  icon: LucideIcon;
  run: () => void;
}

const SHOWN = 40;

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Search" kind="palette">
      <PaletteList onClose={onClose} />
    </Dialog>
  );
}

function useEntries(): Entry[] {
  const navigate = useNavigate();
  const frame = useFrame();
  const hosts = useQuery(hostsQuery).data;
  const sessions = useQuery(sessionsQuery).data;
  const capabilities = useQuery(capabilitiesQuery).data;
  return useMemo(
    () => [
      ...PLACES.map((place) => ({
        id: place.to,
        group: "Pages",
        name: place.name,
        icon: place.icon,
        run: () => void navigate({ to: place.to }),
      })),
      { id: "new-chat", group: "Actions", name: "New chat", icon: Plus, run: () => void navigate({ to: "/" }) },
      { id: "add-host", group: "Actions", name: "Add a host", icon: Plus, run: frame.addHost },
      { id: "freeze", group: "Actions", name: "Freeze changes", icon: Snowflake, run: frame.freeze },
      { id: "dark", group: "Actions", name: "Dark theme", icon: Moon, run: () => chooseTheme("dark") },
      { id: "light", group: "Actions", name: "Light theme", icon: Sun, run: () => chooseTheme("light") },
      { id: "keys", group: "Actions", name: "Show the keys", icon: Keyboard, run: frame.openKeys },
      ...(hosts ?? []).map((host) => ({
        id: `host-${host.id}`,
        group: "Hosts",
        name: host.name,
        note: host.state.replaceAll("_", " "),
        icon: Server,
        run: () => void navigate({ to: "/hosts/$hostId", params: { hostId: String(host.id) } }),
      })),
      ...(sessions ?? []).map((session) => ({
        id: session.id,
        group: "Chats",
        name: session.title || "New chat",
        icon: MessageSquare,
        run: () => void navigate({ to: "/chat/$sessionId", params: { sessionId: session.id } }),
      })),
      ...(capabilities ?? []).map((capability) => ({
        id: `${capability.scope}-${capability.key}`,
        group: "Skills",
        name: capability.key,
        note: `${capability.scope} · ${capability.class}`,
        icon: Blocks,
        run: () =>
          void navigate({ to: "/skills/$scope/$key", params: { scope: capability.scope, key: capability.key } }),
      })),
    ],
    [navigate, frame, hosts, sessions, capabilities],
  );
}

function PaletteList({ onClose }: { onClose: () => void }) {
  const entries = useEntries();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = useMemo(
    () => fuzzyFilter(query, entries, (entry) => `${entry.name} ${entry.group}`).slice(0, SHOWN),
    [query, entries],
  );
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    document.getElementById(`${list}-${chosen?.id}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen, list]);

  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown") setAt((before) => Math.min(before + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt((before) => Math.max(before - 1, 0));
    else if (event.key === "Enter") run(chosen);
    else return;
    event.preventDefault();
  };

  return (
    <>
      <div className="flex items-center gap-2 border-b border-line px-3">
        <Search aria-hidden size={16} className="text-muted" />
        <input
          // biome-ignore lint/a11y/noAutofocus: a search that was asked for takes the focus
          autoFocus
          type="text"
          role="combobox"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={chosen ? `${list}-${chosen.id}` : undefined}
          aria-label="Search pages, hosts, chats, skills and actions"
          placeholder="Search pages, hosts, chats, skills, actions"
          className="h-11 w-full bg-transparent outline-none"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={list} role="listbox" aria-label="Found" className="min-h-0 overflow-y-auto p-1">
        {found.map((entry) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keys
          <div
            key={entry.id}
            id={`${list}-${entry.id}`}
            role="option"
            aria-selected={entry === chosen}
            onClick={() => run(entry)}
            onPointerMove={() => setAt(found.indexOf(entry))}
            className={cx("flex h-8 items-center gap-2 rounded-control px-2 text-13", entry === chosen && "bg-raised")}
          >
            <entry.icon aria-hidden size={14} className="shrink-0 text-muted" />
            <span className="truncate">{entry.name}</span>
            {entry.note && <span className="truncate text-12 text-muted">{entry.note}</span>}
            <span className="ml-auto text-12 text-muted">{entry.group}</span>
          </div>
        ))}
        {found.length === 0 && <p className="px-2 py-6 text-center text-13 text-muted">Nothing is called “{query}”.</p>}
      </div>
    </>
  );
}
