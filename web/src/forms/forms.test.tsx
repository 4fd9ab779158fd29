// Every form alike: bad input is named at its field and nothing is sent, what the portal finds stands at the field that
// it is about, what belongs to no field stands above the form, and nothing that was typed is lost.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { describe, expect, it, vi } from "vitest";
import { NewKubeconfig } from "../access/NewKubeconfig";
import { NewSshKey } from "../access/NewSshKey";
import { AccountForm } from "../admin/AccountForm";
import { LabelsPanel } from "../admin/LabelsPanel";
import { MemberForm } from "../admin/MembersPanel";
import { NewUser } from "../admin/NewUser";
import { PolicyForm } from "../admin/PolicyForm";
import { TaintsPanel } from "../admin/TaintsPanel";
import { initialValues as newJob } from "../jobs/form";
import { JobForm } from "../jobs/JobForm";
import { NewKey } from "../settings/NewKey";
import { TemplateForm } from "../templates/SaveTemplate";
import { ada, portal, showPage, wrong } from "../testing/render";
import { NewVolume } from "../volumes/NewVolume";
import { initialValues as newWorkspace } from "../workspaces/form";
import { ProtectForm } from "../workspaces/ProtectForm";
import { WorkspaceForm } from "../workspaces/WorkspaceForm";

interface Case {
  form: (done: () => void) => ReactNode;
  send: string;
  /** The field that is filled badly, and what it says then. */
  field: string;
  bad: string;
  fault: string;
  /** What is typed instead, and the request it becomes. */
  good: string;
  route: string;
  body?: object;
  /** What the portal calls the field. */
  named: string;
}

const node = { name: "a100-0" };
const accounts = { status: 200, body: { items: [{ name: "physics" }] } };

const cases: Record<string, Case> = {
  "a workspace": {
    form: () => <WorkspaceForm initial={{ ...newWorkspace, name: "desk", image: "busybox" }} />,
    send: "Create workspace",
    field: "Memory",
    bad: "lots",
    fault: "An amount above zero, such as 2, 500m or 16Gi.",
    good: "2Gi",
    route: "POST /api/v1/workspaces",
    body: { name: "desk", image: "busybox", memory: "2Gi" },
    named: "memory",
  },
  "a job": {
    form: () => <JobForm initial={{ ...newJob, name: "train" }} onValues={() => {}} />,
    send: "Submit",
    field: "Image",
    bad: " ",
    fault: "This is needed.",
    good: "busybox",
    route: "POST /api/v1/jobs",
    body: { metadata: { name: "train" } },
    named: "spec.tasks[0].template.spec.containers[0].image",
  },
  "a volume": {
    form: (done) => <NewVolume onDone={done} />,
    send: "Create volume",
    field: "Name",
    bad: "Big Data",
    fault: "A letter first, then a-z, digits and dashes.",
    good: "data",
    route: "POST /api/v1/volumes",
    body: { name: "data", size: "20Gi", storageClass: null, shared: false },
    named: "name",
  },
  "a key": {
    form: (done) => <NewKey onMade={done} />,
    send: "Make the key",
    field: "What it is for",
    bad: " ",
    fault: "This is needed.",
    good: "ci",
    route: "POST /api/v1/me/keys",
    body: { name: "ci", days: 90, scopes: ["workspaces:read", "jobs:read"] },
    named: "name",
  },
  "a user": {
    form: (done) => <NewUser onMade={done} />,
    send: "Create user",
    field: "Name",
    bad: "Ada Lovelace",
    fault: "a-z, digits, and dots, dashes or underscores between them, at most 63.",
    good: "ada.l",
    route: "POST /api/v1/users",
    body: { name: "ada.l", platformAdmin: false },
    named: "name",
  },
  "an account": {
    form: (done) => <AccountForm onDone={done} />,
    send: "Save",
    field: "Name",
    bad: "Physics!",
    fault: "A letter first, then a-z, digits and dashes.",
    good: "physics",
    route: "POST /api/v1/accounts",
    body: { name: "physics" },
    named: "spec.name",
  },
  "a member": {
    form: (done) => <MemberForm account="physics" member={{}} onDone={done} />,
    send: "Save",
    field: "User",
    bad: " ",
    fault: "This is needed.",
    good: "bob",
    route: "PUT /api/v1/accounts/physics/members/bob",
    body: { role: "Member", cap: {} },
    named: "user",
  },
  "a policy": {
    form: (done) => (
      <PolicyForm
        policy={{
          account: "physics",
          policy: { idle: { windowMinutes: 60, percent: 5, warnMinutes: 1 } } as never,
        }}
        onDone={done}
      />
    ),
    send: "Save",
    field: "Idle up to, %",
    bad: "100",
    fault: "A whole number from 0 to 99.",
    good: "7",
    route: "PUT /api/v1/policies/physics",
    body: { idle: { windowMinutes: 60, percent: 7, warnMinutes: 1 } },
    named: "idle.percent",
  },
  "a label of a node": {
    form: () => <LabelsPanel node={{ ...node, labels: { zone: "a" } } as never} />,
    send: "Add a label",
    field: "Add a label",
    bad: "rack",
    fault: "As key=value, such as rack=a1.",
    good: "rack=a1",
    route: "PUT /api/v1/nodes/a100-0/labels",
    body: { set: { rack: "a1" }, remove: [] },
    named: "set",
  },
  "the taints of a node": {
    form: () => (
      <TaintsPanel node={{ ...node, taints: [{ key: "old", value: "", effect: "NoSchedule" }] } as never} />
    ),
    send: "Save",
    field: "Key",
    bad: "",
    fault: "This is needed.",
    good: "dedicated",
    route: "PUT /api/v1/nodes/a100-0/taints",
    body: [{ key: "dedicated", effect: "NoSchedule" }],
    named: "[0].key",
  },
  "a template": {
    form: (done) => (
      <TemplateForm kind="job" body={() => ({ spec: { type: "Single" } })} onBack={() => {}} onDone={done} />
    ),
    send: "Save",
    field: "Name",
    bad: " ",
    fault: "This is needed.",
    good: "nightly",
    route: "POST /api/v1/templates",
    body: { kind: "job", name: "nightly", account: null, body: { spec: { type: "Single" } } },
    named: "name",
  },
  "an SSH key": {
    form: (done) => <NewSshKey onDone={done} />,
    send: "Add a key",
    field: "Public key",
    bad: "-----BEGIN OPENSSH PRIVATE KEY-----",
    fault: "This is a private key. Never show it to anybody: paste the file that ends in .pub instead.",
    good: `ssh-ed25519 ${"A".repeat(68)} ada@laptop`,
    route: "POST /api/v1/me/ssh-keys",
    body: { title: "ada@laptop", key: `ssh-ed25519 ${"A".repeat(68)} ada@laptop` },
    named: "key",
  },
  "a kubeconfig": {
    form: (done) => (
      <NewKubeconfig
        offer={{ modes: ["certificate", "oidc"], server: "https://k", namespace: "user-ada-1" }}
        onMade={done}
      />
    ),
    send: "Make it",
    field: "Device",
    bad: " ",
    fault: "This is needed.",
    good: "laptop",
    route: "POST /api/v1/me/kubeconfigs",
    body: { mode: "certificate", device: "laptop" },
    named: "device",
  },
  "the protection of a workspace": {
    form: (done) => <ProtectForm workspace={{ namespace: "user-ada-1", name: "desk" }} onClose={done} />,
    send: "Save",
    field: "Hours from now",
    bad: "",
    fault: "This is needed.",
    good: "48",
    route: "PUT /api/v1/workspaces/user-ada-1/desk/protection",
    body: { hours: 48 },
    named: "hours",
  },
};

async function fill(one: Case, text: string) {
  const input = await screen.findByLabelText(new RegExp(`^${literal(one.field)}`), {
    selector: "input, textarea",
  });
  await userEvent.clear(input);
  if (text) await userEvent.type(input, text);
  await userEvent.click(screen.getByRole("button", { name: one.send }));
  return input as HTMLInputElement;
}

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

describe.each(Object.entries(cases))("the form of %s", (_, one) => {
  it("names the field of bad input, and sends nothing", async () => {
    const changes = portal({ "GET /api/v1/accounts": accounts });
    showPage(one.form(() => {}));
    const input = await fill(one, one.bad);
    expect(await screen.findByText(one.fault, { selector: "[class*=error], [class*=Error]" })).toBeTruthy();
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(changes).toEqual([]);
  });

  it("puts the portal's word at its field, and keeps what was typed", async () => {
    const done = vi.fn();
    portal({ "GET /api/v1/accounts": accounts, [one.route]: wrong(one.named, "no such luck") });
    showPage(one.form(done));
    const input = await fill(one, one.good);
    const said = await screen.findByText(/no such luck/);
    expect(input.getAttribute("aria-describedby")).toContain(said.id);
    expect(input.value).toBe(one.good);
    expect(screen.queryByRole("alert")).toBeNull();
    expect(done).not.toHaveBeenCalled();
  });

  it("says above the form what belongs to no field", async () => {
    portal({
      "GET /api/v1/accounts": accounts,
      [one.route]: { status: 409, body: { code: "conflict", message: "it was changed meanwhile" } },
    });
    showPage(one.form(() => {}));
    const input = await fill(one, one.good);
    expect((await screen.findByRole("alert")).textContent).toContain("it was changed meanwhile");
    expect(input.value).toBe(one.good);
  });

  it("sends what was typed", async () => {
    const body = { namespace: ada.namespace, name: "made", secret: "s", password: "p" };
    const changes = portal({ "GET /api/v1/accounts": accounts, [one.route]: { status: 200, body } });
    showPage(one.form(() => {}));
    await fill(one, one.good);
    await waitFor(() => expect(changes).toHaveLength(1));
    expect(changes[0]?.what).toBe(one.route);
    expect(changes[0]?.body).toMatchObject(one.body ?? {});
  });
});
