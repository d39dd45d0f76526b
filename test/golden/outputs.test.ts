import t from 'tap'
import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import { type Exchange, bodyBytes, exchanges } from './load.ts'
import { type Made, makeBody, remakeStatus } from './outputs.ts'

/** A time limit that ran out, and a cache that had just been started. */
const othersIds = new Set(['pub-1197', 'pub-1288'])

/** Equal, different and uncovered answers by form and kind. */
class Report {
  readonly #counts = new Map<string, Map<string, number>>()
  readonly differences: string[] = []

  add(form: string, kind: string, outcome: string): void {
    const row = `${outcome} ${form}`
    const kinds = this.#counts.get(row) ?? new Map<string, number>()
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    this.#counts.set(row, kinds)
  }

  total(outcome: string): number {
    let total = 0
    for (const [row, kinds] of this.#counts) {
      if (row.startsWith(outcome)) for (const count of kinds.values()) total += count
    }
    return total
  }

  lines(): string[] {
    return [...this.#counts].toSorted(byName).map(([row, kinds]) => {
      const total = [...kinds.values()].reduce((sum, count) => sum + count, 0)
      const names = [...kinds].toSorted(byName).map(([kind, count]) => `${kind} ${count}`)
      return `${row}: ${total} (${names.join(', ')})`
    })
  }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

t.test('every recorded answer to a read is made again, byte by byte', async t => {
  const report = new Report()
  for (const exchange of exchanges().filter(({ request }) => request.method === 'GET')) {
    compare(exchange, report)
  }
  for (const line of report.lines()) t.comment(line)
  t.strictSame(report.differences, [])
  t.ok(report.total('equal') > 900, `${report.total('equal')} equal`)
})

/** Reads that the pure layer has no part in. */
function isOfOthers({ request, id }: Exchange): boolean {
  return !/^\/apis?(\/|$)/.test(request.path) || othersIds.has(id)
}

function compare(exchange: Exchange, report: Report): void {
  const { id, request, area } = exchange
  const recorded = bodyBytes(exchange.response)
  let made = isOfOthers(exchange) ? undefined : firstMade(exchange, recorded)
  if (made === undefined) {
    report.add(area, 'of others', 'uncovered')
    return
  }
  for (const replacements of allowances(exchange, recorded)) {
    if (made === undefined || isEqual(made.body, recorded)) break
    made = makeBody(exchange, replacements)
  }
  const { body = recorded, kind = '', form = '' } = made ?? {}
  if (isEqual(body, recorded)) {
    report.add(form, kind, 'equal')
    return
  }
  report.add(form, kind, 'different')
  const reason = body instanceof NotExact ? body.reason : firstDifference(body, recorded)
  report.differences.push(`${id} ${request.path} ${form}: ${reason}`)
}

/** Who may read what is decided elsewhere: of such a refusal only the form is made again. */
function firstMade(exchange: Exchange, recorded: Buffer): Made | undefined {
  if (![401, 403].includes(exchange.response.status)) return makeBody(exchange)
  const json = recorded[0] === 0x7b ? recorded : jsonFromProtobuf(recorded)
  if (json instanceof NotExact) throw new Error(json.reason)
  return remakeStatus(exchange, Buffer.from(json).toString())
}

function isEqual(a: Uint8Array | NotExact, b: Uint8Array): boolean {
  return !(a instanceof NotExact) && Buffer.compare(a, b) === 0
}

/** The differences that timing decides: the revision of a list that may be of any, the form of a
 *  token, and ages that are a second older by the time they are shown. */
function* allowances(
  { flags, area }: Exchange,
  recorded: Uint8Array,
): Generator<Parameters<typeof makeBody>[1]> {
  const meta = recordedMeta(recorded)
  yield { meta }
  if (area === 'table' || flags.some(flag => flag.startsWith('age-'))) {
    for (const laterMs of [1000, 2000, -1000]) yield { meta, laterMs }
  }
}

function recordedMeta(recorded: Uint8Array): { resourceVersion?: string; continue?: string } {
  const isProtobuf = recorded[0] === 0x6b && recorded[3] === 0
  const json = isProtobuf ? jsonFromProtobuf(recorded) : recorded
  const text = json instanceof NotExact ? '' : Buffer.from(json).toString()
  const head = /"metadata": ?(\{[^{}]*\})/.exec(text)?.[1]
  const yaml =
    /\nmetadata:\n(?: {2}continue: (.*)\n)?.*(?: {2}remaining.*\n)? {2}resourceVersion: "(\d+)"\n$/.exec(
      text,
    )
  if (yaml !== null) return { resourceVersion: yaml[2] ?? '' }
  if (head === undefined) return {}
  const { resourceVersion, continue: token } = JSON.parse(head) as Record<string, string>
  return {
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(token === undefined ? {} : { continue: token }),
  }
}

function firstDifference(a: Uint8Array, b: Uint8Array): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const part = (bytes: Uint8Array): string =>
    JSON.stringify(Buffer.from(bytes.subarray(Math.max(0, at - 60), at + 60)).toString())
  return `at ${at} of ${a.length} and ${b.length}: ${part(a)} instead of ${part(b)}`
}
