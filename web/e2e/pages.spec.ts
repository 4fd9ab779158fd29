// Every page, light and dark, in both languages: nothing serious for axe, and a picture to look at.
import { generateKeyPairSync } from "node:crypto";
import { type APIRequestContext, expect, type Page, test } from "@playwright/test";
import { accessible, headers, shot, signIn } from "./helpers";

const pages: [name: string, path: string][] = [
  ["home", "/"],
  ["workspaces", "/workspaces"],
  ["workspace-new", "/workspaces/new"],
  ["jobs", "/jobs"],
  ["job-new", "/jobs/new"],
  ["heatmap", "/cards"],
  ["templates", "/templates"],
  ["volumes", "/volumes"],
  ["apps", "/apps"],
  ["settings", "/settings"],
  ["settings-ssh", "/settings?tab=ssh"],
  ["settings-kubeconfig", "/settings?tab=kubeconfig"],
  ["settings-keys", "/settings?tab=keys"],
  ["settings-sessions", "/settings?tab=sessions"],
  ["device", "/device"],
  ["admin-nodes", "/admin/nodes"],
  ["admin-users", "/admin/users"],
  ["admin-accounts", "/admin/accounts"],
  ["admin-policies", "/admin/policies"],
  ["admin-sessions", "/admin/sessions"],
  ["admin-audit", "/admin/audit"],
  ["missing", "/no/such/page"],
];

/** Pages of single things, whose addresses are known once those are there. */
const details: typeof pages = [];

/** A key as ssh-keygen writes it. */
function sshKey(comment: string): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const parts = [Buffer.from("ssh-ed25519"), Buffer.from(x, "base64url")].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return `ssh-ed25519 ${Buffer.concat(parts).toString("base64")} ${comment}`;
}

test.beforeAll(async ({ playwright }) => {
  const request = await playwright.request.newContext({ baseURL: process.env.MAAR_BASE });
  await signIn(request);
  const workspace = (name: string, cards: object, type = "Terminal") =>
    request.post("/api/v1/workspaces", {
      headers,
      data: { name, type, image: "busybox", memory: "1Gi", cards },
    });
  const job = (name: string, replicas: number, count: number) => {
    const containers = [{ name: "main", image: "busybox", command: ["sleep", "infinity"] }];
    const task = { name: "worker", replicas, cards: { count }, template: { spec: { containers } } };
    return request.post("/api/v1/jobs", {
      headers,
      data: { metadata: { name }, spec: { type: "PyTorch", tasks: [task] } },
    });
  };
  // Something to see: whole cards, a part of one, a job over several nodes, and one that cannot start.
  await workspace("notebook", { resource: "nvidia.com/gpu", count: 2 }, "Jupyter");
  await workspace("sketch", { resource: "nvidia.com/gpu", share: "0.5" });
  await job("train", 3, 8);
  await job("too-large", 30, 8);
  // Ways in: a key, a device, a port that others see and one by a link.
  const { namespace } = (await (await request.get("/api/v1/me")).json()) as { namespace: string };
  const ports = `/api/v1/workspaces/${namespace}/notebook/ports`;
  const made = [
    await request.post("/api/v1/me/ssh-keys", { headers, data: { key: sshKey("ada@laptop"), title: "" } }),
    await request.post("/api/v1/me/kubeconfigs", {
      headers,
      data: { mode: "certificate", device: "laptop" },
    }),
    await request.put(`${ports}/6006/sharing`, { headers, data: { kind: "account" } }),
    await request.put(`${ports}/3000/sharing`, { headers, data: { kind: "link", hours: 8 } }),
  ];
  for (const one of made) expect(one.ok(), await one.text()).toBe(true);
  details.push(...(await governed(request)));
  await request.dispose();
});

/** Something to look after: an account with a member and a rule, a template for it; answers where they are shown. */
async function governed(request: APIRequestContext): Promise<typeof pages> {
  const user = await request.post("/api/v1/users", {
    headers,
    data: { name: "grace", displayName: "Grace Hopper", email: "grace@example.org" },
  });
  expect(user.ok(), await user.text()).toBe(true);
  const amounts = { "nvidia.com/gpu": "16", cpu: "128", memory: "1Ti" };
  const physics = { name: "physics", displayName: "Physics", deserved: amounts, everyone: true };
  const idle = { windowMinutes: 120, percent: 5, warnMinutes: 60 };
  const nightly = { at: "23:00", timeZone: "Asia/Shanghai", warnMinutes: 30 };
  const template = { kind: "workspace", name: "notebook", body: { type: "Jupyter", image: "jupyter:1" } };
  const made = [
    await request.post("/api/v1/accounts", { headers, data: physics }),
    await request.put("/api/v1/accounts/physics/members/grace", { headers, data: { role: "Admin" } }),
    await request.put("/api/v1/policies/physics", { headers, data: { idle, nightly } }),
    await request.post("/api/v1/templates", {
      headers,
      data: { ...template, description: "As in the lecture", account: "physics" },
    }),
    await request.post("/api/v1/volumes", { headers, data: { name: "datasets", size: "100Gi" } }),
  ];
  for (const one of made) expect(one.ok(), await one.text()).toBe(true);
  const { id } = (await user.json()) as { id: string };
  const limits = { "nvidia.com/gpu": "4", workspaces: "3" };
  const limited = await request.put(`/api/v1/users/${id}/limits`, { headers, data: { limits } });
  expect(limited.ok(), await limited.text()).toBe(true);
  const nodes = (await (await request.get("/api/v1/nodes?limit=1")).json()) as { items: { name: string }[] };
  return [
    ["admin-node", `/admin/nodes/${nodes.items[0]?.name}/overview`],
    ["admin-account", "/admin/accounts/physics/overview"],
    ["admin-user-sessions", `/admin/users/${id}/sessions?name=grace`],
    ["admin-user-limits", `/admin/users/${id}/limits?name=grace`],
    ["consent", "/consent/walk"],
  ];
}

/** What a program of others asks. `maar up` is no OpenID provider, so that the page is told by the walk itself. */
async function asked(page: Page) {
  const question = {
    client: "Grafana",
    scopes: ["openid", "email", "groups", "offline_access"],
    redirect: "https://grafana.example.org/login/generic_oauth",
    needed: true,
  };
  await page.route("**/api/v1/consents/walk", (route) => route.fulfill({ json: question }));
}

/** Waits until a page has what it shows. */
async function shown(page: Page) {
  await expect(page.locator("h1, h2").first()).toBeVisible();
  await expect(page.locator('[role="status"][aria-label]')).toHaveCount(0);
}

// Two of the four show every colour and every text; the others are for those who look at the pictures.
const wanted =
  process.env.MAAR_E2E === "all"
    ? ["light en", "dark en", "light zh-CN", "dark zh-CN"]
    : ["light en", "dark zh-CN"];

for (const scheme of ["light", "dark"] as const) {
  for (const locale of ["en", "zh-CN"].filter((one) => wanted.includes(`${scheme} ${one}`))) {
    test.describe(`${scheme} ${locale}`, () => {
      test.use({ locale, colorScheme: scheme });
      test("pages", async ({ page }) => {
        test.setTimeout(420_000);
        await signIn(page.request);
        await asked(page);
        for (const [name, path] of [...pages, ...details]) {
          await page.goto(path);
          await shown(page);
          await shot(page, `${name}-${scheme}-${locale}`);
          await test.step(`${name} is accessible`, () => accessible(page));
        }
        for (const [kind, name] of [
          ["workspaces", "notebook"],
          ["jobs", "train"],
          ["jobs", "too-large"],
        ] as const) {
          await page.goto(`/${kind}`);
          await page.getByRole("link", { name, exact: true }).click();
          await expect(page.locator("[data-phase]").first()).toBeVisible();
          const address = page.url();
          const tabs = ["overview", "terminal", "connect", "logs", "events", "describe", "yaml", "usage"];
          for (const tab of tabs) {
            await page.goto(`${address}?tab=${tab}`);
            await expect(page.getByRole("tabpanel")).toBeVisible();
            await page.waitForTimeout(400);
            await shot(page, `${kind}-${name}-${tab}-${scheme}-${locale}`);
            await test.step(`${name} ${tab} is accessible`, () => accessible(page));
          }
        }
      });
    });
  }
}

test("a manifest is written, kept as a template and changed", async ({ page }) => {
  test.setTimeout(240_000);
  await signIn(page.request);
  await page.goto("/jobs/new");
  await page.getByRole("tab", { name: "YAML" }).click();
  const editor = page.getByRole("textbox", { name: "Manifest of the job" });
  await expect(editor).toContainText("kind: AIJob");
  await shot(page, "yaml-editor");
  await accessible(page);

  // What cannot be read is said with its line, and nothing is sent.
  await editor.press("ControlOrMeta+End");
  await page.keyboard.type("broken: [1\nmore: 2\n");
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText(/line \d+/);
  await expect(page.locator(".cm-wrong")).toBeVisible();
  await shot(page, "yaml-wrong");
  await accessible(page);

  // The form is as it was; it becomes a template, whose manifest is changed.
  await page.getByRole("button", { name: "Back to the form" }).click();
  await page.getByLabel("Image").fill("busybox");
  await page.getByRole("button", { name: "Save as template" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("nightly");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await page.goto("/templates");
  await page.getByRole("link", { name: "Edit" }).first().click();
  await expect(page.getByRole("heading", { name: "Edit a template" })).toBeVisible();
  await expect(editor).toContainText("image: busybox");
  await page.getByRole("button", { name: "Save the template" }).click();
  await dialog.getByLabel("Description").fill("Every night");
  await shot(page, "template-edit");
  await accessible(page);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Every night")).toBeVisible();
});

interface Seen {
  name: string;
  cards: { resource: string; cards: { holders: unknown[] }[] }[];
}

test("whole cards are asked for by their numbers", async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page.request);
  // A node on whose cards nobody is, whatever they are called there.
  const { items } = (await (await page.request.get("/api/v1/nodes?limit=500")).json()) as { items: Seen[] };
  const idle = items.find(({ cards: [kind] }) => kind?.cards.every((one) => one.holders.length === 0));
  await page.goto("/workspaces/new");
  await page.getByLabel("Name").fill("numbered");
  await page.getByRole("combobox", { name: "Image" }).fill("busybox");
  await page.getByLabel("Kind of card").selectOption(idle?.cards[0]?.resource ?? "");
  await page.getByLabel("Which cards").fill("6-x");
  await page.getByRole("button", { name: "Create workspace" }).click();
  await expect(page.getByText(/Numbers from 0 to 127/)).toBeVisible();
  await page.getByLabel("Which cards").fill("");
  // The cards of a node are shown as soon as one is chosen.
  await page.getByRole("button", { name: /^Volumes, environment/ }).click();
  await page.getByLabel("Node", { exact: true }).selectOption(idle?.name ?? "");
  const cards = page.getByRole("checkbox", { name: /^\d+ · / });
  const last = (await cards.count()) - 1;
  // The boxes themselves are drawn by their labels.
  for (const number of [1, last]) await page.getByText(new RegExp(`^${number} · `)).click();
  await expect(page.getByText(/Numbers from 0 to 127/)).toHaveCount(0);
  await shot(page, "card-numbers");
  await accessible(page);
  await page.getByRole("button", { name: "Create workspace" }).click();
  await expect(page.getByText(new RegExp(`^2 × .+ \\(1, ${last}\\)$`))).toBeVisible();
  await expect(page.locator('[data-phase="Running"]').first()).toBeVisible({ timeout: 30_000 });
  await shot(page, "card-numbers-given");
});

test("a plain user finds what is his, and is told kindly what is not", async ({ browser, playwright }) => {
  const admin = await playwright.request.newContext({ baseURL: process.env.MAAR_BASE });
  await signIn(admin);
  const made = await admin.post("/api/v1/users", { headers, data: { name: "ada", displayName: "Ada" } });
  const { password } = (await made.json()) as { password: string };
  await admin.dispose();

  const context = await browser.newContext({ locale: "en", baseURL: process.env.MAAR_BASE });
  const page = await context.newPage();
  const data = { name: "ada", password };
  expect((await page.request.post("/api/v1/login", { headers, data })).ok()).toBe(true);
  const next = { current: password, new: "difference engine no. 2" };
  expect((await page.request.put("/api/v1/me/password", { headers, data: next })).ok()).toBe(true);

  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Hello, Ada" })).toBeVisible();
  await expect(page.getByText("Nothing is running yet")).toBeVisible();
  await expect(page.getByRole("link", { name: "Users" })).toHaveCount(0);
  await shot(page, "plain-home");
  await accessible(page);
  await page.goto("/admin/users");
  await expect(page.getByRole("heading", { name: "You cannot see this" })).toBeVisible();
  await shot(page, "plain-forbidden");
  await accessible(page);

  await context.close();
});

test("on a telephone the menu folds away, and nothing sticks out", async ({ page }) => {
  test.setTimeout(240_000);
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page.request);
  await asked(page);
  const { namespace } = (await (await page.request.get("/api/v1/me")).json()) as { namespace: string };
  const work: typeof pages = [
    ["workspace", `/workspaces/${namespace}/notebook`],
    ["workspace-connect", `/workspaces/${namespace}/notebook?tab=connect`],
    ["job", `/jobs/${namespace}/train`],
    ["job-connect", `/jobs/${namespace}/train?tab=connect`],
    ["job-yaml", `/jobs/${namespace}/train?tab=yaml`],
  ];
  for (const [name, path] of [...pages, ...details, ...work]) {
    await page.goto(path);
    await shown(page);
    await shot(page, `narrow-${name}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect.soft(over, `${name} is wider than the window`).toBeLessThanOrEqual(0);
  }
  // What can be done with a port is reached by the thumb, not by pushing a table aside.
  await page.goto(`/workspaces/${namespace}/notebook?tab=connect`);
  const ports = page.getByRole("list", { name: "Programs and ports" });
  await expect(ports.getByRole("button", { name: "Share port 3000" })).toBeVisible();
  await expect.poll(() => ports.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
  await page.getByRole("button", { name: "Menu" }).click();
  await expect(page.getByRole("link", { name: "Heat map" })).toBeVisible();
  await shot(page, "narrow-menu");
});
