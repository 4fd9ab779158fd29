import react from "@vitejs/plugin-react";
import { defineConfig, type ProxyOptions } from "vite";

// Where a portal runs while the pages are worked on: `maar up` prints its address.
const portal = process.env.MAAR_PORTAL ?? "http://127.0.0.1:6445";

const proxy: Record<string, ProxyOptions> = {
  "/api": {
    target: portal,
    ws: true,
    changeOrigin: true,
    // The portal takes changes only from its own origin.
    configure: (server) => {
      server.on("proxyReq", (request) => request.setHeader("origin", portal));
      server.on("proxyReqWs", (request) => request.setHeader("origin", portal));
    },
  },
};

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    manifest: true,
    // Small files would become data: addresses, which are neither compressed nor hashed.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy,
  },
  // What the portal sends with its pages, so that a page that needs more is found before it is in the binary.
  preview: {
    proxy,
    headers: {
      "Content-Security-Policy":
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
    },
  },
});
