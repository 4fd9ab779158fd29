import { readFileSync } from "node:fs";
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { portal, showAt } from "../testing/render";

it("tells nobody to make what the rights that are given out forbid", async () => {
  const rights = readFileSync("../deploy/rbac/user.yaml", "utf8");
  const apps = /apiGroups: \[apps\]\n\s+resources: .+\n\s+verbs: \[([^\]]+)\]/.exec(rights)?.[1];
  expect(apps).not.toContain("create");
  portal();
  showAt("/apps");
  const text = await screen.findByText(/sets up in your namespace user-ada-1/);
  expect(text.textContent).not.toContain("kubectl");
  expect(screen.getByRole("link", { name: "Submit a job" }).getAttribute("href")).toBe("/jobs/new");
});
