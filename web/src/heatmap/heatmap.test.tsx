import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showAt } from "../testing/render";

const card = (index: number, holders: object[] = [], more = {}) => ({
  index,
  holders,
  exclusive: holders.length === 1,
  ...more,
});

const train = { kind: "job", namespace: "user-ada-1", name: "train", user: "ada" };
const desk = { kind: "workspace", namespace: "user-ada-1", name: "desk", user: "ada" };
const node = {
  name: "gpu-1",
  ready: true,
  schedulable: true,
  lent: false,
  allocatable: {},
  requested: {},
  pods: 2,
  podKinds: {},
  cards: [
    {
      resource: "nvidia.com/gpu",
      cards: [card(0, [train], { utilisation: 80 }), card(1, [desk]), card(2, [{ kind: "pod" }]), card(3)],
    },
    { resource: "huawei.com/Ascend910", heldUnknown: 1, cards: [card(0), card(1)] },
  ],
};

const history = {
  begin: 0,
  step: 900,
  nodes: {
    "gpu-1": { "nvidia.com/gpu": { "0": [0, 100] }, "huawei.com/Ascend910": { "0": [50, null] } },
  },
};

function show() {
  portal({
    "GET /api/v1/nodes": { status: 200, body: { items: [node] } },
    "GET /api/v1/nodes/history": { status: 200, body: history },
  });
  return showAt("/cards");
}

const cell = (name: RegExp) => screen.findByRole("gridcell", { name });

it("leads from a card to the job and to the workspace on it", async () => {
  const address = show();
  await userEvent.click(await cell(/card 0, Exclusive, ada, 80%/));
  await userEvent.click(screen.getByRole("link", { name: "train" }));
  expect(address.location.pathname).toBe("/jobs/user-ada-1/train");
});

it("leads to a workspace by keyboard", async () => {
  const address = show();
  (await cell(/card 0, Exclusive, ada/)).focus();
  await userEvent.keyboard("{ArrowRight}{Enter}");
  const link = screen.getByRole("link", { name: "desk" });
  link.focus();
  await userEvent.keyboard("{Enter}");
  expect(address.location.pathname).toBe("/workspaces/user-ada-1/desk");
});

it("names nobody who is hidden, and leads nowhere then", async () => {
  show();
  await userEvent.click(await cell(/card 2, Exclusive, somebody/));
  const details = screen.getByRole("region", { name: "Card" });
  expect(within(details).getByText("somebody")).toBeTruthy();
  expect(within(details).queryByRole("link")).toBeNull();
});

it("calls no card free of which that is not known", async () => {
  show();
  await userEvent.click(await cell(/card 1, In use or free/));
  expect(screen.getByText(/only the node knows which\.$/)).toBeTruthy();
  expect(screen.queryByRole("link", { name: "Use a card like this" })).toBeNull();
  expect(screen.getByText("Free · 2")).toBeTruthy();
  expect(screen.getAllByText(/1 card in use, unknown which/).length).toBe(2);
});

it("leads from a free card to a new workspace with such a card", async () => {
  const address = show();
  await userEvent.click(await cell(/card 3, Free/));
  await userEvent.click(screen.getByRole("link", { name: "Use a card like this" }));
  expect(address.location.href).toBe("/workspaces/new?cards=nvidia.com%2Fgpu");
  await waitFor(() =>
    expect((screen.getByLabelText("Kind of card") as HTMLSelectElement).value).toBe("nvidia.com/gpu"),
  );
});

it("shows the day of each card, those of two kinds apart", async () => {
  show();
  await cell(/card 0, Exclusive, ada/);
  await userEvent.click(screen.getByRole("radio", { name: "Temperature" }));
  expect(screen.getByText("90°")).toBeTruthy();
  await userEvent.click(screen.getByRole("radio", { name: "Last 24 hours" }));
  // Of the past only the use is known, whatever was looked at before.
  expect(screen.queryByText("90°")).toBeNull();
  expect(screen.getByText("100%")).toBeTruthy();
  const [gpu, other] = screen.getAllByRole("gridcell", { name: /card 0/ });
  const colours = (one?: HTMLElement) => one?.style.background ?? "";
  expect(colours(gpu)).toContain("rgb(254 232 56) 50.00% 100.00%");
  expect(colours(other)).toContain("var(--gap) 50.00% 100.00%");
  expect(colours(gpu)).not.toBe(colours(other));
  await userEvent.click(gpu as HTMLElement);
  expect(screen.getByRole("img", { name: "Its last 24 hours" })).toBeTruthy();
});
