// What the portal asks of a password, so that people need not try it out. The portal decides all the same.

export type PasswordFault = "short" | "long" | "same" | "easy" | "differs";

export function faultOf(
  values: { current: string; next: string; again: string },
  name: string,
): PasswordFault | undefined {
  const length = [...values.next].length;
  if (length < 10) return "short";
  if (length > 256) return "long";
  if (values.next === values.current) return "same";
  const plain = values.next.toLowerCase();
  const repeated = [...plain].every((one) => plain.startsWith(one));
  const named = name !== "" && plain.includes(name.toLowerCase()) && length < [...name].length + 10;
  if (repeated || named) return "easy";
  if (values.next !== values.again) return "differs";
  return undefined;
}
