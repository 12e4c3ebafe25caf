/**
 * Who may do what, for showing only: the manager decides (`crates/api`, the table of routes and roles). Each rule
 * answers `null` or the reason why not.
 */
import type { Me } from "../api/types";

function needs(me: Me, roles: string[], what: string): string | null {
  return me.user.roles.some((role) => roles.includes(role)) ? null : `Only ${what} may do this`;
}

export const may = {
  enrolHosts: (me: Me) => needs(me, ["operator", "admin"], "operators and admins"),
  editHosts: (me: Me) => needs(me, ["operator", "admin"], "operators and admins"),
  revokeHosts: (me: Me) => needs(me, ["admin"], "admins"),
  administer: (me: Me) => needs(me, ["admin"], "admins"),
  chat: (me: Me) => (me.access.may_chat ? null : "Chat is switched off for you"),
};
