import { Button } from "@mantine/core";
import { IconMapOff } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Empty } from "../ui/states";

/** An address that leads nowhere. */
export function Missing() {
  const { t } = useTranslation();
  return (
    <Empty
      icon={IconMapOff}
      title={t("states.noPage.title")}
      action={
        <Button component={Link} to="/">
          {t("states.noPage.home")}
        </Button>
      }
    >
      {t("states.noPage.text")}
    </Empty>
  );
}
