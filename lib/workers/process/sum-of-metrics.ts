/** Adds up the metrics of several threads, in the text format of Prometheus. Series of one name and
 *  labels become one: all of ours are counts, amounts or distributions, so their sum is that of the
 *  process. What only one thread shows, such as keyspaces, stays as it is. */

interface Family {
  /** HELP and TYPE. */
  readonly comments: string[]
  readonly series: Map<string, number>
}

/** The first text is that of the main thread, which measures the process: its metrics of the
 *  process are not added to. */
export function sumOfMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>()
  const [main = '', ...others] = texts
  addTo(families, main)
  const own = new Set([...families.keys()].filter(isOfProcess))
  for (const text of others) addTo(families, text, own)
  const lines: string[] = []
  for (const { comments, series } of families.values()) {
    lines.push(...comments)
    for (const [name, value] of series) lines.push(`${name} ${textOf(value)}`)
    lines.push('')
  }
  return `${lines.join('\n')}\n`
}

/** True for metrics of the whole process, however many threads measure it; and for constants. */
function isOfProcess(name: string): boolean {
  return /^(?:process_|nodejs_|watchglass_(?:ready$|build|certificate|memory_|keyspace_))/.test(
    name,
  )
}

function addTo(
  families: Map<string, Family>,
  text: string,
  left: ReadonlySet<string> = new Set(),
): void {
  let family: Family | undefined = undefined
  let isKnown = false
  for (const line of text.split('\n')) {
    const [, name] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? []
    if (name !== undefined) {
      if (left.has(name)) {
        family = undefined
        continue
      }
      const known = families.get(name)
      const isOther = known !== family
      if (isOther) isKnown = known !== undefined
      family = known ?? { comments: [], series: new Map() }
      families.set(name, family)
      if (!isKnown) family.comments.push(line)
      continue
    }
    const space = line.lastIndexOf(' ')
    if (family === undefined || space < 0 || line.startsWith('#')) continue
    const series = line.slice(0, space)
    family.series.set(series, (family.series.get(series) ?? 0) + Number(line.slice(space + 1)))
  }
}

function textOf(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'Nan' : value > 0 ? '+Inf' : '-Inf'
}
