import { readFileSync } from "node:fs";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { portal, showAt } from "../testing/render";

const providers = (...list: object[]) => ({
  status: 200,
  body: { password: list.length === 0, development: false, providers: list },
});
const signedOut = { status: 401, body: { code: "signedOut", message: "" } };

const source = "../crates/portal/src/identity/provider/handlers.rs";

/** Where the portal sends browsers, as it stands in the portal: both sides must mean the same. */
function turnedAway(why: string, request: string) {
  const place = /format!\("(\/login\?[^"]+)"/.exec(readFileSync(source, "utf8"))?.[1];
  if (!place) throw new Error(`${source} does not say any more where it sends people who were not let in`);
  return place.replace("{why}", why).replace("{}", request);
}

describe("signing in", () => {
  it.each([
    ["loginRefused", "Signing in did not work"],
    ["unavailable", "The other site does not answer"],
    ["tooMany", "Too many attempts"],
  ])("says why a provider sent somebody back with %s", async (failed, text) => {
    portal({ "GET /api/v1/me": signedOut, "GET /api/v1/login/providers": providers() });
    showAt(turnedAway(failed, "r-7"));
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain(text);
    expect(alert.textContent).toContain("r-7");
  });

  it("that a directory refuses is not one that is over", async () => {
    portal({
      "GET /api/v1/me": signedOut,
      "GET /api/v1/login/providers": providers({ id: "ldap", kind: "ldap", title: "Staff" }),
      "POST /api/v1/login/ldap": { status: 401, body: { code: "loginRefused", message: "" } },
    });
    showAt("/login");
    await userEvent.type(await screen.findByLabelText("Name"), "ada");
    await userEvent.type(screen.getByLabelText("Password"), "wrong");
    await userEvent.click(screen.getByRole("button", { name: "Sign in" }));
    expect((await screen.findByRole("alert")).textContent).toContain("Signing in did not work");
  });
});
