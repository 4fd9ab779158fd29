import { Box, Stack, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { KubeconfigPanel } from "../access/KubeconfigPanel";
import { isOffered, kubeconfigQuery, sshQuery } from "../access/offer";
import { SshPanel } from "../access/SshPanel";
import { useMe } from "../app/session";
import { ChangePasswordForm } from "../login/ChangePasswordForm";
import { Facts } from "../ui/Facts";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { Loading } from "../ui/states";
import { toast } from "../ui/toast";
import { AppearancePanel } from "./AppearancePanel";
import { KeysPanel } from "./KeysPanel";
import { SessionsPanel } from "./SessionsPanel";

const panels = {
  me: () => <Me />,
  ssh: () => <SshPanel />,
  kubeconfig: () => <KubeconfigPanel />,
  keys: () => <KeysPanel />,
  sessions: () => <SessionsPanel />,
};
type Tab = keyof typeof panels;

export function SettingsPage() {
  const { t } = useTranslation();
  const search = useSearch({ from: "/inside/settings" });
  const navigate = useNavigate();
  const offers = { ssh: isOffered(useQuery(sshQuery)), kubeconfig: isOffered(useQuery(kubeconfigQuery)) };
  const offered = (tab: Tab) => (tab === "ssh" || tab === "kubeconfig" ? offers[tab] : true);
  const wanted = (Object.keys(panels) as Tab[]).find((one) => one === search.tab) ?? "me";
  const tabs = (Object.keys(panels) as Tab[]).filter((one) => offered(one) || one === wanted);
  // A tab that the address names and the portal turns out not to have gives way to the first.
  const tab = offered(wanted) === false ? "me" : wanted;
  return (
    <>
      <PageHeader title={t("nav.settings")} text={t("settings.text")} />
      <Tabs
        value={tab}
        onChange={(next) =>
          void navigate({
            to: "/settings",
            search: { tab: next === "me" ? undefined : (next ?? undefined) },
            replace: true,
          })
        }
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          {tabs
            .filter((one) => offered(one) !== false)
            .map((one) => (
              <Tabs.Tab key={one} value={one}>
                {t(`settings.tabs.${one}`)}
              </Tabs.Tab>
            ))}
        </Tabs.List>
        <Tabs.Panel value={tab} maw={980}>
          {offered(tab) === undefined ? <Loading /> : panels[tab]()}
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function Me() {
  const { t } = useTranslation();
  const me = useMe();
  const accounts = Object.entries(me.accounts).map(([name, role]) => `${name} (${t(`roles.${role}`)})`);
  return (
    <Stack gap="lg">
      <Panel title={t("settings.me")}>
        <Facts
          facts={[
            [t("fields.name"), me.name],
            [t("settings.displayName"), me.displayName],
            [t("settings.email"), me.email ?? "–"],
            [t("settings.namespace"), me.namespace],
            [t("settings.accounts"), accounts.join(", ") || "–"],
          ]}
        />
      </Panel>
      <AppearancePanel />
      <Panel title={t("settings.password")}>
        <Box maw={420}>
          <ChangePasswordForm name={me.name} onDone={() => toast(t("password.changed"))} />
        </Box>
      </Panel>
    </Stack>
  );
}
