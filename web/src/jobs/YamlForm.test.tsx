import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showPage, wrong } from "../testing/render";
import { YamlForm } from "./YamlForm";

const manifest = "kind: AIJob\nmetadata:\n  name: train\nspec:\n  priority: 9\n";
const lines = () => document.querySelectorAll(".cm-line");
const marked = () => [...lines()].findIndex((line) => line.classList.contains("cm-wrong")) + 1;

it("shows what the portal finds at its line, and keeps what was written", async () => {
  const changes = portal({ "POST /api/v1/jobs": wrong("spec.priority", "is too high") });
  showPage(<YamlForm initial={manifest} />);
  expect(await screen.findByRole("textbox", { name: "Manifest of the job" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Submit" }));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("spec.priority, line 5: ");
  expect(alert.textContent).toContain("is too high");
  await waitFor(() => expect(marked()).toBe(5));
  expect(changes).toEqual([{ what: "POST /api/v1/jobs", body: manifest }]);
  expect(lines().length).toBe(6);
});

it("sends nothing that cannot be read", async () => {
  const changes = portal();
  showPage(<YamlForm initial={"kind: AIJob\nspec: [1\nmore: 2\n"} />);
  await userEvent.click(await screen.findByRole("button", { name: "Submit" }));
  expect((await screen.findByRole("alert")).textContent).toMatch(/^line \d+: /);
  await waitFor(() => expect(marked()).toBeGreaterThan(0));
  await userEvent.click(screen.getByRole("button", { name: "Save as template" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(changes).toEqual([]);
});
