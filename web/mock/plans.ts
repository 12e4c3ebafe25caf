/** What the stand-in's model does about a text: which tools it calls, what they answer, what it says then. */
import type { Json } from "../src/api/types";
import { hosts, loadResult } from "./data";
import { galleryPlan } from "./gallery";

export interface Planned {
  tool: string;
  edge: number;
  args: Json;
  result: Json;
  fails?: string;
  /** It changes something and waits for a person. */
  asks?: boolean;
  /** It asks several hosts, each by a call of its own. */
  children?: { name: string; result: Json; error?: string }[];
}

export interface Plan {
  calls: Planned[];
  answer: string;
  /** Milliseconds between two pieces of the answer, instead of the usual. */
  paceMs?: number;
}

export function plan(text: string): Plan {
  const shown = galleryPlan(text);
  if (shown) return shown;
  const [web, db] = hosts;
  if (/port|probe_tcp/.test(text)) {
    return {
      calls: [
        {
          tool: "probe_tcp",
          edge: 1,
          args: { target: "localhost:22" },
          result: { target: "localhost:22", attempts: [{ address: "127.0.0.1:22", connect_ms: 0.21, error: null }] },
        },
      ],
      answer: "**Port 22 is open** on `localhost`, seen from web-1: connected to 127.0.0.1 in 0.21 ms.",
    };
  }
  if (/restart/.test(text)) {
    return {
      calls: [
        {
          tool: "restart_service",
          edge: 1,
          args: { service: "nginx.service", reason: "asked in the chat", action: "restart" },
          result: { unit: "nginx.service", state: "active", since_seconds: 3 },
          asks: true,
        },
      ],
      answer: "`nginx.service` on web-1 was restarted and is **active** since 3 s.",
    };
  }
  if (/clean|bash/.test(text)) {
    const command = /command='(.*)'/.exec(text)?.[1];
    return {
      calls: [
        {
          tool: "bash",
          edge: 1,
          args: command
            ? { command }
            : { command: "cd /srv/shop && rm -rf cache/* && systemctl restart shop.service", timeout_s: 60 },
          result: { exit_code: 0, stdout: "", stderr: "" },
          asks: true,
        },
      ],
      answer: "The cache is empty and `shop.service` runs again.",
    };
  }
  if (/nginx/.test(text)) {
    const lines = Array.from(
      { length: 40 },
      (_, index) =>
        `\u001b[31m[emerg]\u001b[0m 2841#2841: bind() to 0.0.0.0:80 failed (98: Address already in use) attempt ${index + 1}`,
    );
    return {
      calls: [
        {
          tool: "service_status",
          edge: 1,
          args: { service: "nginx.service" },
          result: {
            units: [
              {
                unit: "nginx.service",
                state: "failed",
                since: new Date(Date.now() - 4e5).toISOString(),
                restarts: 5,
                memory_bytes: 0,
              },
            ],
          },
        },
        {
          tool: "read_journal",
          edge: 1,
          args: { unit: "nginx.service", lines: 40 },
          result: {
            entries: lines.map((message, index) => ({
              time: new Date(Date.now() - index * 1000).toISOString(),
              priority: "err",
              message,
            })),
            text: lines.join("\n"),
          },
        },
        {
          tool: "probe_tcp",
          edge: 3,
          args: { target: "localhost:80" },
          result: null,
          fails: "cache-2 is offline since 90 min",
        },
      ],
      answer:
        "`nginx.service` on web-1 **failed**: port 80 is already in use.\n\n1. It was restarted 5 times.\n2. The journal says `bind() to 0.0.0.0:80 failed`.\n\nFind the process that holds the port with:\n\n```sh\nss -ltnp 'sport = :80'\n```\n\nMore in the [manual](https://nginx.org/en/docs/).",
    };
  }
  const table = [web, db]
    .map(
      (host) =>
        `| ${host?.name} | ${host?.load?.load1} | ${host?.load?.cpu_percent} % | ${host?.load?.memory_percent} % | ${host?.load?.disk_percent} % |`,
    )
    .join("\n");
  return {
    calls: [1, 2].map((edge) => ({
      tool: "host_load",
      edge,
      args: {},
      result: loadResult(hosts[edge - 1] ?? (web as NonNullable<typeof web>)),
    })),
    answer: `web-1 is lightly loaded; **db-1 is busy** and its disk is filling up.\n\n| Host | Load (1 min) | CPU | Memory | Disk |\n|---|--:|--:|--:|--:|\n${table}\n`,
  };
}
