import { focusManager } from "@tanstack/react-query";
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { portal, showAt } from "../testing/render";
import { live, queries } from "./queries";

/** Streams that pages have opened. */
class Source extends EventTarget {
  static all: Source[] = [];
  closed = false;
  constructor() {
    super();
    Source.all.push(this);
  }
  close() {
    this.closed = true;
  }
}

afterEach(() => {
  focusManager.setFocused(undefined);
  live.stop();
  vi.unstubAllGlobals();
  Source.all = [];
});

it("what the stream tells of is not read by the clock, and what nobody tells of is by whoever comes back", () => {
  const focus = (...queryKey: unknown[]) => queries.defaultQueryOptions({ queryKey }).refetchOnWindowFocus;
  expect([focus("workspaces", "list", {}), focus("jobs", "one", "a", "b"), focus("nodes", "list")]).toEqual([
    false,
    false,
    false,
  ]);
  const others = ["accounts", "apps", "keys", "policies", "sessions", "templates", "users", "volumes"];
  expect(others.filter((root) => focus(root) === false)).toEqual([]);
});

it("volumes that others made meanwhile are there for whoever comes back to the page", async () => {
  const volume = (name: string) => ({ name, size: "1Gi", usedBy: [], shared: false, created: null });
  const body = { items: [volume("data")] };
  portal({ "GET /api/v1/volumes": { status: 200, body } });
  showAt("/volumes");
  expect(await screen.findByText("data")).toBeTruthy();
  focusManager.setFocused(false);
  body.items.push(volume("results"));
  await queries.invalidateQueries({ queryKey: ["volumes"], refetchType: "none" });
  focusManager.setFocused(true);
  expect(await screen.findByText("results")).toBeTruthy();
});

it("who signs out hears nothing any more, and leaves nothing behind", async () => {
  vi.stubGlobal("EventSource", Source);
  const changes = portal({
    "GET /api/v1/login/providers": {
      status: 200,
      body: { password: true, development: false, providers: [] },
    },
  });
  const address = showAt("/volumes");
  await screen.findByText("No volumes yet");
  expect(Source.all.map((one) => one.closed)).toEqual([false]);
  await userEvent.click(screen.getByRole("button", { name: "Sign out" }));
  await waitFor(() => expect(address.location.pathname).toBe("/login"));
  expect(changes.map((one) => one.what)).toEqual(["POST /api/v1/logout"]);
  expect(Source.all.map((one) => one.closed)).toEqual([true]);
  await waitFor(() => expect(queries.getQueryData(["volumes"])).toBeUndefined());
});
