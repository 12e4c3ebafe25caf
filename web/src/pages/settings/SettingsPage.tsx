import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { cx } from "../../lib/cx";

const PARTS = [
  { to: "/settings/models", name: "Models" },
  { to: "/settings/accounts", name: "Accounts and tokens" },
  { to: "/settings/access", name: "Access and freeze" },
  { to: "/settings/policy", name: "Policy" },
  { to: "/settings/enrolment", name: "Enrolment" },
  { to: "/settings/security", name: "Security" },
  { to: "/settings/keys", name: "Your approval keys" },
  { to: "/settings/about", name: "About" },
] as const;

export function SettingsPage() {
  const path = useLocation({ select: (location) => location.pathname });
  return (
    <div className="flex h-full min-h-0 flex-col md:flex-row">
      <nav aria-label="Settings" className="shrink-0 border-line max-md:border-b md:w-52 md:border-r md:p-3">
        <ul className="flex gap-1 overflow-x-auto max-md:px-3 max-md:py-2 md:flex-col">
          {PARTS.map((part) => (
            <li key={part.to}>
              <Link
                ref={path === part.to ? intoView : undefined}
                to={part.to}
                aria-current={path === part.to ? "page" : undefined}
                className={cx(
                  "flex h-8 items-center rounded-control px-3 text-13 whitespace-nowrap",
                  path === part.to
                    ? "bg-raised font-medium text-text"
                    : "text-muted hover:bg-raised/60 hover:text-text",
                )}
              >
                {part.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="min-h-0 min-w-0 flex-1">
        <Outlet />
      </div>
    </div>
  );
}

/** On a phone the list is wider than the screen. */
function intoView(link: HTMLAnchorElement | null): void {
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
}
