import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { answers, show } from "../testing/render";
import { ChangePasswordForm } from "./ChangePasswordForm";

async function fill(current: string, next: string, again = next) {
  await userEvent.type(screen.getByLabelText("Current password"), current);
  await userEvent.type(screen.getByLabelText("New password"), next);
  await userEvent.type(screen.getByLabelText("New password once more"), again);
  await userEvent.click(screen.getByRole("button", { name: "Change password" }));
}

it("sends nothing that the portal would refuse", async () => {
  const asked = answers();
  show(<ChangePasswordForm name="ada" onDone={() => {}} />);
  await fill("old password", "short");
  expect(screen.getAllByText("At least 10 characters.").length).toBe(1);
  expect(asked).toEqual([]);
});

it("puts the portal's word at the field that it is about", async () => {
  answers({
    status: 422,
    body: { code: "invalid", message: "current is wrong", field: "current", requestId: "r" },
  });
  const done = vi.fn();
  show(<ChangePasswordForm name="ada" onDone={done} />);
  await fill("not it at all", "a long sentence");
  await screen.findByText("This is not your current password.");
  expect(done).not.toHaveBeenCalled();
});

it("carries the header that no other site can send", async () => {
  const asked = answers({ status: 204 });
  const done = vi.fn();
  show(<ChangePasswordForm name="ada" onDone={done} />);
  await fill("old password", "a long sentence");
  await waitFor(() => expect(done).toHaveBeenCalledOnce());
  expect(asked[0]?.headers.get("X-Maar-Request")).toBe("1");
  expect(await asked[0]?.json()).toEqual({ current: "old password", new: "a long sentence" });
});
