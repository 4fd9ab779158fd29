import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showPage } from "../testing/render";
import { AccountForm } from "./AccountForm";

const physics = {
  name: "physics",
  guaranteed: {},
  deserved: {},
  capability: { cpu: "64" },
  memberCapability: { cpu: "8" },
  pools: ["a100", "h100"],
  everyone: true,
  weight: 3,
};
const route = "PUT /api/v1/accounts/physics";

async function open(account: object) {
  const changes = portal({ [route]: { status: 200, body: {} } });
  showPage(<AccountForm account={account as never} onDone={() => {}} />);
  await screen.findByLabelText(/^Weight/);
  const save = async () => {
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(changes).toHaveLength(1));
    return changes[0]?.body;
  };
  return { save, everyone: screen.getByLabelText("Everybody may use it") as HTMLInputElement };
}

it("shows everything that an account has", async () => {
  const { everyone } = await open(physics);
  expect(everyone.checked).toBe(true);
  expect((screen.getByLabelText(/^Weight/) as HTMLInputElement).value).toBe("3");
  expect(screen.getByDisplayValue("8")).toBeTruthy();
  expect(screen.getByDisplayValue("h100")).toBeTruthy();
});

it("changes nothing that was not touched", async () => {
  const { save } = await open(physics);
  await userEvent.type(screen.getByLabelText("Display name"), "P");
  expect(await save()).toEqual({ displayName: "P" });
});

it("lets the weight go back to one, takes a pool away and closes an account", async () => {
  const { save, everyone } = await open(physics);
  await userEvent.clear(screen.getByLabelText(/^Weight/));
  await userEvent.type(screen.getByLabelText(/^Weight/), "1");
  await userEvent.click(screen.getByRole("button", { name: "Remove row 1 of Pools of nodes" }));
  await userEvent.click(everyone);
  expect(await save()).toEqual({ weight: 1, pools: ["h100"], everyone: false });
});

it("claims nothing that it was not told", async () => {
  const { save, everyone } = await open({ ...physics, weight: undefined, everyone: undefined });
  expect(everyone.indeterminate).toBe(true);
  await userEvent.type(screen.getByLabelText(/^Weight/), "1");
  expect(await save()).toEqual({ weight: 1 });
});
