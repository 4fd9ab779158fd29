import { expect, it, vi } from "vitest";
import { goTo, isPlace } from "./visit";

it("takes addresses of pages and programs, and no scripts", () => {
  expect(isPlace("https://app.example/cb?code=1")).toBe(true);
  expect(isPlace("http://127.0.0.1:8000/")).toBe(true);
  expect(isPlace("com.example.app:/cb")).toBe(true);
  expect(isPlace("javascript:alert(1)")).toBe(false);
  expect(isPlace(" JavaScript:alert(1)")).toBe(false);
  expect(isPlace("java\nscript:alert(1)")).toBe(false);
  expect(isPlace("data:text/html,x")).toBe(false);
  expect(isPlace("/relative")).toBe(false);
});

it("cuts the way back before it leads on", () => {
  const page = { opener: window as Window | null, location: { replace: vi.fn() }, close: vi.fn() };
  goTo("https://desk.apps.example/", page as never);
  expect(page.opener).toBeNull();
  expect(page.location.replace).toHaveBeenCalledWith("https://desk.apps.example/");
  expect(() => goTo("javascript:alert(1)", page as never)).toThrow();
  expect(page.close).toHaveBeenCalledOnce();
});
