// Signing in: by password, by a directory, by another site, and without anything where somebody develops.
import { Alert, Button, Divider, SegmentedControl, Stack } from "@mantine/core";
import { IconAlertCircle, IconExternalLink, IconFlask } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { meQuery, providersQuery } from "../app/session";
import { useErrorText } from "../ui/states";
import { useAction } from "../ui/useAction";
import { DevelopmentForm } from "./DevelopmentForm";
import { Frame } from "./Frame";
import { PasswordForm } from "./PasswordForm";

/** Goes on to where the user wanted to go. */
export function useEnter() {
  const { back } = useSearch({ strict: false }) as { back?: string };
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    queries.removeQueries({ queryKey: meQuery.queryKey });
    await navigate({ to: back ?? "/", replace: true });
  };
}

export function LoginPage() {
  const { t } = useTranslation();
  const said = useErrorText();
  const enter = useEnter();
  const { back, failed, request } = useSearch({ from: "/login" });
  // A portal that does not tell its providers still has passwords.
  const { data } = useQuery({ ...providersQuery, retry: false });
  const offers = data ?? { password: true, development: false, providers: [] };
  const directories = offers.providers.filter((one) => one.kind === "ldap");
  const sites = offers.providers.filter((one) => one.kind !== "ldap");
  const [by, setBy] = useState("");
  const ways = [
    ...(offers.password ? [{ value: "", label: t("login.local") }] : []),
    ...directories.map((one) => ({ value: one.id, label: one.title })),
  ];
  const way = ways.some((one) => one.value === by) ? by : (ways[0]?.value ?? "");
  const login = useAction({
    quiet: true,
    run: (body: { name: string; password: string }) =>
      way === ""
        ? take(client.POST("/api/v1/login", { body }))
        : take(client.POST("/api/v1/login/{provider}", { params: { path: { provider: way } }, body })),
    onDone: () => void enter(),
  });
  const refused = (why: unknown) => {
    if (why === "tooMany") return t("login.tooMany");
    return why === "unavailable" ? t("login.unavailable") : t("errors.loginRefused");
  };
  const begin = (provider: string) =>
    `/api/v1/login/${encodeURIComponent(provider)}/begin?back=${encodeURIComponent(back ?? "/")}`;
  return (
    <Frame title={t("login.title")} text={t("login.text")}>
      <Stack>
        {(login.error || failed) && (
          <Alert color="red" icon={<IconAlertCircle size={18} />} role="alert">
            {login.error ? said(login.error) : refused(failed)}
            {!login.error && request && ` (${t("states.requestId")} ${request})`}
          </Alert>
        )}
        {ways.length > 1 && (
          <SegmentedControl aria-label={t("login.way")} value={way} onChange={setBy} data={ways} fullWidth />
        )}
        {ways.length > 0 && <PasswordForm busy={login.isPending} onSubmit={(body) => login.mutate(body)} />}
        {sites.length > 0 && (
          <>
            {ways.length > 0 && <Divider label={t("login.or")} />}
            {sites.map((one) => (
              <Button
                key={one.id}
                component="a"
                href={begin(one.id)}
                variant="default"
                rightSection={<IconExternalLink size={16} aria-hidden />}
              >
                {t("login.with", { title: one.title })}
              </Button>
            ))}
          </>
        )}
        {offers.development && (
          <Alert color="grape" icon={<IconFlask size={18} />} title={t("login.development")}>
            {t("login.developmentNote")}
            <DevelopmentForm onDone={() => void enter()} />
          </Alert>
        )}
      </Stack>
    </Frame>
  );
}
