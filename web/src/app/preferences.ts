// What a user likes, kept by the portal where it can and by the browser anyway.
import { useMantineColorScheme } from "@mantine/core";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client, take } from "../api/client";
import { currentLanguage, isLanguage, setLanguage } from "../i18n";

export interface Preferences {
  language?: string;
  theme?: string;
  hintsSeen?: string[];
}

const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: async () => (await take(client.GET("/api/v1/me/preferences"))) as Preferences,
  retry: false,
});

const schemes = ["light", "dark", "auto"] as const;
export type Scheme = (typeof schemes)[number];
export const isScheme = (text: unknown): text is Scheme => schemes.includes(text as Scheme);

export function usePreferences() {
  const queries = useQueryClient();
  const { data } = useQuery(preferencesQuery);
  const save = (change: Preferences) => {
    const next = { ...(data ?? {}), ...change };
    queries.setQueryData(preferencesQuery.queryKey, next);
    // Where the portal keeps none, the browser's own memory has to do: there is nothing to say about it.
    client.PUT("/api/v1/me/preferences", { body: next }).catch(() => undefined);
  };
  return { preferences: data, save };
}

/** Takes over what the portal knows, once after the sign-in. */
export function useApplyPreferences() {
  const { preferences } = usePreferences();
  const { setColorScheme } = useMantineColorScheme();
  const applied = useRef(false);
  useEffect(() => {
    if (!preferences || applied.current) return;
    applied.current = true;
    if (isLanguage(preferences.language) && preferences.language !== currentLanguage()) {
      void setLanguage(preferences.language);
    }
    if (isScheme(preferences.theme)) setColorScheme(preferences.theme);
  }, [preferences, setColorScheme]);
}
