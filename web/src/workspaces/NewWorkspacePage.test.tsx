import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showAt } from "../testing/render";

const template = {
  id: "t-1",
  kind: "workspace",
  name: "notebook",
  description: "",
  owner: "ada",
  mine: true,
  body: { image: "jupyter:1", type: "Jupyter", ports: [{ name: "web", port: 80 }], profile: "fabric" },
};
const routes = {
  "GET /api/v1/templates/t-1": { status: 200, body: template },
  // Only what was asked matters here: the form stays.
  "POST /api/v1/workspaces": { status: 409, body: { code: "conflict", message: "it is there" } },
};

it("a template that is used brings everything, also what the form does not show", async () => {
  const changes = portal(routes);
  showAt("/workspaces/new?template=t-1");
  expect(await screen.findByText(/The template also sets ports/)).toBeTruthy();
  const memory = screen.getByLabelText(/^Memory/);
  await userEvent.clear(memory);
  await userEvent.type(memory, "8Gi");
  await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
  await waitFor(() => expect(changes.map((one) => one.what)).toContain("POST /api/v1/workspaces"));
  const body = changes.find((one) => one.what === "POST /api/v1/workspaces")?.body as { name: string };
  expect(body).toEqual({ template: "t-1", name: body.name, memory: "8Gi" });
});

it("the first image that is offered is there already, and another may be typed", async () => {
  const images = { items: [{ image: "debian:12", title: "Debian 12" }, { image: "torch:2" }] };
  const changes = portal({ ...routes, "GET /api/v1/images": { status: 200, body: images } });
  showAt("/workspaces/new");
  const image = await screen.findByRole<HTMLInputElement>("combobox", { name: /^Image/ });
  expect(image.value).toBe("debian:12");
  await userEvent.clear(image);
  await userEvent.type(image, "own:3");
  await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
  await waitFor(() => expect(changes.map((one) => one.what)).toContain("POST /api/v1/workspaces"));
  expect(changes.find((one) => one.what === "POST /api/v1/workspaces")?.body).toMatchObject({
    image: "own:3",
  });
});

it("administrators are offered only accounts that they have a part in", async () => {
  portal({
    "GET /api/v1/accounts": {
      status: 200,
      body: {
        items: [
          { name: "physics", role: "admin" },
          { name: "art", role: "guest" },
          { name: "law", role: "viewer" },
          { name: "biology" },
        ],
      },
    },
  });
  showAt("/workspaces/new");
  await userEvent.click(await screen.findByRole("button", { name: /^Volumes, environment/ }));
  const account = await screen.findByLabelText(/^Account/);
  await waitFor(() => expect(account.textContent).toContain("physics"));
  const offered = [...account.querySelectorAll("option")].map((one) => one.value);
  expect(offered).toEqual(["", "physics", "art"]);
});

it("profiles are offered that the account has, with the folders of nodes that they name", async () => {
  const profile = (name: string, accounts: string[], paths: string[]) => ({
    name,
    accounts,
    always: false,
    hostPaths: paths.map((path) => ({ path, readOnly: false })),
  });
  const items = [profile("fabric", ["physics"], ["/scratch", "/mnt/data"]), profile("other", ["art"], [])];
  const changes = portal({
    ...routes,
    "GET /api/v1/accounts": { status: 200, body: { items: [{ name: "physics", role: "member" }] } },
    "GET /api/v1/profiles": { status: 200, body: { items } },
  });
  showAt("/workspaces/new");
  await userEvent.type(await screen.findByRole("combobox", { name: /^Image/ }), "busybox");
  await userEvent.click(screen.getByRole("button", { name: /^Volumes, environment/ }));
  expect(screen.queryByLabelText("Profile")).toBeNull();
  const account = await screen.findByLabelText(/^Account/);
  await waitFor(() => expect(account.textContent).toContain("physics"));
  await userEvent.selectOptions(account, "physics");
  const chosen = await screen.findByLabelText("Profile");
  expect([...chosen.querySelectorAll("option")].map((one) => one.value)).toEqual(["", "fabric"]);
  expect(screen.queryByRole("button", { name: "Mount a folder of the node" })).toBeNull();
  await userEvent.selectOptions(chosen, "fabric");
  await userEvent.click(await screen.findByRole("button", { name: "Mount a folder of the node" }));
  const folder = screen.getByRole("combobox", { name: "Folder of the node" });
  await userEvent.type(folder, "/../etc");
  await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
  expect(await screen.findByText(/A whole path such as/)).toBeDefined();
  expect(changes).toHaveLength(0);
  await userEvent.clear(folder);
  await userEvent.type(folder, "/scratch/ada");
  await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
  await waitFor(() => expect(changes).toHaveLength(1));
  expect(changes[0]?.body).toMatchObject({
    account: "physics",
    profile: "fabric",
    hostPaths: [{ hostPath: "/scratch/ada", path: "/node", readOnly: false }],
  });
});

it("a part is taken of the card that was chosen on a node", async () => {
  const holders = [{ user: "bob" }];
  const cards = [
    { index: 0, holders, exclusive: true },
    { index: 1, holders, exclusive: false, utilisation: 40 },
  ];
  const node = { name: "a100-0", ready: true, schedulable: true, pool: "a100" };
  const changes = portal({
    ...routes,
    "GET /api/v1/nodes": {
      status: 200,
      body: { items: [{ ...node, cards: [{ resource: "nvidia.com/gpu", cards }] }] },
    },
  });
  showAt("/workspaces/new");
  await userEvent.type(await screen.findByRole("combobox", { name: /^Image/ }), "busybox");
  await userEvent.selectOptions(await screen.findByLabelText("Kind of card"), "nvidia.com/gpu");
  await userEvent.click(screen.getByLabelText("A part, shared"));
  expect(screen.queryByLabelText("Which card of the node")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /^Volumes, environment/ }));
  await userEvent.selectOptions(await screen.findByLabelText("Node"), "a100-0");
  const which = await screen.findByLabelText("Which card of the node");
  const offered = [...which.querySelectorAll("option")].map((one) => [one.textContent, one.disabled]);
  expect(offered).toEqual([
    ["Any", false],
    ["0 · taken whole", true],
    ["1 · one on it · 40% used", false],
  ]);
  await userEvent.selectOptions(which, "1");
  await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
  await waitFor(() => expect(changes).toHaveLength(1));
  expect(changes[0]?.body).toMatchObject({
    cards: { resource: "nvidia.com/gpu", share: "0.5", index: 1 },
    nodes: ["a100-0"],
  });
});
