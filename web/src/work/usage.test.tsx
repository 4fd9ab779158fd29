import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showAt } from "../testing/render";

it("asks what the cards of a job did of the job itself", async () => {
  const job = {
    namespace: "user-ada-1",
    name: "train",
    phase: "Running",
    type: "PyTorch",
    tasks: [],
    pods: [],
  };
  const points = [
    [1_800_000_000, 40, 1024],
    [1_800_000_060, 90, 2048],
  ];
  portal({
    "GET /api/v1/jobs/user-ada-1/train": { status: 200, body: job },
    "GET /api/v1/jobs/user-ada-1/train/usage": {
      status: 200,
      body: { cards: [{ card: "node-7/3", node: "node-7", resource: "nvidia.com/gpu", index: 3, points }] },
    },
  });
  showAt("/jobs/user-ada-1/train?tab=usage");
  expect(await screen.findByText("node-7 · 3")).toBeTruthy();
  expect(screen.getByRole("img", { name: "The last hour" })).toBeTruthy();
});

it("shows all Pods of a job to whoever wants to see them, also those that come in pages", async () => {
  const pod = (index: number) => ({
    name: `train-${index}`,
    phase: "Running",
    restarts: 0,
  });
  const pods = Array.from({ length: 60 }, (_, index) => pod(index));
  const job = {
    namespace: "user-ada-1",
    name: "train",
    phase: "Running",
    type: "Single",
    serviceLevel: "Guaranteed",
    tasks: [],
    pods: pods.slice(0, 55),
    podCount: 60,
  };
  portal({
    "GET /api/v1/jobs/user-ada-1/train": { status: 200, body: job },
    "GET /api/v1/jobs/user-ada-1/train/pods": { status: 200, body: { items: pods } },
  });
  showAt("/jobs/user-ada-1/train");
  const more = await screen.findByRole("button", { name: "Show all 60 Pods" });
  expect(screen.queryByText("train-50")).toBeNull();
  await userEvent.click(more);
  expect(await screen.findByText("train-59")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Show all 60 Pods" })).toBeNull();
});
