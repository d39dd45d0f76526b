import t from 'tap'
import { exchanges, type Exchange } from '../../golden/load.ts'
import { answerRecorded, namesOf, type PureAnswer } from '../../support/kube/kube-golden.ts'

/** Areas whose refusals the pure layer decides alone. */
const areas = [
  'params',
  'continue-errors',
  'labels',
  'fields',
  'rv-matrix',
  'rv-matrix-cr',
  'rv-matrix-events',
  'routing',
  'compaction',
  'crd-fields',
  'list',
  'get',
  'crd',
  'chunking',
  'exact',
  'list-builtin',
  'table',
  'partial',
  'client-style',
  'restart',
  'gzip',
  'pretty',
]

/** Decided elsewhere. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-0897': 'another server, which is not there',
  'pub-0898': 'another server, which is not there',
  'pub-1197': 'the time limit of the request itself',
  'pub-1288': 'a cache that starts',
}

const reads = exchanges().filter(
  ({ area, request, id }) =>
    areas.includes(area) && request.method === 'GET' && exceptions[id] === undefined,
)

/** Statuses and media types that are settled before or after this layer. */
function isDecidedElsewhere({ request, response }: Exchange): boolean {
  return (
    response.status === 406 ||
    response.body_base64 !== undefined ||
    /includeObject=(?:none|Bogus)/.test(request.path)
  )
}

t.test('requests that upstream refused are refused with the same status and body', async t => {
  let compared = 0
  for (const exchange of reads.filter(({ response }) => response.status >= 400)) {
    if (isDecidedElsewhere(exchange)) continue
    const answer = answerRecorded(exchange)
    if (answer.type === 'other') {
      t.equal(answer.what, 'subresource', `${exchange.id} ${exchange.request.path}`)
      continue
    }
    const { status, body = '' } = exchange.response
    t.strictSame(
      answer.type === 'failure' ? [answer.code, comparable(answer.body)] : answer.type,
      [status, comparable(body)],
      `${exchange.id} ${exchange.request.path}`,
    )
    compared++
  }
  t.ok(compared >= 215, `${compared} refusals compared`)
})

t.test('lists hold the recorded objects and go on where the recorded ones do', async t => {
  let compared = 0
  for (const exchange of reads.filter(({ response }) => response.status === 200)) {
    const recorded = recordedList(exchange)
    if (recorded === undefined) continue
    const answer = answerRecorded(exchange)
    if (answer.type === 'other') {
      const isKnown = answer.what === 'computed' || answer.what === 'subresource'
      t.ok(isKnown, `${exchange.id} ${exchange.request.path} is left to others: ${answer.what}`)
      continue
    }
    t.strictSame(listOf(answer, exchange), recorded, `${exchange.id} ${exchange.request.path}`)
    compared++
  }
  t.ok(compared >= 500, `${compared} lists compared`)
})

/** Bodies that upstream has indented say the same. */
function comparable(body: string): string {
  return body.startsWith('{') ? JSON.stringify(JSON.parse(body)) : body
}

interface ComparableList {
  readonly names: readonly string[] | undefined
  readonly meta: unknown
}

/** Upstream sorts the rows of FlowSchema Tables by precedence, which is the business of Tables. */
function inOrder(path: string, names: readonly string[]): readonly string[] {
  return path.includes('/flowschemas') ? [...names].sort() : names
}

function namedText(item: Named | undefined): string {
  return item?.metadata?.name ?? ''
}

function recordedList({ request, response, flags }: Exchange): ComparableList | undefined {
  const body = response.body ?? ''
  if (!body.startsWith('{')) return undefined
  let parsed: {
    readonly metadata?: object
    readonly items?: readonly Named[]
    readonly rows?: readonly { readonly object?: Named }[]
  }
  try {
    parsed = JSON.parse(body) as typeof parsed
  } catch {
    return undefined
  }
  const items = parsed.items ?? parsed.rows?.map(row => row.object)
  if (items === undefined || parsed.metadata === undefined) return undefined
  const hasNames = items.every(item => item?.metadata?.name !== undefined)
  return {
    names: hasNames ? inOrder(request.path, items.map(namedText)) : undefined,
    meta: comparableMeta(parsed.metadata as MetaLike, flags),
  }
}

interface Named {
  readonly metadata?: { readonly name?: string }
}

interface MetaLike {
  readonly resourceVersion?: string
  readonly continue?: string | undefined
  readonly remainingItemCount?: number | undefined
}

function comparableMeta(meta: MetaLike, flags: readonly string[]): unknown {
  const token = meta.continue ?? ''
  return {
    revision: flags.includes('rv-at-least') ? 'any' : meta.resourceVersion,
    continue:
      token === ''
        ? undefined
        : Buffer.from(token, 'base64url').toString().replace('"start":"/', '"start":"'),
    remaining: meta.remainingItemCount,
  }
}

function listOf(answer: PureAnswer, exchange: Exchange): ComparableList | string {
  if (answer.type !== 'list') {
    return answer.type === 'object' ? recordedList(exchange)! : answer.type
  }
  const hasNames = recordedList(exchange)?.names !== undefined
  return {
    names: hasNames ? inOrder(exchange.request.path, namesOf(answer.entries)) : undefined,
    meta: comparableMeta(answer.meta, exchange.flags),
  }
}
