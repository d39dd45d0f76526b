/** Flags: why a later answer to the same request may rightly differ (the README of this folder
 *  lists them). */

const agePattern =
  /"name":"(?:Age|Last Seen|First Seen|Duration|Created|Created At|LastSeen|FirstSeen)","type"/

/** Flags of an answer to a request that is no watch. */
export function flagsOf(
  path: string,
  accept: string | undefined,
  { status, bytes }: { readonly status: number; readonly bytes: Buffer },
): string[] {
  const flags: string[] = []
  if (status === 200 && isAtLeast(path)) flags.push('rv-at-least')
  if (status === 504) flags.push('slow-3s')
  if (status === 200 && isTable(accept)) {
    const text = bytes.toString('utf8')
    if (text.includes('"rows":[{') && agePattern.test(text)) flags.push('age-cells')
  }
  return flags
}

export function isTable(accept: string | undefined): boolean {
  return accept?.includes('as=Table') === true
}

/** A list that may be of any revision from the one asked for on. A page at a revision is exactly of
 *  that one, unless it says NotOlderThan. */
function isAtLeast(path: string): boolean {
  const query = new URLSearchParams(path.split('?')[1] ?? '')
  const [revision, match] = [query.get('resourceVersion'), query.get('resourceVersionMatch')]
  if (revision === null || revision === '' || match === 'Exact' || query.has('watch')) return false
  const isPage = Number(query.get('limit') ?? 0) > 0
  return match !== null || !isPage || revision === '0'
}
