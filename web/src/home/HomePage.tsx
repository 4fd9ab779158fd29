// The first page: how the cluster is, what is mine, and what to do next.
import { Button, Grid, Group, Stack } from "@mantine/core";
import { IconBriefcase2, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useMe } from "../app/session";
import { PageHeader } from "../ui/PageHeader";
import { ClusterPanel } from "./ClusterPanel";
import { FirstSteps } from "./FirstSteps";
import { MyWork } from "./MyWork";
import { QuotaPanel } from "./QuotaPanel";

export function HomePage() {
  const { t } = useTranslation();
  const me = useMe();
  return (
    <>
      <PageHeader
        title={t("home.hello", { name: me.displayName || me.name })}
        text={t("home.text")}
        actions={
          <Group gap="xs">
            <Button
              component={Link}
              to="/jobs/new"
              variant="default"
              leftSection={<IconBriefcase2 size={18} />}
            >
              {t("jobs.new")}
            </Button>
            <Button component={Link} to="/workspaces/new" leftSection={<IconPlus size={18} />}>
              {t("workspaces.new")}
            </Button>
          </Group>
        }
      />
      <Stack gap="lg">
        <FirstSteps />
        <ClusterPanel />
        <Grid gap="lg" align="stretch">
          <Grid.Col span={{ base: 12, lg: 8 }}>
            <MyWork />
          </Grid.Col>
          <Grid.Col span={{ base: 12, lg: 4 }}>
            <QuotaPanel />
          </Grid.Col>
        </Grid>
      </Stack>
    </>
  );
}
