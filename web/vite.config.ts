/// <reference types="vitest/config" />
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { mockManager } from "./mock/plugin";

/** What the manager sends with the console. `vite preview` sends the same, so that a violation shows early. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

export default defineConfig(({ mode }) => ({
  plugins: [react(), tailwindcss(), ...(mode === "mock" ? [mockManager()] : [])],
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    // Fonts as files: a data: font would need a wider policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    manifest: true,
  },
  server: {
    port: 5180,
    proxy: mode === "mock" ? undefined : { "/api": process.env.STEADYHAND_URL ?? "http://127.0.0.1:7180" },
  },
  preview: {
    port: 5181,
    headers: { "content-security-policy": CONTENT_SECURITY_POLICY, "x-content-type-options": "nosniff" },
  },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node" },
}));
