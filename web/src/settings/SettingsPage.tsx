import { Box, Stack } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useMe } from "../app/session";
import { ChangePasswordForm } from "../login/ChangePasswordForm";
import { Facts } from "../ui/Facts";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { toast } from "../ui/toast";
import { AppearancePanel } from "./AppearancePanel";
import { KeysPanel } from "./KeysPanel";
import { SessionsPanel } from "./SessionsPanel";

export function SettingsPage() {
  const { t } = useTranslation();
  const me = useMe();
  const accounts = Object.entries(me.accounts).map(([name, role]) => `${name} (${t(`roles.${role}`)})`);
  return (
    <>
      <PageHeader title={t("nav.settings")} text={t("settings.text")} />
      <Stack gap="lg" maw={900}>
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
        <KeysPanel />
        <SessionsPanel />
      </Stack>
    </>
  );
}
