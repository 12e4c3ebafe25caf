/** Server state. Nothing polls: the event stream marks what has changed (`useLiveQueries`). */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ApiError, api } from "./client";
import type { CallFilter } from "./types";

export const meQuery = queryOptions({
  queryKey: ["me"],
  // Nobody signed in is an answer, not a failure.
  queryFn: async ({ signal }) => {
    try {
      return await api.me(signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: Number.POSITIVE_INFINITY,
});

export const hostsQuery = queryOptions({
  queryKey: ["hosts"],
  queryFn: ({ signal }) => api.hosts(signal),
});

export const hostQuery = (host: number) =>
  queryOptions({ queryKey: ["host", host], queryFn: ({ signal }) => api.host(host, signal) });

export const enrollmentTokensQuery = queryOptions({
  queryKey: ["enrollment-tokens"],
  queryFn: ({ signal }) => api.enrollmentTokens(signal),
});

export const enrollmentTokenQuery = (token: number) =>
  queryOptions({ queryKey: ["enrollment-tokens", token], queryFn: ({ signal }) => api.enrollmentToken(token, signal) });

export const capabilitiesQuery = queryOptions({
  queryKey: ["capabilities"],
  queryFn: ({ signal }) => api.capabilities(signal),
});

export const packsQuery = queryOptions({
  queryKey: ["packs"],
  queryFn: ({ signal }) => api.packs(signal),
});

export const callsQuery = (filter: CallFilter) =>
  infiniteQueryOptions({
    queryKey: ["calls", filter],
    queryFn: ({ signal, pageParam }) => api.calls(filter, pageParam || undefined, 100, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

export const recentCallsQuery = (filter: CallFilter, limit: number) =>
  queryOptions({
    queryKey: ["calls", "recent", filter, limit],
    queryFn: async ({ signal }) => (await api.calls(filter, undefined, limit, signal)).items,
  });

export const callQuery = (call: string) =>
  queryOptions({ queryKey: ["call", call], queryFn: ({ signal }) => api.call(call, signal) });

export const densityQuery = (filter: CallFilter & { buckets: number }) =>
  queryOptions({
    queryKey: ["density", filter],
    queryFn: ({ signal }) => api.density(filter, signal),
    placeholderData: keepPreviousData,
  });

export const chainQuery = queryOptions({
  queryKey: ["chain"],
  queryFn: ({ signal }) => api.verifyChain(signal),
  // It reads the whole log, and only one check runs at a time.
  staleTime: 600_000,
  gcTime: 600_000,
  retry: (count, error) => error instanceof ApiError && error.status === 429 && count < 3,
  retryDelay: 5_000,
});

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }) => api.sessions(signal),
});

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => api.models(signal),
});
export const usersQuery = queryOptions({
  queryKey: ["users"],
  queryFn: ({ signal }) => api.users(signal),
});
export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => api.tokens(signal),
});
export const aboutQuery = queryOptions({ queryKey: ["about"], queryFn: ({ signal }) => api.about(signal) });

export const approvalCountQuery = queryOptions({
  queryKey: ["approvals", "count"],
  queryFn: ({ signal }) => api.approvalCount(signal),
});
export const pendingApprovalsQuery = queryOptions({
  queryKey: ["approvals", "pending"],
  queryFn: ({ signal }) => api.pendingApprovals(signal),
});
export const decidedApprovalsQuery = infiniteQueryOptions({
  queryKey: ["approvals", "decided"],
  queryFn: ({ signal, pageParam }) => api.approvals("decided", pageParam || undefined, 100, signal),
  initialPageParam: "",
  getNextPageParam: (page) => page.next_cursor ?? undefined,
});
export const approvalQuery = (approval: string) =>
  queryOptions({ queryKey: ["approval", approval], queryFn: ({ signal }) => api.approval(approval, signal) });
export const grantsQuery = queryOptions({
  queryKey: ["grants"],
  queryFn: ({ signal }) => api.grants(signal),
});
export const freezeQuery = queryOptions({
  queryKey: ["freeze"],
  queryFn: ({ signal }) => api.freeze(signal),
});
