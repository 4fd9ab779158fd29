// One accent, generous space, quiet frames.
import { createTheme, type MantineColorsTuple } from "@mantine/core";

// The colour of a crater lake. Shade 7 carries white text at more than 4.5:1; shade 3 is read on dark.
const accent: MantineColorsTuple = [
  "#effaf8",
  "#d8f3ee",
  "#b1e6dd",
  "#7dd3c6",
  "#46b8aa",
  "#229c8f",
  "#128073",
  "#0f6b61",
  "#10564f",
  "#0d3f3b",
];

// Darker than Mantine's, so that white text on it and it on white can both be read.
const red: MantineColorsTuple = [
  "#fff1f0",
  "#ffdedb",
  "#fbb8b2",
  "#f58f86",
  "#e8655a",
  "#d33f33",
  "#c02f24",
  "#b42318",
  "#941c13",
  "#74160f",
];

// Greys of dark pages, with a little of the lake in them.
const dark: MantineColorsTuple = [
  "#dbe3e8",
  "#b8c4cc",
  "#8d9ba6",
  "#5f6d78",
  "#3a4751",
  "#2b363f",
  "#1d262d",
  "#171f25",
  "#11171c",
  "#0b1013",
];

export const theme = createTheme({
  colors: { accent, red, dark },
  primaryColor: "accent",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace',
  headings: { fontWeight: "650" },
  components: {
    Modal: { defaultProps: { radius: "lg", overlayProps: { backgroundOpacity: 0.35, blur: 2 } } },
    Drawer: { defaultProps: { overlayProps: { backgroundOpacity: 0.35 } } },
  },
});
