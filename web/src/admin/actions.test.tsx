// What administrators do with users and nodes.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { portal, showPage } from "../testing/render";
import { NodeActions } from "./NodeActions";
import { UserEnd } from "./UserEnd";

const bob = { id: "u-2", name: "bob", expires: "2027-01-31T12:00:00Z" };

async function end(day: string) {
  const changes = portal();
  showPage(<UserEnd user={bob as never} onClose={() => {}} />);
  const input = (await screen.findByLabelText(/^Expires/)) as HTMLInputElement;
  expect(input.value).toBe("2027-01-31");
  await userEvent.clear(input);
  if (day) await userEvent.type(input, day);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(changes).toHaveLength(1));
  return changes[0];
}

it("the end of a user is moved", async () => {
  expect(await end("2028-02-29")).toEqual({
    what: "PUT /api/v1/users/u-2",
    body: { expires: "2028-02-29T23:59:59.000Z" },
  });
});

it("the end of a user is taken away", async () => {
  expect((await end(""))?.body).toEqual({ expires: "" });
});

it("a drain takes Pods that stand alone only where that was said", async () => {
  const changes = portal();
  showPage(<NodeActions node={{ name: "a100-0", schedulable: true } as never} />);
  await userEvent.click(await screen.findByRole("button", { name: "Drain" }));
  await screen.findByText("Unsaved work of everybody on this node");
  expect(screen.queryByText(/nothing starts them elsewhere/)).toBeNull();
  await userEvent.click(screen.getByLabelText("Also Pods that nobody makes again"));
  await screen.findByText(/nothing starts them elsewhere/);
  await userEvent.click(screen.getAllByRole("button", { name: "Drain" }).at(-1) as HTMLElement);
  await waitFor(() =>
    expect(changes).toEqual([{ what: "POST /api/v1/nodes/a100-0/drain", body: { unmanaged: true } }]),
  );
});
