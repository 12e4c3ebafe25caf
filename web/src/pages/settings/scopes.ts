import type { TokenScope } from "../../api/types";

/** What a token may be allowed; the manager's list (`crates/api`, the scopes of tokens). */
export const TOKEN_SCOPES: { scope: TokenScope; what: string }[] = [
  { scope: "read", what: "Read hosts, skills, calls and the audit" },
  { scope: "call", what: "Run calls" },
  { scope: "chat", what: "Chat" },
  { scope: "hosts", what: "Enrol and manage hosts" },
  { scope: "approvals:sign", what: "Bring signatures of your own key file" },
  { scope: "admin", what: "Change settings" },
];
