import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeAll } from "vitest";
import { setLanguage, startLanguages } from "../i18n";

// Pages are loaded when they are wanted, and a busy machine is no fault of theirs.
configure({ asyncUtilTimeout: 15_000 });

beforeAll(async () => {
  await startLanguages();
  await setLanguage("en");
});

// Areas that grow with their text listen for fonts, which the DOM of the tests does not have.
Object.defineProperty(document, "fonts", { value: new EventTarget(), configurable: true });

/** Nothing changes while a test looks. */
class Silence extends EventTarget {
  close() {}
}
Object.defineProperty(globalThis, "EventSource", { value: Silence, configurable: true });

afterEach(cleanup);
