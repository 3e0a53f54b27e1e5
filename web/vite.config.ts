/*
 * How Vite makes the page: one HTML file with its script and its style inside (inline_page.ts).
 *
 * tools/build-page runs it on a copy of this folder. HEAPSCOPE_PAGE_OUT names the folder for the
 * result.
 */
/// <reference types="vitest/config" />
import { defineConfig } from "vite";

import { inlinePage } from "./inline_page.ts";

export default defineConfig({
  plugins: [inlinePage()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    outDir: process.env["HEAPSCOPE_PAGE_OUT"] ?? "dist",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
  },
  /* With HEAPSCOPE_PAGE, the tests of a real page; without, those of the code. */
  test: { include: [process.env["HEAPSCOPE_PAGE"] ? "test/real/*.test.ts" : "test/*.test.ts"] },
});
