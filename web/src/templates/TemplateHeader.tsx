import { useTranslation } from "react-i18next";
import { PageHeader } from "../ui/PageHeader";

/** The head of a form that changes a template. */
export function TemplateHeader() {
  const { t } = useTranslation();
  return (
    <PageHeader
      title={t("templates.edit")}
      text={t("templates.editText")}
      above={{ title: t("nav.templates"), to: "/templates" }}
    />
  );
}
