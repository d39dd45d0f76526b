import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { allKeys } from '../../lib/base/keys.ts'
import { rbacOf } from '../support/http/rbac.ts'
import { ask, caughtUp, type Served, startServed } from '../support/http/served.ts'
import type { Exchange } from './load.ts'
import { firstDifference } from './replay.ts'

interface AccessExchange extends Exchange {
  readonly client_certificate?: object
  /** The request with names in place of what an earlier answer had. */
  readonly template?: {
    readonly path?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  }
  /** Names, and where their values stand in the answer. */
  readonly capture?: Readonly<Record<string, readonly string[]>>
}

const file = new URL('../../../test/golden/data/access/exchanges.jsonl.gz', import.meta.url)

function exchanges(): AccessExchange[] {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  return lines.map(line => JSON.parse(line) as AccessExchange)
}

/** Answers that are not as they were recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-adm-1422': 'logs of pods: there is no kubelet',
  'pub-adm-1397':
    'a token is void at once when its account has gone, and there only after some seconds',
  'pub-adm-1398': 'keys of service accounts are not published',
  'pub-adm-1420':
    'the manager of what a server makes at its start is the server, without a version',
  'pub-adm-1433': 'the commit of the recorded server',
}

const tokens = [
  'golden-admin-token,admin,admin-uid,"system:masters"',
  'golden-alice-token,alice,u-alice,"dev"',
  'golden-bob-token,bob,u-bob',
  'golden-carol-token,carol,u-carol,"dev,ops"',
  'golden-dave-token,dave,u-dave,"approvers"',
  'golden-erin-token,erin,u-erin,"limited"',
].join('\n')

/** The text without the parts that differ between two runs of the same server. */
function masked(text: string): string {
  return text
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'JWT')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/("resourceVersion": ?")\d+/g, '$1RV')
    .replaceAll(/X509SHA256=[0-9a-f]+/g, 'X509')
}

/** The order of rules in a review is that of a map in Go. */
function inOrder(text: string): string {
  if (!text.includes('"resourceRules"')) return text
  const review = JSON.parse(text) as { status: Record<string, unknown[]> }
  for (const name of ['resourceRules', 'nonResourceRules']) {
    review.status[name]?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  return JSON.stringify(review)
}

async function settled(served: Served): Promise<void> {
  const { header } = await served.client.range({ range: allKeys, countOnly: true })
  await caughtUp(served, header.revision)
}

async function replay(t: Test, asked: readonly AccessExchange[]): Promise<void> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
  })
  const captured = new Map<string, string>()
  const filled = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => captured.get(name) ?? whole)
  const failures: string[] = []
  let count = 0
  for (const exchange of asked) {
    const { id, request, response, template, capture = {}, flags } = exchange
    // Certificates of the recording are not kept: identity.test.ts has them.
    if (exchange.client_certificate !== undefined) continue
    await settled(served)
    const {
      Host: _,
      'Content-Length': __,
      ...headers
    } = {
      ...request.headers,
      ...template?.headers,
    } as OutgoingHttpHeaders
    const body = template?.body ?? request.body
    const answer = await ask(served.service.port, {
      method: request.method,
      path: filled(template?.path ?? request.path),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          typeof value === 'string' ? filled(value) : value,
        ]),
      ),
      body: body === undefined ? undefined : filled(body),
    })
    const text = answer.body.toString()
    for (const [name, path] of Object.entries(capture)) {
      let found: unknown = JSON.parse(text)
      for (const key of path) found = (found as Record<string, unknown>)[key]
      captured.set(name, String(found))
    }
    const isAny = flags.includes('varies') || flags.includes('timing')
    const [ours, theirs] = [text, response.body ?? ''].map(one => masked(inOrder(one)))
    const isSame = answer.status === response.status && (ours === theirs || isAny)
    if (isSame) count++
    else if (exceptions[id] === undefined) {
      failures.push(
        `${id} ${exchange.description}: ${answer.status}, ${response.status}: ${firstDifference(ours ?? '', theirs ?? '')}`,
      )
    }
  }
  t.comment(`${count} of ${asked.length} alike`)
  t.strictSame(failures, [])
}

t.test('a kube-apiserver and we say alike who may do what', async t => {
  await replay(t, exchanges())
})
