import { Button, Group, List, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "./Dialog";

interface Props {
  opened: boolean;
  onClose: () => void;
  onConfirm: () => void;
  title: string;
  children?: ReactNode;
  /** What will be gone, by name: "are you sure" is no question that anybody can answer. */
  lost?: string[];
  confirm: string;
  danger?: boolean;
  busy?: boolean;
}

/** Asks before something is done that cannot be taken back. */
export function Confirm({ opened, onClose, onConfirm, title, children, lost, confirm, danger, busy }: Props) {
  const { t } = useTranslation();
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <Stack>
        {children && <Text component="div">{children}</Text>}
        {lost && lost.length > 0 && (
          <div>
            <Text fw={600} size="sm" mb={4}>
              {t("confirm.lost")}
            </Text>
            <List size="sm" spacing={4}>
              {lost.map((one) => (
                <List.Item key={one}>{one}</List.Item>
              ))}
            </List>
          </div>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t("actions.back")}
          </Button>
          <Button color={danger ? "red" : undefined} onClick={onConfirm} loading={busy}>
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
