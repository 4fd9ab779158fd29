// SSH as pages speak of it: keys as people paste them, and how to come into a workspace. Pure.

export type KeyFault = "required" | "private" | "lines" | "kind";

const kinds = [
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "ecdsa-sha2-nistp521",
  "ssh-rsa",
  "sk-ssh-ed25519@openssh.com",
  "sk-ecdsa-sha2-nistp256@openssh.com",
];

/** What is wrong with a public key as it was pasted; the portal looks closer. */
export function faultOfKey(text: string): KeyFault | undefined {
  const key = text.trim();
  if (!key) return "required";
  // Somebody has shown his private key to a form already; it must not also travel.
  if (/-----BEGIN|PRIVATE KEY|^PuTTY-User-Key-File/.test(key)) return "private";
  if (key.includes("\n")) return "lines";
  const [kind = "", data = ""] = key.split(/\s+/);
  return kinds.includes(kind) && /^[A-Za-z0-9+/]{40,}={0,2}$/.test(data) ? undefined : "kind";
}

/** What its owner called it: the comment behind a key. */
export function commentOf(key: string): string {
  return key.trim().split(/\s+/).slice(2).join(" ");
}

interface Gateway {
  host: string;
  port: number;
}
interface Workspace {
  namespace: string;
  name: string;
}

/** Who one is to SSH: the workspace, by its namespace too where that is not one's own. */
export function loginOf(workspace: Workspace, own: string): string {
  return workspace.namespace === own ? workspace.name : `${workspace.name}.${workspace.namespace}`;
}

export function sshCommand({ host, port }: Gateway, login: string): string {
  return port === 22 ? `ssh ${login}@${host}` : `ssh -p ${port} ${login}@${host}`;
}

export function copyCommand({ host, port }: Gateway, login: string): string {
  return port === 22 ? `scp file ${login}@${host}:` : `scp -P ${port} file ${login}@${host}:`;
}

/** Addresses in the form that links want them in: those with colons in brackets. */
const bracketed = (host: string) => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host);

interface Spec {
  env?: { name: string; value?: string | null }[];
  volumes?: { path: string }[];
}

/**
 * The folder that editors open: the home that the workspace names, else its first volume, where work outlives the Pod,
 * else the home of root, whom most images run as. Editors take no `~`, and to open `/` they would watch all files there.
 */
export function folderOf(spec: Spec | null | undefined): string {
  const home = spec?.env?.find(({ name }) => name === "HOME")?.value;
  // What is put together in the Pod, as $(USER) is, is not known here.
  if (home?.startsWith("/") && !home.includes("$(")) return home;
  return spec?.volumes?.[0]?.path ?? "/root";
}

/** Opens VS Code's remote window in a folder of the workspace. */
export function codeLink({ host, port }: Gateway, login: string, folder: string): string {
  const path = folder.split("/").map(encodeURIComponent).join("/");
  return `vscode://vscode-remote/ssh-remote+${encodeURIComponent(login)}@${bracketed(host)}:${port}${path}`;
}

/** Opens JetBrains Gateway with the connection filled in. */
export function gatewayLink({ host, port }: Gateway, login: string, folder: string): string {
  const said = new URLSearchParams({
    type: "ssh",
    deploy: "false",
    host,
    port: String(port),
    user: login,
    projectPath: folder,
  });
  return `jetbrains-gateway://connect#${said}`;
}
