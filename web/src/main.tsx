import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { meQuery } from "./api/queries";
import "./app.css";
import "./lib/theme";
import { makeRouter } from "./routes";

/** A session that ended elsewhere shows as the sign-in page, on the same address. */
function onError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401 && client.getQueryData(meQuery.queryKey)) {
    client.setQueryData(meQuery.queryKey, null);
  }
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      // The event stream marks what changed; refetching on focus would only repeat it.
      refetchOnWindowFocus: false,
      staleTime: 30_000,
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 2,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={makeRouter(client)} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
