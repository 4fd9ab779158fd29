import { expect, it } from "vitest";
import { ApiError, errorOf, errorOfFailure, mayRetry } from "./error";

it("takes the portal's word", () => {
  const error = errorOf(422, {
    code: "invalid",
    message: "image: is no image",
    field: "image",
    requestId: "r-1",
  });
  expect(error).toMatchObject({
    code: "invalid",
    field: "image",
    requestId: "r-1",
    message: "image: is no image",
  });
});

it("makes do with the status where something else answers", () => {
  expect(errorOf(502, "<html>").code).toBe("unavailable");
  expect(errorOf(404, undefined).code).toBe("notFound");
  expect(errorOf(501, {}).code).toBe("notAvailable");
  expect(errorOf(418, { code: "teapot" }).code).toBe("internal");
});

it("knows how long to wait", () => {
  expect(errorOf(429, { code: "tooMany" }, "30").retryAfterSeconds).toBe(30);
  expect(errorOf(429, { code: "tooMany" }, "soon").retryAfterSeconds).toBeUndefined();
});

it("tries again only what may come right by itself", () => {
  expect(mayRetry(errorOfFailure(new TypeError("fetch failed")))).toBe(true);
  expect(mayRetry(new ApiError("forbidden", ""))).toBe(false);
  expect(mayRetry(new ApiError("unavailable", ""))).toBe(true);
});

it("tells a sign-in that was refused from one that is over", () => {
  expect(errorOf(401, { code: "loginRefused" }).code).toBe("loginRefused");
});
