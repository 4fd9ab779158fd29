import { Group, NativeSelect, SegmentedControl, Stack, Text, useMantineColorScheme } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { isScheme, usePreferences } from "../app/preferences";
import { currentLanguage, isLanguage, languages, setLanguage } from "../i18n";
import { Panel } from "../ui/Panel";

export function AppearancePanel() {
  const { t } = useTranslation();
  const { save } = usePreferences();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Panel title={t("settings.appearance")}>
      <Group gap="xl" align="flex-end">
        <NativeSelect
          label={t("settings.language")}
          value={currentLanguage()}
          data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
          onChange={(event) => {
            const language = event.currentTarget.value;
            if (!isLanguage(language)) return;
            void setLanguage(language);
            save({ language });
          }}
        />
        <Stack gap={4}>
          <Text size="sm" fw={600} id="theme-label">
            {t("settings.theme")}
          </Text>
          <SegmentedControl
            aria-labelledby="theme-label"
            value={colorScheme}
            onChange={(theme) => {
              if (!isScheme(theme)) return;
              setColorScheme(theme);
              save({ theme });
            }}
            data={(["light", "dark", "auto"] as const).map((value) => ({
              value,
              label: t(`settings.themes.${value}`),
            }))}
          />
        </Stack>
      </Group>
    </Panel>
  );
}
