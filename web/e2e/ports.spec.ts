// Programs that listen in a workspace, opened and shared from its page: HTTP and WebSocket through the proxy, each on an
// origin of its own.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, type Page, test } from "@playwright/test";
import { parse } from "yaml";
import { codeServer } from "./codeserver";
import { fetched, give } from "./fetched";
import { absent, accessible, headers, shot, signIn } from "./helpers";
import { jupyterLab, workspace } from "./jupyter";
import { freePort } from "./port.mjs";

const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));
const echo = fileURLToPath(new URL("../../crates/portal/tests/portal/echo.py", import.meta.url));

/** Whether there is a node that runs programs of this machine; if not, that is said. */
async function local(page: Page): Promise<boolean> {
  const answer = await page.request.get("/api/v1/nodes?limit=500");
  const { items } = (await answer.json()) as { items: { name: string }[] };
  const found = items.some((one) => one.name === "local");
  if (!found) absent("a local node (bubblewrap): no program of a workspace was opened in a browser");
  return found;
}

/** Makes a workspace on the local node, and goes to how it is connected to. */
async function connectTo(page: Page, name: string, body: object) {
  const data = { name, image: "none", memory: "1Gi", nodes: ["local"], ...body };
  const made = await page.request.post("/api/v1/workspaces", { headers, data });
  expect(made.ok(), await made.text()).toBe(true);
  const { namespace } = (await made.json()) as { namespace: string };
  await page.goto(`/workspaces/${namespace}/${name}?tab=connect`);
  await expect(page.locator('[data-phase="Running"]').first()).toBeVisible({ timeout: 60_000 });
  return `/api/v1/workspaces/${namespace}/${name}`;
}

/** Opens a port by its button; it may still be starting. */
async function open(page: Page, button: string): Promise<Page> {
  const [app] = await Promise.all([
    page.waitForEvent("popup"),
    page.getByRole("button", { name: button }).last().click(),
  ]);
  await app.waitForURL(/apps\.localhost/);
  await expect
    .poll(async () => (await app.reload())?.status(), { timeout: 120_000, intervals: [1000] })
    .toBe(200);
  return app;
}

/** What a page hears back when it says something by WebSocket; how it was closed if nothing. */
const echoed = (app: Page, text: string) =>
  app.evaluate(
    (said) =>
      new Promise<string>((done) => {
        const socket = new WebSocket(`ws://${location.host}/socket`);
        socket.onopen = () => socket.send(said);
        socket.onmessage = ({ data }) => {
          done(String(data));
          socket.close();
        };
        socket.onclose = ({ code }) => done(`closed ${code}`);
      }),
    text,
  );

test("a program is opened, shared by link, and no longer shared", async ({ page, browser }) => {
  test.setTimeout(300_000);
  await signIn(page.request);
  if (!python) absent("python3 in /usr/bin: no program of a workspace was opened in a browser");
  test.skip(!python || !(await local(page)));
  const port = await freePort();
  const api = await connectTo(page, "ports", {
    command: [python, "-c", readFileSync(echo, "utf8"), String(port)],
    ports: [{ name: "echo", port }],
  });
  await expect(page.getByText(`${port} · echo`)).toBeVisible();
  await accessible(page);
  await shot(page, "ports-private");

  // Its owner sees it on an origin of its own, by HTTP and by WebSocket.
  const app = await open(page, "Open echo");
  await expect(app.locator("body")).toContainText(`python says: ${port}--ports--`);
  expect(await echoed(app, "hello")).toBe("hello");
  // A script there neither reads a cookie of ours nor acts as the user.
  expect(await app.evaluate(() => document.cookie)).toBe("");
  expect(await app.evaluate(() => window.opener)).toBeNull();
  const me = `${process.env.MAAR_BASE}/api/v1/me`;
  const asked = app.evaluate((url) => fetch(url, { credentials: "include" }).then((one) => one.text()), me);
  await expect(asked).rejects.toThrow(/Failed to fetch/);

  // By a link somebody sees it who has not signed in.
  await page.getByRole("button", { name: `Share port ${port}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Whoever has the link").check();
  await accessible(page);
  await shot(page, "ports-share");
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  const link = (await dialog.getByText(/^http:.*secret=/).textContent()) ?? "";
  await accessible(page);
  await shot(page, "ports-link");
  await dialog.getByRole("button", { name: "I have kept it" }).click();
  await expect(page.getByText("Whoever has the link")).toBeVisible();
  await shot(page, "ports-shared");
  const elsewhere = await browser.newContext({ locale: "en" });
  const guest = await elsewhere.newPage();
  expect((await guest.goto(link))?.status()).toBe(200);
  await expect(guest.locator("body")).toContainText("python says");
  expect(guest.url()).not.toContain("secret");
  expect(await echoed(guest, "also here")).toBe("also here");

  // Nobody comes in any more, and who is inside is sent away.
  await page.getByRole("button", { name: "Stop sharing" }).click();
  await accessible(page);
  await dialog.getByRole("button", { name: "Stop sharing" }).click();
  await expect(page.getByText("Only me")).toBeVisible();
  await expect.poll(async () => (await guest.reload())?.status(), { timeout: 60_000 }).toBe(401);
  await shot(guest, "ports-refused");
  expect((await guest.goto(link))?.status()).toBe(401);
  expect((await app.reload())?.status()).toBe(200);
  await elsewhere.close();

  // What was typed is opened; nothing listens there, and that is what is said.
  const silent = await freePort();
  await page.getByLabel("Another port").fill(String(silent));
  const [nothing] = await Promise.all([
    page.waitForEvent("popup"),
    page.getByRole("button", { name: "Open", exact: true }).click(),
  ]);
  await expect(nothing.locator("body")).toContainText("Nothing listens on this port yet", {
    timeout: 30_000,
  });
  await shot(nothing, "ports-nothing");
  await page.request.delete(api, { headers });
});

test("a notebook of a real Jupyter runs a cell", async ({ page }) => {
  test.setTimeout(600_000);
  await signIn(page.request);
  test.skip(!(await local(page)));
  const folder = await jupyterLab();
  test.skip(!folder);
  const server = await give(folder ?? "");
  const port = await freePort();
  const api = await connectTo(page, "notebook-lab", workspace(server, port));
  const lab = await open(page, "Open Jupyter");
  const sockets: string[] = [];
  lab.on("websocket", (socket) => sockets.push(new URL(socket.url()).pathname));
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: 120_000 });
  const cell = lab.locator(".jp-Notebook .jp-CodeCell").first();
  await cell.locator(".cm-content").click({ timeout: 60_000 });
  await lab.keyboard.type("print(6 * 7, 'is the answer')");
  // What is run before the kernel is connected is forgotten without a word, and nothing on the page surely tells when it
  // is: asked again, as people do.
  await expect(async () => {
    await cell.locator(".cm-content").click();
    await lab.keyboard.press("Control+Enter");
    await expect(cell.locator(".jp-OutputArea-output")).toContainText("42 is the answer", {
      timeout: 10_000,
    });
  }).toPass({ timeout: 180_000 });
  expect(sockets.some((path) => /\/api\/kernels\/.*\/channels$/.test(path))).toBe(true);
  await shot(lab, "ports-jupyter");
  await page.request.delete(api, { headers });
  server.close();
});

/** What the Pod of a workspace of a type runs. */
async function commandOf(page: Page, type: string): Promise<string[]> {
  const data = { name: "of-type", image: "none", type, cpu: "100m", memory: "64Mi" };
  const made = await page.request.post("/api/v1/workspaces", { headers, data });
  expect(made.ok(), await made.text()).toBe(true);
  const { namespace } = (await made.json()) as { namespace: string };
  const pod = () => page.request.get(`/api/v1/pods/${namespace}/of-type/yaml`);
  await expect.poll(async () => (await pod()).status(), { timeout: 30_000 }).toBe(200);
  const { spec } = parse(await (await pod()).text()) as { spec: { containers: { command: string[] }[] } };
  await page.request.delete(`/api/v1/workspaces/${namespace}/of-type`, { headers });
  return spec.containers[0]?.command ?? [];
}

test("an editor of a real code-server opens, and a terminal in it", async ({ page }) => {
  test.setTimeout(600_000);
  await signIn(page.request);
  test.skip(!(await local(page)));
  const folder = await codeServer();
  test.skip(!folder);
  const server = await give(folder ?? "");
  const port = await freePort();
  const words = (await commandOf(page, "CodeServer")).map((word) => (word === "8080" ? String(port) : word));
  expect(words).toContain(String(port));
  const api = await connectTo(page, "editor", {
    cpu: "500m",
    memory: "2Gi",
    command: fetched(server, words),
    // Variables that images set, and that code-server would rather listen to than to its options.
    env: {
      HOME: "/tmp",
      PATH: "/tmp/fetched/node_modules/.bin:/usr/bin:/bin",
      CODE_SERVER_HOST: "0.0.0.0",
      PORT: "1",
    },
    ports: [{ name: "code-server", port }],
  });
  const editor = await open(page, "Open code-server");
  const [asked, sockets]: [string[], string[]] = [[], []];
  editor.on("request", (request) => asked.push(new URL(request.url()).host));
  editor.on("websocket", (socket) => sockets.push(new URL(socket.url()).host));
  await editor.reload();
  await expect(editor.locator(".monaco-workbench .part.editor")).toBeVisible({ timeout: 120_000 });
  await editor.keyboard.press("Control+Backquote");
  await expect(editor.locator(".terminal-wrapper .xterm")).toBeVisible({ timeout: 60_000 });
  const { host } = new URL(editor.url());
  expect(sockets.length).toBeGreaterThan(0);
  expect(new Set([...asked, ...sockets].filter((one) => one && one !== host))).toEqual(new Set());
  await shot(editor, "ports-code-server");
  await page.request.delete(api, { headers });
  server.close();
});
