import { screen } from "@testing-library/react";
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
      body: { cards: [{ card: "node-7/3", points }] },
    },
  });
  showAt("/jobs/user-ada-1/train?tab=usage");
  expect(await screen.findByText("node-7/3")).toBeTruthy();
  expect(screen.getByRole("img", { name: "The last hour" })).toBeTruthy();
});
