/**
 * Who may do what, for showing only: the manager decides (`crates/api`, the table of routes and roles). Each rule
 * answers `null` or the reason why not.
 */
import type { Grant } from "../api/approvals";
import type { Me, Role } from "../api/types";

function needs(me: Me, roles: Role[], what: string): string | null {
  return me.user.roles.some((role) => roles.includes(role)) ? null : `Only ${what} may do this`;
}

export const may = {
  enrolHosts: (me: Me) => needs(me, ["operator", "admin"], "operators and admins"),
  editHosts: (me: Me) => needs(me, ["operator", "admin"], "operators and admins"),
  revokeHosts: (me: Me) => needs(me, ["admin"], "admins"),
  administer: (me: Me) => needs(me, ["admin"], "admins"),
  chat: (me: Me) => (me.access.may_chat ? null : "Chat is switched off for you"),
  freeze: (me: Me) => needs(me, ["operator", "admin"], "operators and admins"),
  unfreeze: (me: Me) => needs(me, ["admin"], "admins"),
  revokeGrant: (me: Me, grant: Pick<Grant, "person">) =>
    grant.person.id === me.user.id ? null : needs(me, ["approver", "admin"], "its person, approvers and admins"),
};
