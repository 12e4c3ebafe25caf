import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./Button";

export function CopyButton({
  text,
  label = "Copy",
  className,
  tipSide,
}: {
  /** A function where making the text costs something. */
  text: string | (() => string);
  label?: string;
  className?: string;
  tipSide?: "left" | "right" | "top";
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      icon={copied ? Check : CopyIcon}
      size={14}
      label={copied ? "Copied" : label}
      tipSide={tipSide}
      className={className ?? "size-6"}
      onClick={(event) => {
        event.stopPropagation();
        void navigator.clipboard?.writeText(typeof text === "string" ? text : text()).then(() => setCopied(true));
      }}
    />
  );
}

/** An id, shortened but copied whole. */
export function Id({ id, short = true }: { id: string; short?: boolean }) {
  return (
    <span className="inline-flex h-5 items-center gap-0.5 align-top font-mono text-12">
      <span title={id} className="min-w-0 break-all">
        {short && id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id}
      </span>
      <CopyButton text={id} label="Copy the id" className="size-5" />
    </span>
  );
}
