/** Server state of procedures, approvers and keys. They change rarely: pages read them when they open. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { signingApi } from "./signing";
import type { RunCall } from "./types";

export const proceduresQuery = queryOptions({
  queryKey: ["sops"],
  queryFn: ({ signal }) => signingApi.procedures(signal),
});
export const approversQuery = queryOptions({
  queryKey: ["approvers"],
  queryFn: ({ signal }) => signingApi.approvers(signal),
});
export const keyOffersQuery = queryOptions({
  queryKey: ["approvers", "offers"],
  queryFn: ({ signal }) => signingApi.keyOffers(signal),
});
export const myKeysQuery = queryOptions({
  queryKey: ["approver-keys"],
  queryFn: ({ signal }) => signingApi.myKeys(signal),
});
/** The steps that cover exactly this call. */
export const coveringQuery = (call: RunCall) =>
  queryOptions({
    queryKey: ["sops", "covering", call.tool, call.edge_id, call.args],
    queryFn: () => signingApi.covering(call),
    placeholderData: keepPreviousData,
    retry: false,
  });
