/** Every page, each in a chunk of its own. A page prefetches what it shows. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import {
  approvalQuery,
  capabilitiesQuery,
  enrollmentTokensQuery,
  hostQuery,
  hostsQuery,
  modelsQuery,
  pendingApprovalsQuery,
  sessionsQuery,
} from "./api/queries";
import { Gatekeeper } from "./frame/Gatekeeper";
import { NotFound, PageFailed } from "./frame/PageFailed";
import { readAuditSearch } from "./pages/audit/search";
import {
  readApprovalsSearch,
  readHostsSearch,
  readHostTab,
  readPolicySearch,
  readSecuritySearch,
  readSkillsSearch,
} from "./pages/search";

interface RouterContext {
  client: QueryClient;
}

/** Starts reading and doesn't wait: the page shows its skeleton meanwhile. */
function prefetch(client: QueryClient, ...queries: { queryKey: readonly unknown[] }[]): void {
  for (const query of queries) void client.prefetchQuery(query);
}

const root = createRootRouteWithContext<RouterContext>()({
  component: Gatekeeper,
  errorComponent: PageFailed,
  notFoundComponent: NotFound,
});

const chat = createRoute({
  getParentRoute: () => root,
  path: "/",
  loader: ({ context }) => prefetch(context.client, sessionsQuery, hostsQuery, capabilitiesQuery),
  component: lazyRouteComponent(() => import("./pages/chat/ChatPage"), "NewChatPage"),
});
const chatSession = createRoute({
  getParentRoute: () => root,
  path: "/chat/$sessionId",
  loader: ({ context }) => prefetch(context.client, sessionsQuery, hostsQuery, capabilitiesQuery),
  component: lazyRouteComponent(() => import("./pages/chat/ChatPage"), "SessionChatPage"),
});
const hosts = createRoute({
  getParentRoute: () => root,
  path: "/hosts",
  validateSearch: readHostsSearch,
  loader: ({ context }) => prefetch(context.client, hostsQuery),
  component: lazyRouteComponent(() => import("./pages/hosts/HostsPage"), "HostsPage"),
});
const host = createRoute({
  getParentRoute: () => root,
  path: "/hosts/$hostId",
  validateSearch: readHostTab,
  loader: ({ context, params }) => prefetch(context.client, hostQuery(Number(params.hostId))),
  component: lazyRouteComponent(() => import("./pages/hosts/HostPage"), "HostPage"),
});
const skills = createRoute({
  getParentRoute: () => root,
  path: "/skills",
  validateSearch: readSkillsSearch,
  loader: ({ context }) => prefetch(context.client, capabilitiesQuery),
  component: lazyRouteComponent(() => import("./pages/skills/SkillsPage"), "SkillsPage"),
});
const skill = createRoute({
  getParentRoute: () => root,
  path: "/skills/$scope/$key",
  loader: ({ context }) => prefetch(context.client, capabilitiesQuery),
  component: lazyRouteComponent(() => import("./pages/skills/SkillPage"), "SkillPage"),
});
const approvals = createRoute({
  getParentRoute: () => root,
  path: "/approvals",
  validateSearch: readApprovalsSearch,
  loader: ({ context }) => prefetch(context.client, pendingApprovalsQuery),
  component: lazyRouteComponent(() => import("./pages/approvals/ApprovalsPage"), "ApprovalsPage"),
});
const approval = createRoute({
  getParentRoute: () => root,
  path: "/approvals/$approvalId",
  loader: ({ context, params }) => prefetch(context.client, approvalQuery(params.approvalId)),
  component: lazyRouteComponent(() => import("./pages/approvals/ApprovalPage"), "ApprovalPage"),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: "/admin/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./pages/audit/AuditPage"), "AuditPage"),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("./pages/settings/SettingsPage"), "SettingsPage"),
});
const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/settings/models", replace: true });
  },
});
const settingsModels = createRoute({
  getParentRoute: () => settings,
  path: "/models",
  loader: ({ context }) => prefetch(context.client, modelsQuery),
  component: lazyRouteComponent(() => import("./pages/settings/ModelsPage"), "ModelsPage"),
});
const settingsAccounts = createRoute({
  getParentRoute: () => settings,
  path: "/accounts",
  component: lazyRouteComponent(() => import("./pages/settings/AccountsPage"), "AccountsPage"),
});
const settingsAccess = createRoute({
  getParentRoute: () => settings,
  path: "/access",
  component: lazyRouteComponent(() => import("./pages/settings/AccessPage"), "AccessPage"),
});
const settingsPolicy = createRoute({
  getParentRoute: () => settings,
  path: "/policy",
  validateSearch: readPolicySearch,
  loader: ({ context }) => prefetch(context.client, capabilitiesQuery),
  component: lazyRouteComponent(() => import("./pages/settings/PolicyPage"), "PolicyPage"),
});
const settingsEnrolment = createRoute({
  getParentRoute: () => settings,
  path: "/enrolment",
  loader: ({ context }) => prefetch(context.client, enrollmentTokensQuery),
  component: lazyRouteComponent(() => import("./pages/settings/EnrolmentPage"), "EnrolmentPage"),
});
const settingsSecurity = createRoute({
  getParentRoute: () => settings,
  path: "/security",
  validateSearch: readSecuritySearch,
  component: lazyRouteComponent(() => import("./pages/settings/security/SecurityPage"), "SecurityPage"),
});
const settingsKeys = createRoute({
  getParentRoute: () => settings,
  path: "/keys",
  component: lazyRouteComponent(() => import("./pages/settings/keys/KeysPage"), "KeysPage"),
});
const settingsAbout = createRoute({
  getParentRoute: () => settings,
  path: "/about",
  component: lazyRouteComponent(() => import("./pages/settings/AboutPage"), "AboutPage"),
});

const tree = root.addChildren([
  chat,
  chatSession,
  hosts,
  host,
  skills,
  skill,
  approvals,
  approval,
  audit,
  settings.addChildren([
    settingsIndex,
    settingsModels,
    settingsAccounts,
    settingsAccess,
    settingsPolicy,
    settingsEnrolment,
    settingsSecurity,
    settingsKeys,
    settingsAbout,
  ]),
]);

export function makeRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: "intent",
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
