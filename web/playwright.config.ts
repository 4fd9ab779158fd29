import { defineConfig } from "@playwright/test";

// Started by e2e/run.mjs, which knows where everything is.
export default defineConfig({
  testDir: "e2e",
  outputDir: "e2e/results",
  timeout: 120_000,
  expect: { timeout: 15_000 },
  // One Maar, one user after the other.
  workers: 1,
  retries: 0,
  reporter: "list",
  use: {
    baseURL: process.env.MAAR_BASE,
    viewport: { width: 1280, height: 800 },
    // What fades in has other colours for a while, which axe would judge.
    contextOptions: { reducedMotion: "reduce" },
    trace: "off",
    launchOptions: {
      executablePath: process.env.MAAR_CHROMIUM,
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"],
    },
  },
});
