import { describe, expect, it } from "vitest";
import {
  codeLink,
  commentOf,
  copyCommand,
  faultOfKey,
  folderOf,
  gatewayLink,
  loginOf,
  sshCommand,
} from "./ssh";

const key = `ssh-ed25519 ${"A".repeat(68)} ada@laptop`;

describe("a pasted key", () => {
  it.each([
    ["", "required"],
    ["  \n", "required"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----", "private"],
    ["PuTTY-User-Key-File-3: ssh-ed25519", "private"],
    [`${key}\n${key}`, "lines"],
    ["ssh-dss AAAAB3NzaC1kc3MAAACBA", "kind"],
    [`ssh-ed25519 not!base64${"A".repeat(40)}`, "kind"],
    ["ssh-ed25519", "kind"],
    [key, undefined],
    [`  ${key}\n`, undefined],
    [`sk-ssh-ed25519@openssh.com ${"A".repeat(90)}`, undefined],
  ])("%j is %s", (text, fault) => {
    expect(faultOfKey(text)).toBe(fault);
  });

  it("brings its title along", () => {
    expect(commentOf(key)).toBe("ada@laptop");
    expect(commentOf("ssh-ed25519 AAAA")).toBe("");
  });
});

describe("the way into a workspace", () => {
  const gateway = { host: "gpu.example", port: 2222 };
  const desk = { namespace: "user-ada-1", name: "desk" };

  it("names the namespace where it is another's", () => {
    expect(loginOf(desk, "user-ada-1")).toBe("desk");
    expect(loginOf(desk, "user-bob-2")).toBe("desk.user-ada-1");
  });

  it("leaves out a port that everybody means", () => {
    expect(sshCommand(gateway, "desk")).toBe("ssh -p 2222 desk@gpu.example");
    expect(sshCommand({ ...gateway, port: 22 }, "desk")).toBe("ssh desk@gpu.example");
    expect(copyCommand(gateway, "desk")).toBe("scp -P 2222 file desk@gpu.example:");
  });

  it("opens editors", () => {
    expect(codeLink(gateway, "desk", "/root")).toBe(
      "vscode://vscode-remote/ssh-remote+desk@gpu.example:2222/root",
    );
    expect(codeLink(gateway, "desk", "/work/a b#c")).toMatch(/:2222\/work\/a%20b%23c$/);
    expect(codeLink({ host: "::1", port: 22 }, "desk", "/root")).toContain("desk@[::1]:22/");
    const link = new URL(gatewayLink(gateway, "desk", "/home/ada"));
    expect(Object.fromEntries(new URLSearchParams(link.hash.slice(1)))).toMatchObject({
      type: "ssh",
      host: "gpu.example",
      port: "2222",
      user: "desk",
      projectPath: "/home/ada",
    });
  });

  it.each([
    ["nothing is known", undefined, "/root"],
    ["nothing is said", { env: [], volumes: [] }, "/root"],
    [
      "it names its home",
      { env: [{ name: "HOME", value: "/home/ada" }], volumes: [{ path: "/work" }] },
      "/home/ada",
    ],
    [
      "it has a volume",
      { env: [{ name: "A", value: "/b" }], volumes: [{ path: "/work" }, { path: "/c" }] },
      "/work",
    ],
    ["its home is no folder", { env: [{ name: "HOME", value: "here" }] }, "/root"],
    [
      "its home is put together",
      { env: [{ name: "HOME", value: "/home/$(USER)" }], volumes: [{ path: "/w" }] },
      "/w",
    ],
    ["its home is from a secret", { env: [{ name: "HOME" }] }, "/root"],
  ])("opens the folder of the work where %s", (_, spec, folder) => {
    expect(folderOf(spec)).toBe(folder);
  });
});
