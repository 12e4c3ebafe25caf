/** Chats, the conversation and its context. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { MessageSquareOff, PanelLeft, PanelRight, PanelRightClose } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, messageOf } from "../../api/client";
import { hostsQuery, sessionsQuery } from "../../api/queries";
import { IconButton } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Empty, Failed, SkeletonRows } from "../../components/States";
import { toast } from "../../components/toasts";
import { conversations } from "../../events/conversations";
import { waitingIn } from "../../events/reducer";
import { useMe } from "../../frame/session";
import { shownText } from "../../lib/hidden";
import { may } from "../../lib/may";
import { recall, remember } from "../../lib/storage";
import { Composer } from "./Composer";
import { ContextPanel } from "./ContextPanel";
import { Conversation } from "./Conversation";
import { ExportMenu } from "./ExportMenu";
import { SessionsColumn } from "./SessionsColumn";
import { useChat } from "./useChat";

const SUGGESTIONS = [
  "How loaded is this host?",
  "What is eating memory?",
  "Is port 22 open on localhost?",
  "Show the last errors in the journal",
  "Why is nginx failing?",
];

function Columns({
  current,
  title,
  context,
  actions,
  children,
}: {
  current: string | null;
  title: string;
  context?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const [chatsOpen, setChatsOpen] = useState(false);
  const [contextOpen, setContextOpen] = useState(false);
  const [panel, setPanel] = useState(() => recall("context") !== "closed");
  const togglePanel = () => {
    remember("context", panel ? "closed" : null);
    setPanel(!panel);
  };
  return (
    <div className="flex h-full min-h-0">
      <aside aria-label="Chats" className="hidden w-64 shrink-0 border-r border-line lg:block">
        <SessionsColumn current={current} />
      </aside>
      <section className="flex min-w-0 flex-1 flex-col">
        <header className="flex h-11 shrink-0 items-center gap-1 border-b border-line px-2 md:px-4">
          <IconButton
            icon={PanelLeft}
            label="Chats"
            tip={false}
            className="lg:hidden"
            onClick={() => setChatsOpen(true)}
          />
          <h1 className="min-w-0 flex-1 truncate px-2 text-14 font-medium">{shownText(title)}</h1>
          {actions}
          {context && (
            <>
              <IconButton
                icon={PanelRight}
                label="Context"
                tip={false}
                className="xl:hidden"
                onClick={() => setContextOpen(true)}
              />
              <IconButton
                icon={panel ? PanelRightClose : PanelRight}
                label={panel ? "Close the context" : "Open the context"}
                tipSide="left"
                className="max-xl:hidden"
                onClick={togglePanel}
              />
            </>
          )}
        </header>
        {children}
      </section>
      {context && panel && (
        <aside aria-label="Context" className="hidden w-72 shrink-0 overflow-y-auto border-l border-line xl:block">
          {context}
        </aside>
      )}
      <Dialog open={chatsOpen} onClose={() => setChatsOpen(false)} title="Chats" kind="sheet">
        <div className="-m-4 h-full">
          <SessionsColumn current={current} onOpen={() => setChatsOpen(false)} />
        </div>
      </Dialog>
      <Dialog open={contextOpen} onClose={() => setContextOpen(false)} title="Context" kind="sheet">
        <div className="-m-4">{context}</div>
      </Dialog>
    </div>
  );
}

export function NewChatPage() {
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const hosts = useQuery(hostsQuery).data;
  const start = useMutation({
    mutationFn: async (text: string) => {
      const session = await api.createSession({});
      // Open before the turn begins, so that no event is missed.
      conversations.open(session.id);
      await api.submitTurn(session.id, text);
      return session;
    },
    onSuccess: async (session) => {
      await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
      const typing = document.activeElement?.matches("[data-composer]");
      await navigate({ to: "/chat/$sessionId", params: { sessionId: session.id } });
      // The page of the chat has a composer of its own; whoever was typing goes on there.
      if (typing) requestAnimationFrame(() => document.querySelector<HTMLElement>("[data-composer]")?.focus());
    },
    onError: (error) => toast(`Not sent: ${messageOf(error)}`, "error"),
  });
  const reason = may.chat(me);
  return (
    <Columns current={null} title="New chat">
      <div className="min-h-0 flex-1 overflow-y-auto px-4 md:px-6">
        {reason ? (
          <ChatOff reason={reason} />
        ) : (
          <div className="mx-auto flex min-h-full max-w-[760px] flex-col justify-end gap-3 pb-6">
            <h2 className="text-20 font-semibold tracking-tight">What do you want to know?</h2>
            <p className="text-13 text-muted">
              {hosts && hosts.length === 0
                ? "No host is enrolled yet. Add one on the Hosts page, then ask about it here."
                : "Ask in your own words. Every call runs through the gate and stands in the audit."}
            </p>
            <ul className="flex flex-wrap gap-2">
              {SUGGESTIONS.map((text) => (
                <li key={text}>
                  <button
                    type="button"
                    disabled={start.isPending}
                    onClick={() => start.mutate(text)}
                    className="rounded-full border border-line px-3 py-1 text-13 text-muted transition-colors hover:border-muted/50 hover:text-text disabled:opacity-50"
                  >
                    {text}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      <div className="px-4 pb-4 md:px-6">
        <Composer
          draftKey="new"
          running={false}
          sending={start.isPending}
          queued={null}
          stopping={false}
          reason={reason}
          onSend={(text) => start.mutate(text)}
          onStop={() => {}}
          onDropQueued={() => {}}
        />
      </div>
    </Columns>
  );
}

export function SessionChatPage() {
  const { sessionId } = useParams({ from: "/chat/$sessionId" });
  return <SessionChat key={sessionId} sessionId={sessionId} />;
}

function SessionChat({ sessionId }: { sessionId: string }) {
  const me = useMe();
  const chat = useChat(sessionId);
  const sessions = useQuery(sessionsQuery).data;
  const session = sessions?.find((each) => each.id === sessionId);
  const { open, turns } = chat;
  return (
    <Columns
      current={sessionId}
      title={session?.title || "Chat"}
      context={<ContextPanel turns={turns} session={session} />}
      actions={turns.length > 0 && <ExportMenu sessionId={sessionId} title={session?.title ?? "Chat"} />}
    >
      {open?.status === "failed" ? (
        <div className="flex-1">
          <Failed
            what="This chat could not be read."
            error={open.error}
            kept="Nothing is lost; it is kept by the manager."
            onRetry={() => void conversations.read(sessionId)}
          />
        </div>
      ) : open?.status === "loading" ? (
        <div className="mx-auto w-full max-w-[760px] flex-1">
          <SkeletonRows rows={6} height={44} />
        </div>
      ) : (
        <Conversation turns={turns} sent={chat.sent}>
          {turns.length === 0 && <p className="py-16 text-center text-13 text-muted">Nothing was asked here yet.</p>}
        </Conversation>
      )}
      <p role="status" className="sr-only">
        {waitingIn(turns.at(-1)) > 0
          ? "A call waits for a decision"
          : chat.running
            ? "Working"
            : turns.length > 0
              ? "The answer is complete"
              : ""}
      </p>
      <div className="px-4 pt-1 pb-4 md:px-6">
        <Composer
          draftKey={sessionId}
          running={chat.running}
          sending={chat.sending}
          queued={chat.queued}
          stopping={chat.stopping}
          reason={may.chat(me)}
          onSend={chat.send}
          onStop={chat.stop}
          onDropQueued={chat.dropQueued}
        />
      </div>
    </Columns>
  );
}

function ChatOff({ reason }: { reason: string }) {
  return (
    <Empty
      icon={MessageSquareOff}
      title={reason}
      action={
        <Link to="/settings/access" className="text-13 text-accent-text underline underline-offset-2">
          Access mode
        </Link>
      }
    >
      An admin decides who may chat. Hosts, skills and the audit stay open to you.
    </Empty>
  );
}
