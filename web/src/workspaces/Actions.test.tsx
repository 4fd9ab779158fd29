import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { WorkspaceDetail } from "../api/types";
import { portal, showPage } from "../testing/render";
import { Actions } from "./Actions";

/** The page of a workspace as Ada sees it, who administers everything. */
function seenByAda(namespace: string) {
  portal();
  const workspace = { namespace, name: "desk", phase: "Running", state: "Running", type: "Terminal" };
  showPage(<Actions workspace={workspace as WorkspaceDetail} onTerminal={() => {}} />);
}

it("offers the terminal to whose workspace it is", async () => {
  seenByAda("user-ada-1");
  expect(await screen.findByRole("button", { name: "Open terminal" })).toBeDefined();
});

it("leads nobody who looks after others to a terminal that is not his", async () => {
  seenByAda("user-bob-1");
  expect(await screen.findByRole("button", { name: "Suspend" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Open terminal" })).toBeNull();
});
