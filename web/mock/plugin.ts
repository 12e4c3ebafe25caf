/**
 * A stand-in for the manager, for developing pages without one: `npm run dev:mock`. It answers in the shapes of the
 * API and checks nothing. Name and password: `admin`, `first`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import { seedApprovals } from "./approvals";
import { ago, newId, sessions } from "./data";
import { answer } from "./http";
import { accountRoutes, isSignedIn } from "./routes/account";
import { approvalRoutes } from "./routes/approvals";
import { callRoutes } from "./routes/calls";
import { chatRoutes } from "./routes/chats";
import { hostRoutes } from "./routes/hosts";
import { signingRoutes } from "./routes/signing";
import { seedSigning } from "./signing-seeds";
import { listen, playTurn } from "./turns";

const routes = [...accountRoutes, ...hostRoutes, ...callRoutes, ...chatRoutes, ...approvalRoutes, ...signingRoutes];
const mayAnswer = (path: string) => isSignedIn() || path === "/sign-in";

function streamTo(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": open\n\n");
  const stop = listen((name, data, id) => {
    response.write(`${id ? `id: ${id}\n` : ""}${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
  });
  request.on("close", stop);
}

async function seed(): Promise<void> {
  const titles = ["how loaded are web-1 and db-1?", "why is nginx failing?", "is port 22 open on localhost?"];
  for (const [index, text] of titles.entries()) {
    const at = ago(86_400 * index + 300);
    const session = {
      id: newId(),
      title: "New chat",
      pinned: index === 1,
      archived: false,
      owner_id: 1,
      created_at: at,
      updated_at: at,
    };
    sessions.push(session);
    await playTurn(session.id, newId(), text, 0);
    session.updated_at = at;
  }
  seedApprovals();
  seedSigning();
}

export function mockManager(): Plugin {
  const use = (server: {
    middlewares: { use(handler: (request: IncomingMessage, response: ServerResponse, next: () => void) => void): void };
  }) => {
    void seed();
    server.middlewares.use((request, response, next) => {
      if (request.url?.startsWith("/api/v1/events") && isSignedIn()) streamTo(request, response);
      else if (request.url?.startsWith("/api/v1")) void answer(routes, mayAnswer, request, response);
      else next();
    });
  };
  return { name: "mock-manager", configureServer: use, configurePreviewServer: use };
}
