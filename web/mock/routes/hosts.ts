/** Hosts and the tokens that let them enrol. */
import type { EnrollmentToken } from "../../src/api/types";
import { ago, hosts } from "../data";
import { found, page, type Route } from "../http";
import { announce } from "../turns";

const tokens: EnrollmentToken[] = [];

function enrol(): object {
  const token: EnrollmentToken = {
    id: tokens.length + 1,
    state: "open",
    labels: {},
    edge_id: null,
    created_at: new Date().toISOString(),
    expires_at: ago(-3600),
  };
  tokens.unshift(token);
  setTimeout(() => {
    if (token.state !== "open") return;
    token.state = "used";
    token.edge_id = 1;
    announce("hosts.changed.v1", { edge_id: 1 });
  }, 6000);
  return {
    ...token,
    token: "she_9vJ2mQ",
    command:
      "steadyhand-edge enroll --manager https://ops.example:7443 --token she_9vJ2mQkX4w8nT1zR5bY7cD3fG6hJ9kL2 --ca-pin sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ca_pin: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  };
}

export const hostRoutes: Route[] = [
  ["GET", /^\/hosts$/, () => page(hosts)],
  [
    "GET",
    /^\/hosts\/(\d+)$/,
    ({ params }) =>
      found(
        hosts.find((host) => host.id === Number(params[0])),
        "host",
      ),
  ],
  [
    "PATCH",
    /^\/hosts\/(\d+)$/,
    ({ params, body }) =>
      Object.assign(
        found(
          hosts.find((host) => host.id === Number(params[0])),
          "host",
        ),
        body,
      ),
  ],
  ["POST", /^\/enrollment-tokens$/, () => enrol()],
  ["GET", /^\/enrollment-tokens$/, () => page(tokens)],
  [
    "GET",
    /^\/enrollment-tokens\/(.+)$/,
    ({ params }) =>
      found(
        tokens.find((token) => String(token.id) === params[0]),
        "token",
      ),
  ],
  [
    "DELETE",
    /^\/enrollment-tokens\/(.+)$/,
    ({ params }) => {
      found(
        tokens.find((token) => String(token.id) === params[0]),
        "token",
      ).state = "revoked";
    },
  ],
  [
    "PUT",
    /^\/hosts\/(\d+)\/read-only$/,
    ({ params, body }) => {
      const host = found(
        hosts.find((each) => each.id === Number(params[0])),
        "host",
      );
      host.read_only = body.read_only;
      announce("hosts.changed.v1", { edge_id: host.id });
      return host;
    },
  ],
];
