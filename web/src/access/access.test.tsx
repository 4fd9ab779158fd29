// Ways in, with a portal that is only played: what its pages show, and what they ask of it.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { portal, showAt } from "../testing/render";

const ok = <Body,>(body: Body) => ({ status: 200, body });
const absent = { status: 404, body: { code: "notFound", message: "there is no such route" } };
const gateway = {
  enabled: true,
  host: "gpu.example",
  port: 2222,
  hostKeys: [],
  fingerprints: ["SHA256:hosthosthost"],
};
const offer = { modes: ["certificate", "oidc"], server: "https://k8s.example", namespace: "user-ada-1" };
const key = {
  id: "k-1",
  title: "laptop",
  kind: "ssh-ed25519",
  fingerprint: "SHA256:mine",
  created: "2026-11-01T00:00:00Z",
};

describe("settings", () => {
  it("have no tabs for what the portal does not offer", async () => {
    portal({ "GET /api/v1/ssh": ok({ ...gateway, enabled: false }), "GET /api/v1/kubeconfig": absent });
    showAt("/settings?tab=ssh");
    expect(await screen.findByText("user-ada-1")).toBeTruthy();
    expect(screen.getAllByRole("tab").map((one) => one.textContent)).toEqual([
      "About me",
      "API keys",
      "Sessions",
    ]);
  });

  it("show keys with how to use them, and remove one after asking", async () => {
    const changes = portal({
      "GET /api/v1/ssh": ok(gateway),
      "GET /api/v1/kubeconfig": ok(offer),
      "GET /api/v1/me/ssh-keys": ok({ items: [key] }),
    });
    showAt("/settings?tab=ssh");
    expect(await screen.findByText("SHA256:mine")).toBeTruthy();
    expect(await screen.findByText("ssh -p 2222 WORKSPACE@gpu.example")).toBeTruthy();
    expect(screen.getByText("SHA256:hosthosthost")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Remove" }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toContain("Remove the key laptop?");
    expect(changes).toEqual([]);
    await userEvent.click(screen.getAllByRole("button", { name: "Remove" }).at(-1) as HTMLElement);
    await waitFor(() => expect(changes.map((one) => one.what)).toEqual(["DELETE /api/v1/ssh-keys/k-1"]));
  });

  it("say what is wrong where the portal cannot tell, and do not hide it", async () => {
    portal({
      "GET /api/v1/ssh": { status: 403, body: { code: "forbidden", message: "no" } },
      "GET /api/v1/me/ssh-keys": { status: 403, body: { code: "forbidden", message: "no" } },
    });
    showAt("/settings?tab=ssh");
    expect((await screen.findAllByText("You cannot see this")).length).toBeGreaterThan(0);
  });

  it("show a kubeconfig once, and devices that can be ended", async () => {
    const changes = portal({
      "GET /api/v1/ssh": absent,
      "GET /api/v1/kubeconfig": ok(offer),
      "POST /api/v1/me/kubeconfigs": ok({ id: "c-1", kubeconfig: "apiVersion: v1\nkind: Config" }),
    });
    showAt("/settings?tab=kubeconfig");
    expect(await screen.findByText("No devices yet")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "New kubeconfig" }));
    await userEvent.type(await screen.findByLabelText(/^Device/), "laptop");
    await userEvent.click(screen.getByRole("button", { name: "Make it" }));
    expect(await screen.findByText(/kind: Config/)).toBeTruthy();
    expect(changes[0]?.body).toEqual({ mode: "certificate", device: "laptop" });
    await userEvent.click(screen.getByRole("button", { name: "I have kept it" }));
    await waitFor(() => expect(screen.queryByText(/kind: Config/)).toBeNull());
  });
});

describe("a device", () => {
  const code = "GET /api/v1/device/ABCD-EFGH";
  const asking = ok({ client: "maar-cli", scopes: ["openid", "x:y"], expires: "2026-11-16T12:00:00Z" });

  it("is signed in by its code, which is compared first", async () => {
    const changes = portal({ [code]: asking });
    showAt("/device?user_code=abcd-efgh");
    const input = (await screen.findByLabelText(/^Code/)) as HTMLInputElement;
    expect(input.value).toBe("abcd-efgh");
    await userEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(await screen.findByText(/maar-cli wants to act for ada/)).toBeTruthy();
    expect(screen.getByText("Know who you are")).toBeTruthy();
    expect(screen.getByText("x:y")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Allow" }));
    expect(await screen.findByText("The device is signed in")).toBeTruthy();
    expect(changes).toEqual([{ what: "POST /api/v1/device/ABCD-EFGH", body: { approve: true } }]);
  });

  it("is refused", async () => {
    const changes = portal({ [code]: asking });
    showAt("/device?code=ABCD-EFGH");
    await userEvent.click(await screen.findByRole("button", { name: "Go on" }));
    await userEvent.click(await screen.findByRole("button", { name: "Do not allow" }));
    expect(await screen.findByText("Refused")).toBeTruthy();
    expect(changes[0]?.body).toEqual({ approve: false });
  });

  it("is not known by a code that is over, and another can be typed", async () => {
    portal({ [code]: absent });
    showAt("/device?code=ABCD-EFGH");
    await userEvent.click(await screen.findByRole("button", { name: "Go on" }));
    expect((await screen.findByRole("alert")).textContent).toContain("There is no code ABCD-EFGH");
    await userEvent.click(screen.getByRole("button", { name: "Another code" }));
    await userEvent.clear(await screen.findByLabelText(/^Code/));
    await userEvent.type(screen.getByLabelText(/^Code/), "!");
    await userEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(screen.getByText("Letters and digits, such as ABCD-EFGH.")).toBeTruthy();
  });

  it("waits until somebody has signed in, who then comes back to it", async () => {
    portal({ "GET /api/v1/me": { status: 401, body: { code: "signedOut", message: "" } } });
    const history = showAt("/device?code=ABCD-EFGH");
    expect(await screen.findByRole("heading", { name: "Sign in" })).toBeTruthy();
    expect(new URLSearchParams(history.location.search).get("back")).toContain("/device?code=ABCD-EFGH");
  });
});

describe("consent", () => {
  const asking = ok({
    client: "Wiki",
    scopes: ["openid", "groups"],
    redirect: "https://wiki.example/cb",
    needed: true,
  });
  const went = () => {
    const assign = vi.fn();
    vi.spyOn(window, "location", "get").mockReturnValue({ ...window.location, assign } as never);
    return assign;
  };

  it("says who asks and where it leads, and leads there with the answer", async () => {
    const assign = went();
    const changes = portal({
      "GET /api/v1/consents/c-1": asking,
      "POST /api/v1/consents/c-1": ok({ redirect: "https://wiki.example/cb?code=1" }),
    });
    showAt("/consent/c-1");
    expect(await screen.findByText(/Wiki wants to act for ada/)).toBeTruthy();
    expect(screen.getByText(/led to wiki\.example/)).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Allow" }));
    await waitFor(() => expect(assign).toHaveBeenCalledWith("https://wiki.example/cb?code=1"));
    expect(changes[0]?.body).toEqual({ approve: true });
  });

  it("is not asked for programs of Maar itself", async () => {
    const assign = went();
    const changes = portal({
      "GET /api/v1/consents/c-1": ok({ ...asking.body, needed: false }),
      "POST /api/v1/consents/c-1": ok({ redirect: "http://127.0.0.1:8000/?code=1" }),
    });
    showAt("/consent/c-1");
    await waitFor(() => expect(assign).toHaveBeenCalledWith("http://127.0.0.1:8000/?code=1"));
    expect(changes).toHaveLength(1);
  });

  it("is over when nobody asks any more", async () => {
    portal({ "GET /api/v1/consents/c-1": absent });
    showAt("/consent/c-1");
    expect(await screen.findByText("This does not exist")).toBeTruthy();
  });
});

describe("a workspace", () => {
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
  const ports = ok({ items: [{ port: 8888, name: "jupyter", sharing: { kind: "private" } }] });

  it("is connected to by SSH, editors and ports", async () => {
    const changes = portal({
      [`GET ${path}`]: ok(workspace),
      [`GET ${path}/ports`]: ports,
      [`POST ${path}/ports/8888/open`]: ok({ url: "https://desk.apps.example/", expires: "" }),
      "GET /api/v1/ssh": ok(gateway),
    });
    const page = { opener: {}, location: { replace: vi.fn() }, close: vi.fn() };
    vi.spyOn(window, "open").mockReturnValue(page as never);
    showAt("/workspaces/user-ada-1/desk?tab=connect");
    expect(await screen.findByText("ssh -p 2222 desk@gpu.example")).toBeTruthy();
    expect(await screen.findByText("You have no SSH key here yet.")).toBeTruthy();
    const code = screen.getByRole("link", { name: "VS Code" });
    expect(code.getAttribute("href")).toBe("vscode://vscode-remote/ssh-remote+desk@gpu.example:2222/root");
    await userEvent.click((await screen.findAllByRole("button", { name: "Open" }))[0] as HTMLElement);
    await waitFor(() => expect(page.location.replace).toHaveBeenCalledWith("https://desk.apps.example/"));
    expect(page.opener).toBeNull();
    expect(changes[0]?.what).toBe(`POST ${path}/ports/8888/open`);
  });

  it("has no such tab where the portal has no way in", async () => {
    portal({ [`GET ${path}`]: ok(workspace), [`GET ${path}/ports`]: absent, "GET /api/v1/ssh": absent });
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByRole("tab", { name: "Overview" })).toBeTruthy();
    await waitFor(() => expect(screen.queryByRole("tab", { name: "Connect" })).toBeNull());
  });

  it("of another is entered by nobody else, and its shared ports are opened", async () => {
    const theirs = "/api/v1/workspaces/user-bob-2/desk";
    portal({
      [`GET ${theirs}`]: ok({ ...workspace, namespace: "user-bob-2" }),
      [`GET ${theirs}/ports`]: ports,
      "GET /api/v1/ssh": ok(gateway),
    });
    showAt("/workspaces/user-bob-2/desk?tab=connect");
    expect(await screen.findByText("8888 · jupyter")).toBeTruthy();
    expect(screen.queryByText("SSH and editors")).toBeNull();
    expect(screen.queryByRole("button", { name: "Share" })).toBeNull();
  });
});
