/** Adds a label to every series of a text in the format of Prometheus. */

/** `value` has no character that would have to be escaped. */
export function withLabel(text: string, name: string, value: string): string {
  const label = `${name}="${value}"`
  return text.replace(/^([a-zA-Z_:][\w:]*)(\{)?/gm, (_, metric: string, brace?: string) =>
    brace === undefined ? `${metric}{${label}}` : `${metric}{${label},`,
  )
}
