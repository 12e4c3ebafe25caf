/** Approvals, standing grants and the freeze. */
import type { Approval } from "../../src/api/approvals";
import { approvals, decide, freeze, grants } from "../approvals";
import { hosts } from "../data";
import { Failure, found, page, type Route } from "../http";
import { announce } from "../turns";

function approvalOf(id: string | undefined): Approval {
  return found(
    approvals.find((each) => each.id === id),
    "approval",
  );
}

export const approvalRoutes: Route[] = [
  [
    "GET",
    /^\/approvals$/,
    ({ query }) => page(approvals.filter((each) => (each.state === "pending") === (query.get("state") === "pending"))),
  ],
  [
    "GET",
    /^\/approvals\/count$/,
    () => ({ pending: approvals.filter((each) => each.state === "pending" && each.may_decide).length }),
  ],
  ["GET", /^\/approvals\/([^/]+)$/, ({ params }) => approvalOf(params[0])],
  [
    "POST",
    /^\/approvals\/([^/]+)\/decision$/,
    ({ params, body }) => {
      const approval = approvalOf(params[0]);
      if (approval.state !== "pending") throw new Failure(409, "Conflict", "this was decided already", { approval });
      decide(approval, body);
      return approval;
    },
  ],
  [
    "POST",
    /^\/approvals\/([^/]+)\/reveal$/,
    ({ params }) => ({
      args: JSON.parse(JSON.stringify(approvalOf(params[0]).args).replaceAll("«hidden: password»", "correct horse")),
    }),
  ],
  ["GET", /^\/grants$/, () => page(grants)],
  [
    "DELETE",
    /^\/grants\/([^/]+)$/,
    ({ params }) => {
      found(
        grants.find((each) => each.id === params[0]),
        "grant",
      ).state = "revoked";
    },
  ],
  ["GET", /^\/freeze$/, () => freeze],
  [
    "PUT",
    /^\/freeze$/,
    ({ body }) => {
      const now = new Date().toISOString();
      Object.assign(
        freeze,
        body.frozen
          ? { frozen: true, since: now, by: { id: 1, name: "admin" }, reason: body.reason ?? null }
          : { frozen: false, since: null, by: null, reason: null },
      );
      for (const host of hosts) if (host.state === "online") host.frozen = freeze.frozen;
      announce("freeze.changed.v1", { frozen: freeze.frozen });
      return freeze;
    },
  ],
];
