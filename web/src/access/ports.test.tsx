// The ways into one workspace, with a portal that is only played.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { PortView } from "../api/types";
import { ada, portal, showAt } from "../testing/render";
import { offersOf, programOf, readerOf } from "./ports";

const ok = <Body,>(body: Body) => ({ status: 200, body });
const refused = (status: number, code: string, message: string) => ({ status, body: { code, message } });
const absent = refused(404, "notFound", "there is no such route");
const gateway = {
  enabled: true,
  host: "gpu.example",
  port: 2222,
  hostKeys: [],
  fingerprints: ["SHA256:hosthosthost"],
};
const workspace = {
  namespace: "user-ada-1",
  name: "desk",
  phase: "Running",
  state: "Running",
  type: "Terminal",
  image: "busybox",
  account: "physics",
  serviceLevel: "Guaranteed",
  resources: {},
  restarts: 0,
  created: "2026-11-01T00:00:00Z",
};
const path = "/api/v1/workspaces/user-ada-1/desk";
const theirs = "/api/v1/workspaces/user-bob-2/desk";
const connect = "/workspaces/user-ada-1/desk?tab=connect";

const port = (number: number, kind: PortView["sharing"]["kind"], name?: string) =>
  ({ port: number, name, sharing: { kind } }) satisfies PortView;
const jupyter = port(8888, "private", "jupyter");

/** The page that a click opens, before it leads anywhere. */
function opened() {
  const page = { opener: {}, location: { replace: vi.fn() }, close: vi.fn() };
  vi.spyOn(window, "open").mockReturnValue(page as never);
  return page;
}
const press = async (name: string) => userEvent.click(await screen.findByRole("button", { name }));

afterEach(() => void vi.restoreAllMocks());

describe("what is offered", () => {
  const owner = { own: true, looksAfter: false };
  const colleague = { own: false, looksAfter: false };
  const admin = { own: false, looksAfter: true };
  it.each([
    [owner, "private", { open: true, share: true, end: false }],
    [owner, "account", { open: true, share: true, end: true }],
    [owner, "link", { open: true, share: true, end: true }],
    [colleague, "private", { open: false, share: false, end: false }],
    [colleague, "account", { open: true, share: false, end: false }],
    [colleague, "link", { open: false, share: false, end: false }],
    [admin, "private", { open: false, share: false, end: false }],
    [admin, "link", { open: false, share: false, end: true }],
  ] as const)("to %o of what is shared as %s is %o", (reader, kind, wanted) => {
    expect(offersOf(port(80, kind), reader)).toEqual(wanted);
  });

  it("depends on whose it is and on who looks after the account", () => {
    const me = { namespace: "mine", platformAdmin: false, accounts: { physics: "admin", maths: "member" } };
    const of = (namespace: string, account: string) => readerOf(me, { namespace, account });
    expect(of("mine", "maths")).toEqual({ own: true, looksAfter: false });
    expect(of("other", "physics")).toEqual({ own: false, looksAfter: true });
    expect(of("other", "maths")).toEqual({ own: false, looksAfter: false });
    expect(readerOf({ ...me, platformAdmin: true }, { namespace: "other", account: "" }).looksAfter).toBe(
      true,
    );
  });

  it("is first what the workspace was made for", () => {
    const ports = [port(6006, "private", "board"), jupyter];
    expect(programOf("Jupyter", ports)).toBe(jupyter);
    expect(programOf("CodeServer", ports)).toBeUndefined();
    expect(programOf("Terminal", [port(80, "private")])).toBeUndefined();
  });
});

describe("a workspace", () => {
  it("is connected to by SSH, editors and ports", async () => {
    const changes = portal({
      [`GET ${path}`]: ok(workspace),
      [`GET ${path}/ports`]: ok({ items: [port(3000, "account")] }),
      [`POST ${path}/ports/3000/open`]: ok({ url: "https://desk.apps.example/", expires: "" }),
      "GET /api/v1/ssh": ok(gateway),
    });
    const page = opened();
    showAt(connect);
    expect(await screen.findByText("ssh -p 2222 desk@gpu.example")).toBeTruthy();
    expect(await screen.findByText("You have no SSH key here yet.")).toBeTruthy();
    const code = screen.getByRole("link", { name: "VS Code" });
    expect(code.getAttribute("href")).toBe("vscode://vscode-remote/ssh-remote+desk@gpu.example:2222/root");
    await press("Open port 3000");
    await waitFor(() => expect(page.location.replace).toHaveBeenCalledWith("https://desk.apps.example/"));
    expect(page.opener).toBeNull();
    expect(changes[0]?.what).toBe(`POST ${path}/ports/3000/open`);
  });

  it("made for Jupyter opens it from the top of its page", async () => {
    const changes = portal({
      [`GET ${path}`]: ok({ ...workspace, type: "Jupyter" }),
      [`GET ${path}/ports`]: ok({ items: [jupyter] }),
      [`POST ${path}/ports/8888/open`]: ok({ url: "https://desk.apps.example/", expires: "" }),
      "GET /api/v1/ssh": absent,
    });
    const page = opened();
    showAt("/workspaces/user-ada-1/desk");
    await press("Open Jupyter");
    await waitFor(() => expect(page.location.replace).toHaveBeenCalled());
    expect(changes[0]?.what).toBe(`POST ${path}/ports/8888/open`);
  });

  it("offers a connection of one's own where the portal opens no pages", async () => {
    portal({
      [`GET ${path}`]: ok({ ...workspace, type: "Jupyter" }),
      [`GET ${path}/ports`]: ok({ items: [jupyter], served: false, notServedBecause: "nobody said where" }),
      "GET /api/v1/ssh": absent,
    });
    showAt(connect);
    expect(await screen.findByText(/does not open programs in pages of their own/)).toBeTruthy();
    expect(screen.getByText("maar forward desk 8888")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^(Open Jupyter|Share)/ })).toBeNull();
  });

  it("says why a port does not open, and leaves no empty page behind", async () => {
    portal({
      [`GET ${path}`]: ok(workspace),
      [`GET ${path}/ports`]: ok({ items: [jupyter] }),
      [`POST ${path}/ports/8888/open`]: refused(503, "unavailable", "apps are not served here"),
      "GET /api/v1/ssh": absent,
    });
    const page = opened();
    showAt(connect);
    await press("Open Jupyter");
    await waitFor(() => expect(page.close).toHaveBeenCalled());
    expect(page.location.replace).not.toHaveBeenCalled();
  });

  it("opens and shares any port that is typed", async () => {
    const changes = portal({
      [`GET ${path}`]: ok(workspace),
      [`POST ${path}/ports/9000/open`]: ok({ url: "https://x.example/", expires: "" }),
      [`PUT ${path}/ports/9000/sharing`]: ok({ kind: "account" }),
      "GET /api/v1/ssh": absent,
    });
    opened();
    showAt(connect);
    expect(await screen.findByText(/No port is named yet/)).toBeTruthy();
    await press("Open");
    expect(await screen.findByText("A number from 1 to 65535.")).toBeTruthy();
    await userEvent.type(screen.getByLabelText("Another port"), "9000");
    await press("Open");
    await press("Share");
    const dialog = within(await screen.findByRole("dialog"));
    await userEvent.click(dialog.getByLabelText("Everybody in the account physics"));
    await userEvent.selectOptions(dialog.getByLabelText("For how long"), "Until I take it back");
    await userEvent.click(dialog.getByRole("button", { name: "Share" }));
    await waitFor(() =>
      expect(changes).toEqual([
        { what: `POST ${path}/ports/9000/open`, body: "" },
        { what: `PUT ${path}/ports/9000/sharing`, body: { kind: "account" } },
      ]),
    );
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("is shared by a link that is shown once, and never without an end", async () => {
    const changes = portal({
      [`GET ${path}`]: ok(workspace),
      [`GET ${path}/ports`]: ok({ items: [{ ...jupyter, sharing: { kind: "account" } }] }),
      [`PUT ${path}/ports/8888/sharing`]: ok({
        kind: "link",
        link: "https://desk.apps.example/link?secret=1",
      }),
      "GET /api/v1/ssh": absent,
    });
    showAt(connect);
    await press("Share port 8888");
    const dialog = within(await screen.findByRole("dialog"));
    await userEvent.selectOptions(dialog.getByLabelText("For how long"), "Until I take it back");
    await userEvent.click(dialog.getByLabelText("Whoever has the link"));
    expect((dialog.getByLabelText("For how long") as HTMLSelectElement).value).toBe("24");
    await userEvent.click(dialog.getByRole("button", { name: "Share" }));
    expect(await screen.findByText("https://desk.apps.example/link?secret=1")).toBeTruthy();
    expect(changes).toEqual([{ what: `PUT ${path}/ports/8888/sharing`, body: { kind: "link", hours: 24 } }]);
    await press("I have kept it");
    await waitFor(() => expect(screen.queryByText(/secret=1/)).toBeNull());
  });

  it("is no longer shared after asking, also while it does not run", async () => {
    const changes = portal({
      [`GET ${path}`]: ok({ ...workspace, phase: "Suspended", state: "Suspended" }),
      [`GET ${path}/ports`]: ok({
        items: [{ ...jupyter, sharing: { kind: "link", expires: "2099-01-01T00:00:00Z" } }],
      }),
      "GET /api/v1/ssh": ok(gateway),
    });
    showAt(connect);
    expect(await screen.findByText("Nothing is running")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Open Jupyter" })).toBeNull();
    await press("Stop sharing");
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/sent away within seconds/)).toBeTruthy();
    expect(changes).toEqual([]);
    await userEvent.click(dialog.getByRole("button", { name: "Stop sharing" }));
    await waitFor(() =>
      expect(changes).toEqual([{ what: `PUT ${path}/ports/8888/sharing`, body: { kind: "private" } }]),
    );
  });

  it("has no such tab where the portal has no way in", async () => {
    portal({ [`GET ${path}`]: ok(workspace), [`GET ${path}/ports`]: absent, "GET /api/v1/ssh": absent });
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByRole("tab", { name: "Overview" })).toBeTruthy();
    await waitFor(() => expect(screen.queryByRole("tab", { name: "Connect" })).toBeNull());
  });

  it("says so where its ports are not for the reader", async () => {
    portal({
      [`GET ${path}`]: ok(workspace),
      [`GET ${path}/ports`]: refused(403, "forbidden", "no"),
      "GET /api/v1/ssh": absent,
    });
    showAt(connect);
    expect(await screen.findByText("You cannot see this")).toBeTruthy();
  });

  it("of another is entered by nobody else, and what is shared of it is opened", async () => {
    portal({
      "GET /api/v1/me": ok({ ...ada, platformAdmin: false, accounts: { physics: "member" } }),
      [`GET ${theirs}`]: ok({ ...workspace, namespace: "user-bob-2" }),
      [`GET ${theirs}/ports`]: ok({ items: [jupyter, port(3000, "account"), port(4000, "link")] }),
      "GET /api/v1/ssh": ok(gateway),
    });
    showAt("/workspaces/user-bob-2/desk?tab=connect");
    expect(await screen.findByText("8888 · jupyter")).toBeTruthy();
    expect(screen.getByText("Only the owner")).toBeTruthy();
    expect(screen.queryByText("SSH and editors")).toBeNull();
    const ports = within(screen.getByRole("list", { name: "Programs and ports" }));
    expect(ports.getAllByRole("button").map((one) => one.getAttribute("aria-label"))).toEqual([
      "Open port 3000",
    ]);
  });
});
