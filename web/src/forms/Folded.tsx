import { Accordion } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

interface Props {
  /** Fields in it; it opens by itself when one of them is wrong, so that nothing that is wrong is hidden. */
  fields: readonly string[];
  errors: Record<string, ReactNode>;
  opened?: boolean;
  children: ReactNode;
}

/** What most people leave as it is, folded away. */
export function Folded({ fields, errors, opened = false, children }: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(opened);
  const wrong = Object.keys(errors).some((field) => fields.includes(field.split(".")[0] ?? ""));
  useEffect(() => {
    if (wrong) setOpen(true);
  }, [wrong]);
  return (
    <Accordion
      variant="separated"
      radius="lg"
      value={open ? "more" : null}
      onChange={(value) => setOpen(value !== null)}
    >
      <Accordion.Item value="more">
        <Accordion.Control>{t("forms.more")}</Accordion.Control>
        <Accordion.Panel>{children}</Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
