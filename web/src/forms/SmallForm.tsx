import { Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Sending } from "./useSend";

interface Props {
  sending: Sending;
  /** What the button says that sends it. */
  submit: string;
  /** The way back, where there is one beside closing the dialog. */
  onBack?: () => void;
  children: ReactNode;
}

/** A form of some fields, as dialogs have them: what is wrong with the whole above, what sends it below. */
export function SmallForm({ sending, submit, onBack, children }: Props) {
  const { t } = useTranslation();
  return (
    <form onSubmit={sending.onSubmit} noValidate>
      <Stack>
        {sending.problem}
        {children}
        <Group justify="flex-end">
          {onBack && (
            <Button variant="default" onClick={onBack}>
              {t("actions.back")}
            </Button>
          )}
          <Button type="submit" loading={sending.busy}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
