import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { Empty, Failed } from "../components/States";

export function PageFailed({ error, reset }: ErrorComponentProps) {
  // A chunk of an older build is gone after an upgrade; a fresh page has the new one.
  const stale = /dynamically imported module|module script/i.test(String(error));
  return (
    <Failed
      what={stale ? "The console was upgraded." : "This page failed."}
      error={error}
      kept="Nothing that runs was touched."
      onRetry={stale ? () => location.reload() : reset}
    />
  );
}

export function NotFound() {
  return (
    <Empty
      icon={Compass}
      alone
      title="There is no such page"
      action={
        <Link to="/" className="text-13 text-accent-text underline underline-offset-2">
          Go to the chat
        </Link>
      }
    />
  );
}
