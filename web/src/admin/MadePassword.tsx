import { Alert, Button, Code, Group, Stack } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../ui/Dialog";
import { CopyText } from "../ui/TextView";

interface Props {
  made: { name: string; password: string } | undefined;
  onClose: () => void;
}

/** A password that was just made: shown this once. */
export function MadePassword({ made, onClose }: Props) {
  const { t } = useTranslation();
  return (
    <Dialog
      opened={made !== undefined}
      onClose={onClose}
      title={t("users.passwordFor", { name: made?.name ?? "" })}
      closeOnClickOutside={false}
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle size={18} />}>
          {t("users.passwordOnce")}
        </Alert>
        <Code block>{made?.password}</Code>
        <Group justify="space-between">
          <CopyText text={made?.password ?? ""} />
          <Button onClick={onClose}>{t("keys.kept")}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
