import { Alert, Button, Group, List, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Question } from "../api/types";
import { useMe } from "../app/session";

const known = ["openid", "profile", "email", "groups", "offline_access", "maar", "kubeconfig"] as const;

interface Props {
  asking: Question;
  warning: string;
  busy: boolean;
  onDecide: (approve: boolean) => void;
  children?: ReactNode;
}

/** What a program wants to know or do in the reader's name; he says yes or no. */
export function Asking({ asking, warning, busy, onDecide, children }: Props) {
  const { t } = useTranslation();
  const me = useMe();
  return (
    <Stack>
      <Text>{t("asking.wants", { client: asking.client, user: me.name })}</Text>
      <List size="sm" spacing={4}>
        {asking.scopes.map((scope) => {
          // Some say of what they are, such as kubeconfig:ID.
          const name = known.find((one) => one === scope.split(":")[0]);
          return <List.Item key={scope}>{name ? t(`asking.scopes.${name}`) : scope}</List.Item>;
        })}
      </List>
      {children}
      <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
        {warning}
      </Alert>
      <Group justify="flex-end">
        <Button variant="default" disabled={busy} onClick={() => onDecide(false)}>
          {t("asking.deny")}
        </Button>
        <Button loading={busy} onClick={() => onDecide(true)}>
          {t("asking.approve")}
        </Button>
      </Group>
    </Stack>
  );
}
