import { Anchor, CloseButton, Group, List, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { usePreferences } from "../app/preferences";
import { Panel } from "../ui/Panel";

const hint = "first-steps";

/** What a newcomer may want to know; closed once, it stays closed. */
export function FirstSteps() {
  const { t } = useTranslation();
  const { preferences, save } = usePreferences();
  const seen = preferences?.hintsSeen ?? [];
  // Where the portal keeps nothing, the hint would come back for ever: it is not shown then.
  if (!preferences || seen.includes(hint)) return null;
  return (
    <Panel>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <div>
          <Title order={2} size="h5" mb="xs">
            {t("home.first.title")}
          </Title>
          <List type="ordered" spacing={6}>
            <List.Item>
              <Anchor component={Link} to="/workspaces/new">
                {t("home.first.workspace")}
              </Anchor>{" "}
              <Text span c="dimmed">
                {t("home.first.workspaceText")}
              </Text>
            </List.Item>
            <List.Item>
              <Anchor component={Link} to="/cards">
                {t("home.first.cards")}
              </Anchor>{" "}
              <Text span c="dimmed">
                {t("home.first.cardsText")}
              </Text>
            </List.Item>
            <List.Item>
              <Anchor component={Link} to="/jobs/new">
                {t("home.first.job")}
              </Anchor>{" "}
              <Text span c="dimmed">
                {t("home.first.jobText")}
              </Text>
            </List.Item>
          </List>
        </div>
        <CloseButton
          aria-label={t("home.first.close")}
          onClick={() => save({ hintsSeen: [...seen, hint] })}
        />
      </Group>
    </Panel>
  );
}
