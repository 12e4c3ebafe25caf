/** Signing in, accounts, tokens, and who may chat. */
import type { Me } from "../../src/api/types";
import { ago, users } from "../data";
import { Failure, found, page, type Route } from "../http";

let signedIn = process.env.MOCK_SIGNED_IN === "1";
let password = "first";
const admin = users[0];
if (signedIn && admin) admin.must_change_password = false;
let accessMode: Me["access"]["mode"] = "all-users";
const apiTokens: object[] = [
  {
    id: 1,
    name: "ci",
    scopes: ["calls:run"],
    hint: "shp_7Qx",
    created_at: ago(90000),
    expires_at: ago(-900000),
    last_used_at: ago(1200),
  },
];

const me = (): Me => ({
  user: users[0] as Me["user"],
  csrf_token: "mock",
  access: { mode: accessMode, pinned: false, may_chat: accessMode !== "off" },
  version: "0.1.0",
});

export const isSignedIn = (): boolean => signedIn;

export const accountRoutes: Route[] = [
  [
    "POST",
    /^\/sign-in$/,
    ({ body }) => {
      if (body.password !== password) throw new Failure(401, "Not signed in", "The name or the password is wrong.");
      signedIn = true;
      return me();
    },
  ],
  [
    "POST",
    /^\/sign-out$/,
    () => {
      signedIn = false;
    },
  ],
  ["GET", /^\/me$/, () => me()],
  [
    "POST",
    /^\/me\/password$/,
    ({ body }) => {
      password = body.new as string;
      if (admin) admin.must_change_password = false;
      return me();
    },
  ],
  ["GET", /^\/users$/, () => page(users)],
  [
    "POST",
    /^\/users$/,
    ({ body }) => {
      const user = {
        id: users.length + 1,
        created_at: new Date().toISOString(),
        ...(body as object),
      } as (typeof users)[number];
      users.push(user);
      return user;
    },
  ],
  [
    "PATCH",
    /^\/users\/(\d+)$/,
    ({ params, body }) =>
      Object.assign(
        found(
          users.find((user) => user.id === Number(params[0])),
          "account",
        ),
        body,
      ),
  ],
  ["GET", /^\/tokens$/, () => page(apiTokens)],
  [
    "POST",
    /^\/tokens$/,
    ({ body }) => {
      const token = {
        id: apiTokens.length + 1,
        hint: "shp_x1Y",
        created_at: new Date().toISOString(),
        ...(body as object),
      };
      apiTokens.push(token);
      return { ...token, token: "shp_x1Y8kTq3VbN5mZ7wR9cE2fH4jL6pS0dG" };
    },
  ],
  [
    "PUT",
    /^\/settings\/access$/,
    ({ body }) => {
      accessMode = body.mode;
      return me().access;
    },
  ],
];
