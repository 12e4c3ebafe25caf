/** The frame around every page: rail, top bar, palette, keys; a bottom bar on phones. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import {
  ChevronsLeft,
  ChevronsRight,
  Fingerprint,
  Keyboard,
  LogOut,
  Monitor,
  Moon,
  Search,
  Sun,
  UserRound,
} from "lucide-react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { api } from "../api/client";
import { approvalCountQuery } from "../api/queries";
import { IconButton } from "../components/Button";
import { MenuItem, Popover } from "../components/Popover";
import { Toasts } from "../components/toasts";
import { conversations } from "../events/conversations";
import { stream } from "../events/stream";
import { cx } from "../lib/cx";
import { recall, remember } from "../lib/storage";
import { chooseTheme, useTheme } from "../lib/theme";
import { AddHostSheet } from "../pages/hosts/AddHostSheet";
import { type FrameActions, FrameContext, useFrame } from "./actions";
import { FreezeBanner, FreezeButton, FreezeDialog } from "./Freeze";
import { KeysHelp } from "./KeysHelp";
import { PLACES, type Place, placeOf } from "./navigation";
import { OfflineBar } from "./OfflineBar";
import { Palette } from "./Palette";
import { useMe } from "./session";
import { useKeys } from "./useKeys";
import { useLiveQueries } from "./useLiveQueries";

export function Shell() {
  const [open, setOpen] = useState<"palette" | "keys" | "add-host" | "freeze" | null>(null);
  const actions = useMemo<FrameActions>(
    () => ({
      openPalette: () => setOpen("palette"),
      openKeys: () => setOpen("keys"),
      addHost: () => setOpen("add-host"),
      freeze: () => setOpen("freeze"),
    }),
    [],
  );
  useKeys(actions);
  useLiveQueries();
  const path = useLocation({ select: (location) => location.pathname });
  const place = placeOf(path);
  const waiting = useQuery(approvalCountQuery).data ?? 0;
  useEffect(() => {
    const title = place ? `${place.name} · Steadyhand` : "Steadyhand";
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [place, waiting]);

  return (
    <FrameContext.Provider value={actions}>
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-control focus:bg-raised focus:px-3 focus:py-1"
      >
        Skip to the page
      </a>
      <div className="flex h-dvh">
        <Rail path={path} waiting={waiting} />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar place={place?.name ?? ""} />
          <FreezeBanner />
          <OfflineBar />
          <main id="main" className="min-h-0 flex-1">
            <Outlet />
          </main>
          <BottomBar path={path} waiting={waiting} />
        </div>
      </div>
      <Palette open={open === "palette"} onClose={() => setOpen(null)} />
      <KeysHelp open={open === "keys"} onClose={() => setOpen(null)} />
      <AddHostSheet open={open === "add-host"} onClose={() => setOpen(null)} />
      <FreezeDialog open={open === "freeze"} onClose={() => setOpen(null)} />
      <Toasts />
    </FrameContext.Provider>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 24 24" className="size-6 shrink-0" aria-hidden="true">
      <path
        d="M3 12h4.2l2.4-6 4.6 12 2.4-6H21"
        fill="none"
        className="stroke-accent"
        strokeWidth="2.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** How many decisions wait for the one who is signed in. */
function Badge({ count, className }: { count: number; className?: string }) {
  return (
    <span
      aria-hidden
      data-badge={count}
      className={cx(
        "inline-flex h-4 min-w-4 items-center justify-center rounded-full bg-mutating px-1 text-12 leading-none font-semibold text-bg tabular",
        className,
      )}
    >
      {count > 99 ? "99+" : count}
    </span>
  );
}

/** The name of a place, with what waits there. */
function PlaceName({ place, waiting, className }: { place: Place; waiting: number; className?: string }) {
  return (
    <span className={className}>
      {place.name}
      {place.to === "/approvals" && waiting > 0 && (
        <span className="sr-only">, {waiting === 1 ? "1 waits" : `${waiting} wait`} for you</span>
      )}
    </span>
  );
}

function Rail({ path, waiting }: { path: string; waiting: number }) {
  const [narrow, setNarrow] = useState(() => recall("rail") === "narrow");
  const toggle = () => {
    remember("rail", narrow ? null : "narrow");
    setNarrow(!narrow);
  };
  return (
    <nav
      aria-label="Pages"
      className={cx(
        "hidden shrink-0 flex-col border-r border-line bg-surface md:flex",
        narrow ? "w-14" : "w-14 lg:w-56",
      )}
    >
      <div className="flex h-12 items-center gap-2 px-4">
        <Mark />
        <span className={cx("text-14 font-semibold tracking-tight", narrow ? "hidden" : "max-lg:hidden")}>
          Steadyhand
        </span>
      </div>
      <ul className="flex flex-1 flex-col gap-0.5 px-2 py-1">
        {PLACES.map((place) => {
          const here = placeOf(path) === place;
          return (
            <li key={place.to}>
              <Link
                to={place.to}
                aria-current={here ? "page" : undefined}
                data-tip={narrow ? place.name : undefined}
                data-tip-side="right"
                className={cx(
                  "relative flex h-8 items-center gap-3 rounded-control px-3 text-13 transition-colors",
                  here ? "bg-raised font-medium text-text" : "text-muted hover:bg-raised/60 hover:text-text",
                )}
              >
                <place.icon aria-hidden size={16} className={cx("shrink-0", here && "text-accent-text")} />
                <PlaceName place={place} waiting={waiting} className={narrow ? "sr-only" : "max-lg:sr-only"} />
                {place.to === "/approvals" && waiting > 0 && (
                  <Badge
                    count={waiting}
                    className={
                      narrow ? "absolute top-0 right-0" : "ml-auto max-lg:absolute max-lg:top-0 max-lg:right-0"
                    }
                  />
                )}
              </Link>
            </li>
          );
        })}
      </ul>
      <div className="hidden p-2 lg:block">
        <IconButton
          icon={narrow ? ChevronsRight : ChevronsLeft}
          label={narrow ? "Widen the rail" : "Narrow the rail"}
          tipSide="right"
          onClick={toggle}
          className="h-8 w-10"
        />
      </div>
    </nav>
  );
}

function BottomBar({ path, waiting }: { path: string; waiting: number }) {
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {PLACES.map((place) => {
        const here = placeOf(path) === place;
        return (
          <Link
            key={place.to}
            to={place.to}
            aria-current={here ? "page" : undefined}
            className={cx(
              "relative flex h-14 min-w-0 flex-1 flex-col items-center justify-center gap-1 text-12",
              here ? "text-text" : "text-muted",
            )}
          >
            <place.icon aria-hidden size={18} className={here ? "text-accent-text" : undefined} />
            {place.to === "/approvals" && waiting > 0 && (
              <Badge count={waiting} className="absolute top-1.5 left-[calc(50%+6px)]" />
            )}
            <PlaceName place={place} waiting={waiting} className="max-w-full truncate" />
          </Link>
        );
      })}
    </nav>
  );
}

function TopBar({ place }: { place: string }) {
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-4 md:px-6">
      <span className="flex min-w-0 items-center gap-2 text-13 text-muted">
        <span className="md:hidden">
          <Mark />
        </span>
        <span className="truncate">{place}</span>
      </span>
      <span className="ml-auto flex items-center gap-1">
        <SearchButton />
        <FreezeButton />
        <Connection />
        <UserMenu />
      </span>
    </header>
  );
}

function SearchButton() {
  const { openPalette } = useFrame();
  return (
    <button
      type="button"
      onClick={openPalette}
      aria-keyshortcuts="Meta+K Control+K"
      className="flex h-8 items-center gap-2 rounded-control border border-line px-2 text-12 text-muted transition-colors hover:border-muted/50 hover:text-text"
    >
      <Search aria-hidden size={14} />
      <span className="max-md:sr-only">Search</span>
      <kbd className="font-sans max-md:hidden">⌘K</kbd>
    </button>
  );
}

function Connection() {
  const status = useSyncExternalStore(stream.onStatus, stream.getStatus);
  const word = status === "online" ? "live" : status === "connecting" ? "connecting" : "offline";
  return (
    <span
      role="status"
      data-stream={status}
      className="flex h-8 items-center gap-1.5 px-2 text-12 text-muted"
      title="The connection to the manager"
    >
      <span
        aria-hidden
        className={cx(
          "size-2 rounded-full",
          status === "online" ? "bg-safe" : status === "connecting" ? "pulse-dot bg-muted" : "bg-mutating",
        )}
      />
      <span className={status === "online" ? "max-md:sr-only" : undefined}>{word}</span>
    </span>
  );
}

function UserMenu() {
  const me = useMe();
  const theme = useTheme();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { openKeys } = useFrame();
  const signOut = async () => {
    await api.signOut().catch(() => undefined);
    stream.stop(true);
    conversations.forget();
    client.clear();
    location.assign("/");
  };
  return (
    <Popover
      label="Account"
      button={(button) => (
        <button
          type="button"
          {...button}
          aria-label={`Account of ${me.user.display_name || me.user.name}`}
          className="flex h-8 items-center gap-2 rounded-control px-2 text-13 text-muted hover:bg-raised hover:text-text"
        >
          <UserRound aria-hidden size={16} />
          <span className="max-w-32 truncate max-md:hidden">{me.user.display_name || me.user.name}</span>
        </button>
      )}
    >
      <div role="none" className="border-b border-line px-2 pt-1 pb-2">
        <div className="font-medium">{me.user.display_name || me.user.name}</div>
        <div className="text-12 text-muted">{me.user.roles.join(", ")}</div>
      </div>
      <div role="none" className="py-1">
        <MenuItem
          icon={<Monitor aria-hidden size={14} />}
          checked={theme === "system"}
          onSelect={() => chooseTheme("system")}
        >
          System theme
        </MenuItem>
        <MenuItem icon={<Moon aria-hidden size={14} />} checked={theme === "dark"} onSelect={() => chooseTheme("dark")}>
          Dark
        </MenuItem>
        <MenuItem
          icon={<Sun aria-hidden size={14} />}
          checked={theme === "light"}
          onSelect={() => chooseTheme("light")}
        >
          Light
        </MenuItem>
      </div>
      <div role="none" className="border-t border-line pt-1">
        <MenuItem icon={<Fingerprint aria-hidden size={14} />} onSelect={() => void navigate({ to: "/settings/keys" })}>
          Approval keys
        </MenuItem>
        <MenuItem icon={<Keyboard aria-hidden size={14} />} onSelect={openKeys}>
          Keys
        </MenuItem>
        <MenuItem icon={<LogOut aria-hidden size={14} />} onSelect={() => void signOut()}>
          Sign out
        </MenuItem>
      </div>
    </Popover>
  );
}
