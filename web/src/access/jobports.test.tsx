// Programs that listen in a job: its page opens and shares them as that of a workspace does.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { portal, showAt } from "../testing/render";

const job = {
  namespace: "user-ada-1",
  name: "lab",
  phase: "Running",
  type: "Jupyter",
  account: "physics",
  serviceLevel: "Guaranteed",
  suspended: false,
  replicas: 1,
  tasks: [],
  pods: [],
  podCount: 0,
  created: "2026-11-01T00:00:00Z",
};
const path = "/api/v1/jobs/user-ada-1/lab";
const ports = { served: true, items: [{ port: 8888, name: "jupyter", sharing: { kind: "private" } }] };
const url = "https://x.apps.example/enter?ticket=1";
const routes = (phase = "Running") => ({
  [`GET ${path}`]: { status: 200, body: { ...job, phase } },
  [`GET ${path}/ports`]: { status: 200, body: ports },
  [`POST ${path}/ports/8888/open`]: { status: 200, body: { url, expires: "2026-11-01T00:01:00Z" } },
  [`PUT ${path}/ports/8888/sharing`]: { status: 200, body: { kind: "account" } },
});

afterEach(() => void vi.restoreAllMocks());

it("what a job was made for is opened from the head of its page", async () => {
  const changes = portal(routes());
  const page = { opener: {}, location: { replace: vi.fn() }, close: vi.fn() };
  vi.spyOn(window, "open").mockReturnValue(page as never);
  showAt("/jobs/user-ada-1/lab");
  await userEvent.click(await screen.findByRole("button", { name: "Open Jupyter" }));
  await waitFor(() => expect(page.location.replace).toHaveBeenCalledWith(url));
  expect(changes[0]?.what).toBe(`POST ${path}/ports/8888/open`);
});

it("ports of a job are shared, and forwarded by its name", async () => {
  const changes = portal(routes());
  showAt("/jobs/user-ada-1/lab?tab=connect");
  await userEvent.click(await screen.findByRole("button", { name: "Share port 8888" }));
  await userEvent.click(await screen.findByLabelText(/Everybody in the account physics/));
  const dialog = within(screen.getByRole("dialog"));
  await userEvent.click(dialog.getByRole("button", { name: "Share" }));
  await waitFor(() => expect(changes[0]?.what).toBe(`PUT ${path}/ports/8888/sharing`));
  expect(screen.getByText("maar forward job/lab 8888")).toBeDefined();
});

it("a job that does not run opens nothing", async () => {
  portal(routes("Suspended"));
  showAt("/jobs/user-ada-1/lab?tab=connect");
  expect(await screen.findByText("Nothing is running")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Open Jupyter" })).toBeNull();
});
