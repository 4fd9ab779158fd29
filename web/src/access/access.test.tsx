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
  const asking = ok({
    client: "maar-cli",
    scopes: ["openid", "maar", "kubeconfig:d-1", "x:y"],
    expires: "2026-11-16T12:00:00Z",
  });

  it("is signed in by its code, which is compared first", async () => {
    const changes = portal({ [code]: asking });
    showAt("/device?user_code=abcd-efgh");
    const input = (await screen.findByLabelText(/^Code/)) as HTMLInputElement;
    expect(input.value).toBe("abcd-efgh");
    await userEvent.click(screen.getByRole("button", { name: "Go on" }));
    expect(await screen.findByText(/maar-cli wants to act for ada/)).toBeTruthy();
    expect(screen.getByText("Know who you are")).toBeTruthy();
    expect(screen.getByText("Do everything in this portal that you can do")).toBeTruthy();
    expect(screen.getByText("Use kubectl with your rights, on one device")).toBeTruthy();
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

  it("is not asked for sites that are trusted", async () => {
    const assign = went();
    const changes = portal({
      "GET /api/v1/consents/c-1": ok({ ...asking.body, needed: false }),
      "POST /api/v1/consents/c-1": ok({ redirect: "https://wiki.example/cb?code=2" }),
    });
    showAt("/consent/c-1");
    await waitFor(() => expect(assign).toHaveBeenCalledWith("https://wiki.example/cb?code=2"));
    expect(changes).toHaveLength(1);
  });

  it("is over when nobody asks any more", async () => {
    portal({ "GET /api/v1/consents/c-1": absent });
    showAt("/consent/c-1");
    expect(await screen.findByText("This does not exist")).toBeTruthy();
  });
});
