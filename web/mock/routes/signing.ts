import type { Route } from "../http";

export const signingRoutes: Route[] = [];
