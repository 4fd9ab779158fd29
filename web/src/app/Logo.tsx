/** A crater with its lake. */
export function Logo({ size }: { size: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <path
        d="M3 21.500 10.200 9.600c.5-.9 1.700-1.200 2.600-.6 1.900 1.300 4.500 1.300 6.400 0 .9-.6 2.100-.3 2.600.6L29 21.500c.9 1.500-.2 3.500-2 3.500H5c-1.800 0-2.900-2-2-3.500Z"
        fill="#0f766e"
      />
      <ellipse cx="16" cy="18.200" rx="6.800" ry="2.600" fill="#5eead4" />
    </svg>
  );
}
