/** Names in a line of a check. */

const shownMax = 10

/** The first names of many, and how many more there are. */
export function shownNames(names: readonly string[]): string {
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : ''
  return `${names.slice(0, shownMax).join(', ')}${more}`
}
