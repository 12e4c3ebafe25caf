import type { Pack } from "../src/api/types";

const none = { type: "object", properties: {}, additionalProperties: false };

/** One of each kind: waiting on a host, accepted beside the manager, broken. */
export const packs: Pack[] = [
  {
    pin: "1f".repeat(32),
    name: "net-tools",
    version: "1.1.0",
    digest: "a4".repeat(32),
    description: "Looks at the network of a host.",
    state: "waiting",
    skills: [
      { key: "net_links", name: "Links", description: "Tells of network links.", class: "safe", params: none },
      { key: "net_rules", name: "Rules", description: "Lists firewall rules.", class: "mutating", params: none },
    ],
    reach: ["net_links: the network", "net_rules: everything that the agent may"],
    warnings: [],
    hosts: [{ edge_id: 1, name: "web-1", online: true, path: "/usr/lib/steadyhand/packs/net-tools" }],
  },
  {
    pin: "2e".repeat(32),
    name: "tickets",
    version: "0.3.0",
    digest: "b5".repeat(32),
    description: "Looks up tickets.",
    state: "accepted",
    skills: [{ key: "ticket", name: "Ticket", description: "Tells of one ticket.", class: "safe", params: none }],
    reach: ["ticket: the network"],
    warnings: [],
    hosts: [],
    manager_path: "/etc/steadyhand/packs/tickets",
    accepted_at: "2026-01-31T12:00:00Z",
    accepted_by: 1,
  },
  {
    pin: "3d".repeat(32),
    name: "sql-admin",
    version: "",
    digest: "",
    description: "",
    state: "broken",
    skills: [],
    reach: [],
    warnings: [],
    error: "unknown_class at `skills[0].class`: `nice` must be safe, mutating or dangerous",
    hosts: [{ edge_id: 2, name: "db-1", online: true, path: "/etc/steadyhand/packs/sql-admin" }],
  },
];
