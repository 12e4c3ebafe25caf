/** The chats: search, rename, pin, archive, delete. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Archive, ArchiveRestore, Ellipsis, PencilLine, Pin, PinOff, Plus, Trash2 } from "lucide-react";
import { memo, useState } from "react";
import { api, messageOf } from "../../api/client";
import { sessionsQuery } from "../../api/queries";
import type { Session } from "../../api/types";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { Dialog } from "../../components/Dialog";
import { Field, inputLook, TextInput } from "../../components/Field";
import { MenuItem, Popover } from "../../components/Popover";
import { Failed, SkeletonRows } from "../../components/States";
import { toast } from "../../components/toasts";
import { cx } from "../../lib/cx";
import { dayKey } from "../../lib/format";
import { fuzzyFilter } from "../../lib/fuzzy";
import { shownText } from "../../lib/hidden";

interface SessionsColumnProps {
  current: string | null;
  onOpen?: () => void;
}

export const SessionsColumn = memo(function SessionsColumn({ current, onOpen }: SessionsColumnProps) {
  const sessions = useQuery(sessionsQuery);
  const [query, setQuery] = useState("");
  const [archived, setArchived] = useState(false);
  const all = sessions.data ?? [];
  const wanted = all.filter((session) => session.archived === archived);
  const found = query ? fuzzyFilter(query, wanted, (session) => session.title) : [...wanted].sort(byPinThenTime);
  const groups = query ? [{ name: "Found", sessions: found }] : groupByAge(found, Date.now());
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex items-center gap-2 p-3">
        <input
          type="search"
          aria-label="Search chats"
          placeholder="Search chats"
          className={cx(inputLook, "min-w-0 flex-1")}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <Link
          to="/"
          onClick={onOpen}
          aria-label="New chat"
          data-tip="New chat"
          data-tip-side="left"
          className="flex size-8 shrink-0 items-center justify-center rounded-control border border-line bg-raised text-text hover:border-muted/50"
        >
          <Plus aria-hidden size={16} />
        </Link>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" tabIndex={0} role="region" aria-label="Chats">
        {sessions.isPending && <SkeletonRows rows={5} height={28} />}
        {sessions.error && (
          <Failed what="The chats could not be read." error={sessions.error} onRetry={() => void sessions.refetch()} />
        )}
        {groups.map((group) => (
          <section key={group.name} className="mb-2">
            <h2 className="px-2 py-1 text-12 text-muted">{group.name}</h2>
            <ul>
              {group.sessions.map((session) => (
                <SessionItem key={session.id} session={session} here={session.id === current} onOpen={onOpen} />
              ))}
            </ul>
          </section>
        ))}
        {sessions.data && found.length === 0 && (
          <p className="px-2 py-4 text-13 text-muted">
            {query ? "No chat is called that." : archived ? "No archived chats." : "Chats are kept here."}
          </p>
        )}
      </div>
      {(archived || all.some((session) => session.archived)) && (
        <div className="border-t border-line p-2">
          <Button look="quiet" size="small" icon={Archive} onClick={() => setArchived(!archived)}>
            {archived ? "Back to chats" : "Archived"}
          </Button>
        </div>
      )}
    </div>
  );
});

function byPinThenTime(a: Session, b: Session): number {
  return Number(b.pinned) - Number(a.pinned) || b.updated_at.localeCompare(a.updated_at);
}

const DAY_MS = 86_400_000;

function groupByAge(sessions: Session[], now: number): { name: string; sessions: Session[] }[] {
  const today = dayKey(new Date(now).toISOString());
  const nameOf = (session: Session) => {
    if (session.pinned) return "Pinned";
    if (dayKey(session.updated_at) === today) return "Today";
    return now - Date.parse(session.updated_at) < 7 * DAY_MS ? "This week" : "Older";
  };
  const groups = new Map<string, Session[]>();
  for (const session of sessions) groups.set(nameOf(session), [...(groups.get(nameOf(session)) ?? []), session]);
  return [...groups].map(([name, members]) => ({ name, sessions: members }));
}

function SessionItem({ session, here, onOpen }: { session: Session; here: boolean; onOpen?: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<"rename" | "delete" | null>(null);
  const update = useMutation({
    mutationFn: (change: Parameters<typeof api.updateSession>[1]) => api.updateSession(session.id, change),
    onSuccess: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: (error) => toast(messageOf(error), "error"),
  });
  return (
    <li className={cx("group relative flex items-center rounded-control", here ? "bg-raised" : "hover:bg-raised/60")}>
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: session.id }}
        aria-current={here ? "page" : undefined}
        onClick={onOpen}
        className={cx(
          "flex h-8 min-w-0 flex-1 items-center gap-2 rounded-control pr-8 pl-2 text-13",
          here ? "text-text" : "text-muted hover:text-text",
        )}
      >
        {session.running_turn_id && (
          <span role="img" aria-label="A turn runs" className="pulse-dot size-2 shrink-0 rounded-full bg-accent" />
        )}
        <span className="truncate">{shownText(session.title) || "New chat"}</span>
      </Link>
      <span className="absolute right-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 has-[:popover-open]:opacity-100 max-md:opacity-100">
        <Popover
          label={`Actions for ${session.title}`}
          button={(button) => (
            <button
              type="button"
              {...button}
              aria-label={`Actions for ${session.title || "New chat"}`}
              className="flex size-7 items-center justify-center rounded-control text-muted hover:text-text"
            >
              <Ellipsis aria-hidden size={14} />
            </button>
          )}
        >
          <MenuItem icon={<PencilLine aria-hidden size={14} />} onSelect={() => setAsking("rename")}>
            Rename
          </MenuItem>
          <MenuItem
            icon={session.pinned ? <PinOff aria-hidden size={14} /> : <Pin aria-hidden size={14} />}
            onSelect={() => update.mutate({ pinned: !session.pinned })}
          >
            {session.pinned ? "Unpin" : "Pin"}
          </MenuItem>
          <MenuItem
            icon={session.archived ? <ArchiveRestore aria-hidden size={14} /> : <Archive aria-hidden size={14} />}
            onSelect={() => update.mutate({ archived: !session.archived })}
          >
            {session.archived ? "Restore" : "Archive"}
          </MenuItem>
          <MenuItem danger icon={<Trash2 aria-hidden size={14} />} onSelect={() => setAsking("delete")}>
            Delete
          </MenuItem>
        </Popover>
      </span>
      <Rename
        open={asking === "rename"}
        session={session}
        onClose={() => setAsking(null)}
        onRename={(title) => update.mutate({ title })}
      />
      <Confirm
        open={asking === "delete"}
        onClose={() => setAsking(null)}
        title="Delete this chat?"
        action="Delete"
        onConfirm={async () => {
          await api.deleteSession(session.id);
          await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
          if (here) void navigate({ to: "/" });
        }}
      >
        <p>“{session.title}” and its messages go. The record of its calls stays in the audit.</p>
      </Confirm>
    </li>
  );
}

function Rename({
  open,
  session,
  onClose,
  onRename,
}: {
  open: boolean;
  session: Session;
  onClose: () => void;
  onRename: (title: string) => void;
}) {
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog open={open} onClose={onClose} title="Rename the chat">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim()) onRename(title.trim());
          onClose();
        }}
      >
        <Field label="Title">
          {(field) => (
            <TextInput {...field} maxLength={200} value={title} onChange={(event) => setTitle(event.target.value)} />
          )}
        </Field>
        <Button type="submit" look="primary" className="self-end">
          Rename
        </Button>
      </form>
    </Dialog>
  );
}
