// Languages. Each is loaded when it is wanted; texts of pages stand in two files that a test keeps alike.
import i18next from "i18next";
import { initReactI18next } from "react-i18next";

export const languages = { en: "English", "zh-CN": "简体中文" } as const;
export type Language = keyof typeof languages;

const key = "maar-language";

const load: Record<Language, () => Promise<{ default: object }>> = {
  en: () => import("./en.json"),
  "zh-CN": () => import("./zh-CN.json"),
};

/** The language that is meant by what a browser says, such as zh-Hans-SG. */
export function closest(said: readonly string[]): Language {
  for (const one of said) {
    const low = one.toLowerCase();
    if (low === "zh" || low.startsWith("zh-")) return "zh-CN";
    if (low === "en" || low.startsWith("en-")) return "en";
  }
  return "en";
}

function chosen(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function isLanguage(text: unknown): text is Language {
  return typeof text === "string" && text in languages;
}

export function currentLanguage(): Language {
  return isLanguage(i18next.language) ? i18next.language : "en";
}

export async function setLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, "translation")) {
    i18next.addResourceBundle(language, "translation", (await load[language]()).default);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  try {
    localStorage.setItem(key, language);
  } catch {
    // It is asked for again next time, then.
  }
}

/** Begins in the language that was chosen here before, else in the browser's. */
export async function startLanguages(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    fallbackLng: false,
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  const before = chosen();
  await setLanguage(isLanguage(before) ? before : closest(navigator.languages));
}
