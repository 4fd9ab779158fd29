import "i18next";
import type en from "./en.json";

// Keys are checked when the pages are compiled: a text that is missing is an error, not a blank.
declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
    returnNull: false;
  }
}
