// What a newcomer does, in both languages: sign in, make a workspace, type in its terminal, look at the heat map, and
// leave everything as it was. It comes before the other files, by its name: it changes the first password as people do.
import { expect, test } from "@playwright/test";
import en from "../src/i18n/en.json" with { type: "json" };
import zh from "../src/i18n/zh-CN.json" with { type: "json" };
import { absent, accessible, secondPassword, shot, type Texts } from "./helpers";

const languages = [
  ["en", en],
  ["zh-CN", zh as unknown as Texts],
] as const;

for (const [language, text] of languages) {
  test.describe(language, () => {
    test.use({ locale: language });

    test("from the sign-in to a terminal and out again", async ({ page }) => {
      const fill = (value: string) => (_: string, name: string) => (name === "name" ? value : "");
      const say = (sentence: string, name: string) => sentence.replace(/{{(\w+)}}/g, fill(name));

      // Signs in; the first password is changed before anything else.
      await page.goto("/");
      await expect(page.getByRole("heading", { name: text.login.title })).toBeVisible();
      await accessible(page);
      await shot(page, `walk-login-${language}`);
      const first = language === "en";
      await page.getByLabel(text.login.name, { exact: true }).fill("admin");
      await page
        .getByLabel(text.login.password, { exact: true })
        .fill(first ? (process.env.MAAR_PASSWORD ?? "") : secondPassword);
      await page.getByRole("button", { name: text.actions.login }).click();
      if (first) {
        await expect(page.getByRole("heading", { name: text.password.firstTitle })).toBeVisible();
        await accessible(page);
        await page.getByLabel(text.password.current, { exact: true }).fill(process.env.MAAR_PASSWORD ?? "");
        await page.getByLabel(text.password.next, { exact: true }).fill(secondPassword);
        await page.getByLabel(text.password.again, { exact: true }).fill(secondPassword);
        await page.getByRole("button", { name: text.password.change }).click();
      }
      await expect(page.getByRole("heading", { name: text.home.cluster })).toBeVisible();

      // Makes a workspace as a newcomer does. Without cards it comes to the machine itself where there is such a node:
      // simulated ones run no real shell.
      const name = `walk-${language.toLowerCase()}`;
      await page.goto("/workspaces/new");
      await page.getByLabel(text.fields.name).first().fill(name);
      await expect(page.getByRole("combobox", { name: text.fields.image })).not.toHaveValue("");
      await page.getByLabel(text.fields.memory).first().fill("256Mi");
      await page.getByRole("button", { name: text.forms.more }).click();
      const nodes = page.getByLabel(text.fields.node, { exact: true });
      await expect.poll(() => nodes.locator("option").count()).toBeGreaterThan(1);
      const offered = await nodes.locator("option").allTextContents();
      const local = offered.some((one) => /local/.test(one));
      await accessible(page);
      await shot(page, `walk-form-${language}`);
      await page.getByRole("button", { name: text.workspaces.create, exact: true }).click();
      await expect(page.locator('[data-phase="Running"]').first()).toBeVisible({ timeout: 30_000 });
      await accessible(page);

      // Types in its terminal, and sees the answer.
      await page.getByRole("button", { name: text.workspaces.openTerminal }).click();
      await expect(page.locator('[data-terminal="open"]')).toBeVisible({ timeout: 20_000 });
      if (local) {
        await page.keyboard.type("echo $((6*7))-is-the-answer\n");
        await expect(page.locator(".xterm")).toContainText("42-is-the-answer");
      } else {
        absent(`the local node: nothing was typed in the terminal of the walk (${language})`);
      }
      await accessible(page);
      await shot(page, `walk-terminal-${language}`);

      // Looks at the heat map, by keyboard.
      await page.getByRole("link", { name: text.nav.cards, exact: true }).click();
      await expect(page.getByRole("grid")).toBeVisible();
      await page.getByRole("gridcell").first().focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await expect(page.getByRole("gridcell", { selected: true })).toHaveCount(1);
      await accessible(page);

      // Suspends and deletes.
      await page.getByRole("link", { name: text.nav.workspaces, exact: true }).first().click();
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("button", { name: text.actions.suspend, exact: true }).click();
      const dialog = page.getByRole("dialog");
      await expect(dialog).toContainText(say(text.workspaces.suspendTitle, name));
      await accessible(page);
      await dialog.getByRole("button", { name: text.actions.suspend, exact: true }).click();
      await expect(page.locator('[data-phase="Suspended"]').first()).toBeVisible({ timeout: 60_000 });
      await page.getByRole("button", { name: text.actions.others }).click();
      await page.getByRole("menuitem", { name: text.actions.delete }).click();
      await expect(dialog).toContainText(text.workspaces.lostPod);
      await shot(page, `walk-delete-${language}`);
      await dialog.getByRole("button", { name: text.actions.delete, exact: true }).click();
      await expect(page.getByRole("link", { name, exact: true })).toHaveCount(0);
      await expect(page.getByText(say(text.workspaces.deleted, name))).toBeVisible();
      await page.getByRole("button", { name: text.actions.logout }).click();
      await expect(page.getByRole("heading", { name: text.login.title })).toBeVisible();
    });
  });
}
