import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Me } from "../api/types";
import { ada, portal, showAt } from "../testing/render";
import { mayChange, sharedWith } from "./rights";

const user = (accounts: Me["accounts"], platformAdmin = false) => ({ accounts, platformAdmin });
const mine = { mine: true };
const shared = { mine: false, account: "physics" };

describe("what may be done with a template", () => {
  const cases: [string, Parameters<typeof mayChange>[0], Parameters<typeof mayChange>[1], boolean][] = [
    ["its owner changes it", user({}), mine, true],
    ["an administrator of the account it is shared with does", user({ physics: "admin" }), shared, true],
    ["a member of that account does not", user({ physics: "member" }), shared, false],
    ["an administrator of another account does not", user({ law: "admin" }), shared, false],
    ["a platform administrator does", user({}, true), shared, true],
    ["nobody does with what is another's alone", user({ physics: "admin" }, true), { mine: false }, false],
  ];
  it.each(cases)("%s", (_, me, template, want) => {
    expect(mayChange(me, template)).toBe(want);
  });

  it("is shared by its owner with the accounts he works in", () => {
    const me = user({ physics: "member", law: "viewer", art: "admin" });
    expect(sharedWith(me, undefined, [])).toEqual(["physics", "art"]);
    expect(sharedWith(me, { mine: true, account: "law" }, [])).toEqual(["physics", "art", "law"]);
    expect(sharedWith(user({}, true), undefined, ["law", "physics"])).toEqual(["law", "physics"]);
  });

  it("is shared by nobody else with more than it was", () => {
    expect(sharedWith(user({ physics: "admin", art: "admin" }), shared, [])).toEqual(["physics"]);
    expect(sharedWith(user({}, true), shared, ["law", "physics"])).toEqual(["physics"]);
  });
});

const template = (part: object) => ({
  id: "t-1",
  kind: "job",
  name: "nightly",
  description: "",
  mine: false,
  account: "physics",
  created: "2026-01-01T00:00:00Z",
  updated: "2026-01-01T00:00:00Z",
  ...part,
});

function show(me: object, one: object) {
  const changes = portal({
    "GET /api/v1/me": { status: 200, body: { ...ada, platformAdmin: false, ...me } },
    "GET /api/v1/templates": { status: 200, body: { items: [one] } },
    "GET /api/v1/templates/t-1": { status: 200, body: { ...one, body: { image: "busybox" } } },
  });
  showAt("/templates");
  return changes;
}

it("an administrator of the account mends and removes what is shared with it", async () => {
  const changes = show({ accounts: { physics: "admin" } }, template({}));
  expect(await screen.findByRole("link", { name: "Edit" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Delete" }));
  await userEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Delete" }));
  await screen.findByRole("link", { name: "Edit" });
  expect(changes.map((one) => one.what)).toEqual(["DELETE /api/v1/templates/t-1"]);
});

it("a member uses it, and no more", async () => {
  show({ accounts: { physics: "member" } }, template({}));
  expect(await screen.findByRole("link", { name: "Use it" })).toBeTruthy();
  expect(screen.queryByRole("link", { name: "Edit" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
});

it("who keeps order in an account takes a template back to its owner, and gives it to no other", async () => {
  show({ accounts: { physics: "admin", art: "admin" } }, template({ kind: "workspace" }));
  await userEvent.click(await screen.findByRole("link", { name: "Edit" }));
  await userEvent.click(await screen.findByRole("button", { name: "Save the template" }));
  const who = within(await screen.findByRole("dialog")).getByLabelText("Who may use it");
  const offered = [...who.querySelectorAll("option")].map((one) => one.textContent);
  expect(offered).toEqual(["Only its owner", "Everybody in physics"]);
});
