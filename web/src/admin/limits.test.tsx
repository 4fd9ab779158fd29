// The most that a user may have, as administrators say it.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showAt, wrong } from "../testing/render";

const address = "/admin/users/u-2/limits?name=bob";
const route = "/api/v1/users/u-2/limits";
const limits = {
  set: { workspaces: "3" },
  limits: { workspaces: "3", jobs: "1000", "nvidia.com/gpu": "8" },
};

it("what holds is shown, and what was said of the user can be changed", async () => {
  const changes = portal({
    [`GET ${route}`]: { status: 200, body: limits },
    [`PUT ${route}`]: { status: 200, body: limits },
  });
  showAt(address);
  expect(await screen.findByRole("heading", { name: "Limits of bob" })).toBeDefined();
  const holds = within(await screen.findByRole("region", { name: "What holds" }));
  expect(holds.getByText("1000")).toBeDefined();
  const amount = screen.getByLabelText("Amount") as HTMLInputElement;
  expect(amount.value).toBe("3");
  await userEvent.clear(amount);
  await userEvent.type(amount, "0");
  await userEvent.click(screen.getByRole("button", { name: "Add an amount" }));
  const [, name] = screen.getAllByRole("combobox", { name: "Resource" });
  const [, other] = screen.getAllByLabelText("Amount") as HTMLInputElement[];
  if (!name || !other) throw new Error("there is no second row");
  await userEvent.clear(name);
  await userEvent.type(name, "nvidia.com/gpu");
  await userEvent.type(other, "many");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText("An amount, such as 0, 2, 500m or 16Gi.")).toBeDefined();
  expect(changes).toHaveLength(0);
  await userEvent.clear(other);
  await userEvent.type(other, "16");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(changes).toHaveLength(1));
  expect(changes[0]).toEqual({
    what: `PUT ${route}`,
    body: { limits: { workspaces: "0", "nvidia.com/gpu": "16" } },
  });
});

it("what the portal finds wrong stands in the row that it is about", async () => {
  portal({
    [`GET ${route}`]: { status: 200, body: { set: { cpu: "4", workspaces: "1.5" }, limits: {} } },
    [`PUT ${route}`]: wrong("limits.workspaces", "1500m is no whole number"),
  });
  showAt(address);
  await screen.findAllByLabelText("Amount");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  const said = await screen.findByText(/no whole number/);
  const amounts = screen.getAllByLabelText("Amount") as HTMLInputElement[];
  const row = amounts.find((one) => one.getAttribute("aria-describedby")?.includes(said.id));
  expect(row?.value).toBe("1.5");
});

it("two rows of the same resource are not sent", async () => {
  const changes = portal({ [`GET ${route}`]: { status: 200, body: { set: { cpu: "4" }, limits: {} } } });
  showAt(address);
  await screen.findByLabelText("Amount");
  await userEvent.click(screen.getByRole("button", { name: "Add an amount" }));
  const [, name] = screen.getAllByRole("combobox", { name: "Resource" });
  const [, amount] = screen.getAllByLabelText("Amount");
  if (!name || !amount) throw new Error("there is no second row");
  await userEvent.clear(name);
  await userEvent.type(name, "cpu");
  await userEvent.type(amount, "2");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText("This resource is named already.")).toBeDefined();
  expect(changes).toHaveLength(0);
});
