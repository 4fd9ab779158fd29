import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { type APIRequestContext, expect, type Page } from "@playwright/test";

export const secondPassword = "a walk through the pages";
const shots = "e2e/shots";

/** A folder for what is made once for a build; e2e/run.mjs says where. */
export const kept = process.env.MAAR_KEPT ?? "e2e/results";
/** What every request of a page carries. */
export const headers = { "X-Maar-Request": "1" };

/** Names a part that this machine has not, so that nobody takes what did not run for what passed. */
export function absent(what: string) {
  console.error(`absent: ${what}`);
  appendFileSync(join(kept, "absent"), `absent: ${what}\n`);
}

/** No serious or critical fault of accessibility on what is shown. */
export async function accessible(page: Page) {
  // Colours of what is still fading in are not those that people see. (A cursor blinks for ever.)
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((one) => one.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY)
        .map((one) => one.finished.catch(() => undefined)),
    ),
  );
  const { violations } = await new AxeBuilder({ page })
    // What a terminal draws is told to screen readers by a hidden tree of its own.
    .exclude(".xterm")
    .analyze();
  const bad = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  expect(
    bad.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join("\n   ")}`),
  ).toEqual([]);
}

export async function shot(page: Page, name: string) {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}/${name}.png`, animations: "disabled" });
}

/** Texts of one language, as the pages have them. */
export type Texts = typeof import("../src/i18n/en.json");

/** Signs in as the first administrator, whatever his password is by now. */
export async function signIn(request: APIRequestContext) {
  const login = (password: string) =>
    request.post("/api/v1/login", { headers, data: { name: "admin", password } });
  const answer = await login(secondPassword);
  if (answer.ok()) return;
  const first = process.env.MAAR_PASSWORD ?? "";
  expect((await login(first)).ok()).toBe(true);
  const changed = await request.put("/api/v1/me/password", {
    headers,
    data: { current: first, new: secondPassword },
  });
  expect(changed.ok()).toBe(true);
}
