import { Blocks, type LucideIcon, MessageSquare, ScrollText, Server, Settings, ShieldQuestion } from "lucide-react";

export interface Place {
  to: "/" | "/hosts" | "/skills" | "/approvals" | "/admin/audit" | "/settings";
  name: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
}

export const PLACES: Place[] = [
  { to: "/", name: "Chat", icon: MessageSquare, key: "c" },
  { to: "/hosts", name: "Hosts", icon: Server, key: "h" },
  { to: "/skills", name: "Skills", icon: Blocks, key: "s" },
  { to: "/approvals", name: "Approvals", icon: ShieldQuestion, key: "p" },
  { to: "/admin/audit", name: "Audit", icon: ScrollText, key: "a" },
  { to: "/settings", name: "Settings", icon: Settings, key: "," },
];

export function placeOf(path: string): Place | undefined {
  if (path === "/" || path.startsWith("/chat")) return PLACES[0];
  return PLACES.find((place) => place.to !== "/" && path.startsWith(place.to));
}
