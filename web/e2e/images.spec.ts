// The pictures of the README: a small group at work, in both languages. Only where MAAR_IMAGES asks for them, on a Maar of
// its own: `MAAR_IMAGES=1 npm run e2e -- images.spec.ts`. The machine needs a font with Chinese letters for it.
import { type APIRequestContext, type Browser, expect, type Page, test } from "@playwright/test";
import en from "../src/i18n/en.json" with { type: "json" };
import zh from "../src/i18n/zh-CN.json" with { type: "json" };
import { headers, signIn, type Texts } from "./helpers";

test.skip(process.env.MAAR_IMAGES !== "1", "pictures are made when MAAR_IMAGES is 1");

const languages = [
  ["en", en, ""],
  ["zh-CN", zh as unknown as Texts, "-zh"],
] as const;
const password = "difference engine no. 2";
const gpu = "nvidia.com/gpu";

async function done(answer: Promise<Awaited<ReturnType<APIRequestContext["post"]>>>) {
  const one = await answer;
  expect(one.ok(), await one.text()).toBe(true);
  return one;
}

const login = (request: APIRequestContext, name: string, secret: string) =>
  done(request.post("/api/v1/login", { headers, data: { name, password: secret } }));

/** A user who has chosen a password of his own. */
async function newcomer(
  admin: APIRequestContext,
  request: APIRequestContext,
  data: { name: string; displayName: string },
) {
  const { password: first } = (await (await done(admin.post("/api/v1/users", { headers, data }))).json()) as {
    password: string;
  };
  await login(request, data.name, first);
  await done(request.put("/api/v1/me/password", { headers, data: { current: first, new: password } }));
}

function work(request: APIRequestContext, account: string) {
  const workspace = (name: string, more: object) =>
    done(
      request.post("/api/v1/workspaces", {
        headers,
        data: { name, image: "busybox", memory: "1Gi", account, ...more },
      }),
    );
  const job = (name: string, type: string, replicas: number, cards: object) => {
    const containers = [{ name: "main", image: "busybox", command: ["sleep", "infinity"] }];
    const task = { name: "worker", replicas, cards, template: { spec: { containers } } };
    return done(
      request.post("/api/v1/jobs", {
        headers,
        data: { metadata: { name }, spec: { type, account, tasks: [task] } },
      }),
    );
  };
  return { workspace, job };
}

test.beforeAll(async ({ playwright }) => {
  const context = () => playwright.request.newContext({ baseURL: process.env.MAAR_BASE });
  const [admin, ada, grace] = [await context(), await context(), await context()];
  await signIn(admin);
  await newcomer(admin, ada, { name: "ada", displayName: "Ada Lovelace" });
  await newcomer(admin, grace, { name: "grace", displayName: "Grace Hopper" });
  for (const [name, displayName, member] of [
    ["physics", "Physics", "ada"],
    ["linguistics", "Linguistics", "grace"],
  ] as const) {
    const capability = { [gpu]: "48", workspaces: "12" };
    await done(admin.post("/api/v1/accounts", { headers, data: { name, displayName, capability } }));
    await done(
      admin.put(`/api/v1/accounts/${name}/members/${member}`, { headers, data: { role: "Member" } }),
    );
  }
  // She has been here before.
  await done(ada.put("/api/v1/me/preferences", { headers, data: { hintsSeen: ["first-steps"] } }));
  const [hers, others] = [work(ada, "physics"), work(grace, "linguistics")];
  await others.job("corpus", "PyTorch", 2, { resource: gpu, count: 8 });
  await others.job("speech", "Single", 1, { resource: "huawei.com/Ascend910", count: 6 });
  await others.job("tokens", "Single", 3, { resource: gpu, share: "0.25" });
  await others.workspace("reading", { cards: { resource: gpu, count: 1 } });
  await hers.workspace("notebook", { type: "Jupyter", cards: { resource: gpu, count: 2 } });
  await hers.workspace("sketch", { cards: { resource: gpu, share: "0.5" } });
  await hers.workspace("desk", {});
  await hers.job("lattice", "PyTorch", 3, { resource: gpu, count: 4 });
  await hers.job("sweep", "Single", 10, { resource: gpu, count: 8 });
  for (const one of [admin, ada, grace]) await one.dispose();
});

async function open(browser: Browser, locale: string): Promise<Page> {
  const context = await browser.newContext({ locale, baseURL: process.env.MAAR_BASE });
  const page = await context.newPage();
  await login(page.request, "ada", password);
  return page;
}

for (const [language, text, ending] of languages) {
  test(`pictures in ${language}`, async ({ browser }) => {
    const page = await open(browser, language);
    const picture = (name: string) =>
      page.screenshot({ path: `../docs/images/${name}${ending}.png`, animations: "disabled" });

    // Cards are measured every so often.
    await page.goto("/cards");
    await expect(page.getByRole("gridcell", { name: /[4-9]\d%/ }).first()).toBeVisible({ timeout: 60_000 });
    await page
      .getByRole("gridcell", { name: /Ada Lovelace|ada/ })
      .first()
      .click();
    await expect(page.getByRole("gridcell", { selected: true })).toHaveCount(1);
    await page.mouse.move(0, 0);
    await picture("portal-heat-map");

    await page.goto("/");
    await expect(page.locator("[data-phase]").first()).toBeVisible();
    await picture("portal-home");

    await page.goto("/jobs");
    await page.getByRole("link", { name: "sweep", exact: true }).click();
    await expect(page.getByText(text.why.title, { exact: true })).toBeVisible();
    await expect(page.getByRole("alert").getByRole("listitem").first()).toBeVisible();
    await picture("portal-waiting");

    await page.goto("/workspaces");
    await page.getByRole("link", { name: "desk", exact: true }).click();
    await page.getByRole("button", { name: text.workspaces.openTerminal }).click();
    await expect(page.locator('[data-terminal="open"]')).toBeVisible({ timeout: 20_000 });
    await page.keyboard.type("echo $((6*7))-is-the-answer\n");
    await expect(page.locator(".xterm")).toContainText("42-is-the-answer");
    await picture("portal-terminal");
    await page.context().close();
  });
}
