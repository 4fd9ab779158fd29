// Colours of the heat map. They run from dark blue to yellow with evenly growing lightness (cividis), so that people who
// do not tell red from green, and people who see no colours at all, read the same order.

type Rgb = readonly [number, number, number];

const stops: readonly Rgb[] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

/** The colour for a value from 0 to 1. */
export function colourOf(value: number): Rgb {
  const at = Math.min(1, Math.max(0, value)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const [from, until] = [stops[low] as Rgb, stops[low + 1] as Rgb];
  const part = at - low;
  const mix = (index: 0 | 1 | 2) => Math.round(from[index] + (until[index] - from[index]) * part);
  return [mix(0), mix(1), mix(2)];
}

export const css = ([red, green, blue]: Rgb) => `rgb(${red} ${green} ${blue})`;

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((one) => {
    const part = one / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: Rgb, other: Rgb): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const white: Rgb = [255, 255, 255];
const black: Rgb = [0, 0, 0];

/** Letters that can be read on a colour. */
export function inkOn(colour: Rgb): Rgb {
  return contrast(colour, white) >= contrast(colour, black) ? white : black;
}

/** A day as a strip: hard steps from left to right, with gaps where nothing was measured. */
export function strip(values: (number | null)[], gap: string): string {
  if (values.length === 0) return gap;
  const width = 100 / values.length;
  const parts = values.map((value, index) => {
    const colour = value === null ? gap : css(colourOf(value / 100));
    return `${colour} ${(index * width).toFixed(2)}% ${((index + 1) * width).toFixed(2)}%`;
  });
  return `linear-gradient(to right, ${parts.join(", ")})`;
}
