import { createServer } from "node:net";

/**
 * A port of this machine that nobody has; Pods of the local node share them. It is below those that the kernel gives to
 * whoever dials: there, somebody has the port sooner or later that was free a moment ago.
 */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const server = createServer();
    const free = await new Promise((done) => {
      server.once("error", () => done(false));
      server.listen(port, "127.0.0.1", () => done(true));
    });
    if (!free) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}
