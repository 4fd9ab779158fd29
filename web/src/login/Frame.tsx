import { Box, Button, Group, Stack, Text, Title } from "@mantine/core";
import { IconLanguage } from "@tabler/icons-react";
import { type ReactNode, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Logo } from "../app/Logo";
import { currentLanguage, type Language, languages, setLanguage } from "../i18n";
import { Panel } from "../ui/Panel";

/** The frame of pages for people who are not inside yet. */
export function Frame({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  const { t } = useTranslation();
  const other = (Object.keys(languages) as Language[]).find((one) => one !== currentLanguage()) ?? "en";
  useEffect(() => {
    document.title = `${title} · Maar`;
  }, [title]);
  return (
    <Box component="main" mih="100vh" px="md" pb="md" pt={{ base: 32, sm: 80 }}>
      <Stack maw={420} mx="auto" gap="xl">
        <Group justify="space-between">
          <Group gap="sm">
            <Logo size={40} />
            <div>
              <Text fw={700} size="xl" lh={1.2}>
                {t("app.name")}
              </Text>
              <Text size="sm" c="dimmed">
                {t("app.tagline")}
              </Text>
            </div>
          </Group>
          <Button
            variant="subtle"
            size="compact-sm"
            lang={other}
            leftSection={<IconLanguage size={16} />}
            onClick={() => void setLanguage(other)}
          >
            {languages[other]}
          </Button>
        </Group>
        <Panel p="xl">
          <Stack gap="lg">
            <div>
              <Title order={1} size="h3">
                {title}
              </Title>
              {text && (
                <Text c="dimmed" size="sm" mt={4}>
                  {text}
                </Text>
              )}
            </div>
            {children}
          </Stack>
        </Panel>
      </Stack>
    </Box>
  );
}
