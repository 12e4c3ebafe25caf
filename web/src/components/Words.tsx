/** Classes and states: never a colour alone, always with a word and an icon. */
import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CircleSlash,
  CircleX,
  Clock,
  Flame,
  Hourglass,
  LoaderCircle,
  Lock,
  type LucideIcon,
  PenLine,
  Scale,
  ShieldCheck,
  Snowflake,
  TimerOff,
} from "lucide-react";
import type { CallState, Capability, CapabilityClass, HostState, Scope } from "../api/types";
import { cx } from "../lib/cx";

const CLASSES: Record<CapabilityClass, { icon: LucideIcon; colour: string }> = {
  safe: { icon: ShieldCheck, colour: "text-safe" },
  mutating: { icon: PenLine, colour: "text-mutating" },
  dangerous: { icon: Flame, colour: "text-danger-text" },
};

export function ClassIcon({ value, size = 14 }: { value: CapabilityClass | null; size?: number }) {
  if (value === null)
    return <CircleHelp size={size} className="shrink-0 text-muted" role="img" aria-label="Unknown tool" />;
  const { icon: Icon, colour } = CLASSES[value] ?? CLASSES.dangerous;
  return <Icon size={size} className={cx("shrink-0", colour)} role="img" aria-label={`Class ${value}`} />;
}

export function ClassWord({ value }: { value: CapabilityClass }) {
  const { icon: Icon, colour } = CLASSES[value] ?? CLASSES.dangerous;
  return (
    <span className={cx("inline-flex items-center gap-1 text-12 font-medium whitespace-nowrap", colour)}>
      <Icon aria-hidden size={14} />
      {value}
    </span>
  );
}

/** The class of a skill: of some each call's arguments decide, and the least class alone would mislead. */
export function SkillClass({ skill }: { skill: Pick<Capability, "class" | "classed_by"> }) {
  if (!skill.classed_by) return <ClassWord value={skill.class} />;
  return (
    <span
      className="inline-flex items-center gap-1 text-12 font-medium whitespace-nowrap text-muted"
      title={`At least ${skill.class}. Each call is classed by what exactly it would do.`}
      data-class-depends
    >
      <Scale aria-hidden size={14} />
      depends on the {skill.classed_by}
    </span>
  );
}

const STATES: Record<CallState, { icon: LucideIcon; colour: string; word: string }> = {
  invalid: { icon: CircleAlert, colour: "text-mutating", word: "invalid" },
  refused: { icon: Ban, colour: "text-mutating", word: "refused" },
  awaiting_approval: { icon: Hourglass, colour: "text-mutating", word: "awaiting approval" },
  denied: { icon: CircleSlash, colour: "text-mutating", word: "denied" },
  expired: { icon: Clock, colour: "text-mutating", word: "expired" },
  queued: { icon: CircleDashed, colour: "text-muted", word: "queued" },
  running: { icon: LoaderCircle, colour: "text-accent-text", word: "running" },
  succeeded: { icon: CircleCheck, colour: "text-safe", word: "succeeded" },
  failed: { icon: CircleX, colour: "text-danger-text", word: "failed" },
  timed_out: { icon: TimerOff, colour: "text-danger-text", word: "timed out" },
  cancelled: { icon: CircleSlash, colour: "text-muted", word: "cancelled" },
  unknown: { icon: CircleHelp, colour: "text-mutating", word: "unknown" },
};

export function stateWord(state: CallState): string {
  return STATES[state]?.word ?? state;
}

export function StateWord({ value }: { value: CallState }) {
  const { icon: Icon, colour, word } = STATES[value] ?? STATES.unknown;
  return (
    <span className={cx("inline-flex items-center gap-1 text-12 whitespace-nowrap", colour)}>
      <Icon aria-hidden size={14} className={value === "running" ? "animate-spin" : undefined} />
      {word}
    </span>
  );
}

const HOST_STATES: Record<HostState, { dot: string; word: string; text: string }> = {
  online: { dot: "bg-safe", word: "online", text: "text-text" },
  offline: { dot: "border border-muted bg-transparent", word: "offline", text: "text-muted" },
  quarantined: { dot: "bg-mutating", word: "quarantined", text: "text-mutating" },
  revoked: { dot: "bg-dangerous", word: "revoked", text: "text-danger-text" },
  never_seen: { dot: "border border-muted bg-transparent", word: "never seen", text: "text-muted" },
};

export function HostStateWord({ value, reason }: { value: HostState; reason?: string | null }) {
  const { dot, word, text } = HOST_STATES[value] ?? HOST_STATES.offline;
  return (
    <span title={reason ?? undefined} className={cx("inline-flex items-center gap-2 whitespace-nowrap", text)}>
      <span aria-hidden className={cx("size-2 rounded-full", dot)} />
      {word}
    </span>
  );
}

/** What keeps changes away from a host. A read-only one reports that it is frozen as well, which says nothing more. */
export function HostHolds({ host }: { host: { read_only?: boolean; frozen?: boolean } }) {
  return (
    <>
      {host.read_only && (
        <span className="inline-flex items-center gap-1 text-12 whitespace-nowrap text-mutating" data-read-only>
          <Lock aria-hidden size={12} /> read-only
        </span>
      )}
      {host.frozen && !host.read_only && (
        <span className="inline-flex items-center gap-1 text-12 whitespace-nowrap text-mutating" data-frozen>
          <Snowflake aria-hidden size={12} /> frozen
        </span>
      )}
    </>
  );
}

export function Chip({
  children,
  className,
  title,
}: {
  children: React.ReactNode;
  className?: string;
  title?: string;
}) {
  return (
    <span
      title={title}
      className={cx(
        "inline-flex h-5 max-w-full items-center truncate rounded-control border border-line px-1.5 text-12 text-muted",
        className,
      )}
    >
      {children}
    </span>
  );
}

export function ScopeChip({ value }: { value: Scope }) {
  return <Chip>{value}</Chip>;
}

export function Labels({ labels }: { labels: Record<string, string> }) {
  return (
    <span className="inline-flex flex-wrap gap-1">
      {Object.entries(labels).map(([key, value]) => (
        <Chip key={key} className="font-mono">
          {key}={value}
        </Chip>
      ))}
    </span>
  );
}
