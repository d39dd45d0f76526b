/** Parses the Warning headers that a server sends with every answer of a deprecated version. */

/** The texts; undefined if they are in a form that we cannot write. */
export function warningTexts(
  header: string | readonly string[] | undefined,
): readonly string[] | undefined {
  const lines = header === undefined ? [] : typeof header === 'string' ? [header] : header
  const texts: string[] = []
  for (const line of lines) {
    let rest = line
    while (rest !== '') {
      const match = /^299 - ("(?:[^"\\]|\\["\\])*")(?:, )?/.exec(rest)
      if (match === null) return undefined
      texts.push(JSON.parse(match[1] as string) as string)
      rest = rest.slice(match[0].length)
    }
  }
  return texts
}
