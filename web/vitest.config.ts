import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/setup.ts"],
    testTimeout: 60_000,
    // Times are shown in the reader's zone: tests need one that does not change with the machine.
    env: { TZ: "UTC" },
  },
});
