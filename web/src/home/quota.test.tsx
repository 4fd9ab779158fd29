import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { portal, showPage } from "../testing/render";
import { QuotaPanel } from "./QuotaPanel";

const account = (name: string, more: object) => ({
  name,
  guaranteed: {},
  deserved: {},
  capability: {},
  used: {},
  mine: {},
  ...more,
});

it("what accounts may have, and let me have of it, stands beside what I may have", async () => {
  const accounts = [
    account("default", {}),
    account("physics", {
      capability: { "nvidia.com/gpu": "16", workspaces: "5" },
      used: { "nvidia.com/gpu": "12", workspaces: "5" },
      cap: { workspaces: "2" },
      mine: { workspaces: "1" },
    }),
  ];
  // As the portal says them: by the alphabet.
  const limits = { jobs: "1000", "nvidia.com/gpu": "8", pods: "200", workspaces: "20" };
  const body = { limits, used: { workspaces: "1" }, accounts };
  portal({ "GET /api/v1/quota": { status: 200, body } });
  showPage(<QuotaPanel />);
  const told = async (name: string) =>
    (await screen.findByRole("meter", { name })).getAttribute("aria-valuetext");
  expect(await told("Workspaces")).toBe("1 / 20");
  const own = screen.getAllByRole("meter").map((one) => one.getAttribute("aria-label"));
  expect(own.slice(0, 4)).toEqual(["NVIDIA GPU", "Workspaces", "Pods", "Jobs"]);
  expect(await told("physics: NVIDIA GPU")).toBe("12 / 16");
  expect(await told("physics: Workspaces")).toBe("5 / 5");
  expect(await told("physics: Workspaces, mine")).toBe("1 / 2");
  expect(screen.queryByText(/default/)).toBeNull();
  expect(screen.getByRole("link", { name: "physics" }).getAttribute("href")).toBe(
    "/admin/accounts/physics/overview",
  );
});
