import { cleanup } from "@testing-library/react";
import { afterEach, beforeAll } from "vitest";
import { setLanguage, startLanguages } from "../i18n";

beforeAll(async () => {
  await startLanguages();
  await setLanguage("en");
});

afterEach(cleanup);
