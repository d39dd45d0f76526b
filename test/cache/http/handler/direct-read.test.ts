import { once } from 'node:events'
import * as http from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import type { Client, RangeRequest } from '../../../../lib/etcd/client.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { longTimers } from '../../../support/program/long-timers.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../../support/http/served.ts'

/** A service that has seen everything, one that has not, and a revision that only the first one and
 *  etcd still have. */
interface Old {
  readonly seen: Served
  readonly late: Served
  readonly revision: number
  /** Entries that the late one has had from etcd. */
  readonly read: { entries: number; ranges: RangeRequest[] }
}

function configMap(i: number, bytes: number): Uint8Array {
  const name = nameOf(i)
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'a', labels: { parity: i % 2 === 0 ? 'even' : 'odd' } },
    data: { x: String(i).padEnd(bytes, 'x') },
  }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return stored
}

function nameOf(i: number): string {
  return `m${String(i).padStart(5, '0')}`
}

async function put({ client }: Served, i: number, bytes: number): Promise<number> {
  const key = keyFromText(`/registry/configmaps/a/${nameOf(i)}`)
  const success = [{ type: 'put' as const, key, value: configMap(i, bytes) }]
  return (await client.txn({ compares: [], success, failure: [] })).header.revision
}

async function startOld(t: Test, count: number, bytes: number): Promise<Old> {
  const seen = await startServed(t)
  // Reads begin what is mirrored.
  await ask(seen.service.port, { path: '/api/v1/configmaps' })
  let revision = 0
  for (let i = 0; i < count; i++) revision = await put(seen, i, bytes)
  for (let i = 0; i < 10; i++) await put(seen, i, 1)
  const read: Old['read'] = { entries: 0, ranges: [] }
  const client: Client = new Proxy(seen.client, {
    get(target, name) {
      if (name === 'range') {
        return async (request: RangeRequest, signal?: AbortSignal) => {
          const answer = await target.range(request, signal)
          read.entries += answer.entries.length
          read.ranges.push(request)
          return answer
        }
      }
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  const late = await startServed(t, { client })
  await caughtUp(late, revision + 10)
  Object.assign(read, { entries: 0, ranges: [] })
  return { seen, late, revision, read }
}

function exactPath(revision: number, more = ''): string {
  return `/api/v1/configmaps?resourceVersion=${revision}&resourceVersionMatch=Exact${more}`
}

t.test('what etcd answers itself has the same bytes as what the mirror does', async t => {
  const { seen, late, revision } = await startOld(t, 700, 300)
  const accepts = [
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/yaml;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  ]
  const queries = [
    '',
    '&limit=20',
    '&limit=600',
    '&pretty=true',
    '&labelSelector=parity%3Deven',
    '&labelSelector=parity%3Deven&limit=33',
    '&labelSelector=parity%3Dnone',
    '&fieldSelector=metadata.name%3Dm00005',
    '&limit=1000',
  ]
  seen.clock.stoppedAtMs = late.clock.stoppedAtMs = 1e12
  for (const query of queries) {
    for (const accept of accepts) {
      const request = { path: exactPath(revision, query), headers: { accept } }
      const [ours, theirs] = [
        await ask(late.service.port, request),
        await ask(seen.service.port, request),
      ]
      t.equal(ours.status, 200)
      t.ok(ours.body.equals(theirs.body), `${query} as ${accept}`)
    }
  }
  for (const query of ['', '&limit=20']) {
    const request = { path: exactPath(revision, query), headers: { 'accept-encoding': 'gzip' } }
    const [ours, theirs] = [
      await ask(late.service.port, request),
      await ask(seen.service.port, request),
    ]
    const isZipped = theirs.headers['content-encoding'] === 'gzip'
    t.equal(isZipped, query === '')
    t.equal(ours.headers['content-encoding'], theirs.headers['content-encoding'])
    const [a, b] = [ours, theirs].map(({ body }) => (isZipped ? gunzipSync(body) : body))
    t.ok(a?.equals(b ?? Buffer.alloc(0)), `${query} compressed`)
  }
})

t.test('a list with a small limit asks etcd for no more than its page', async t => {
  const { late, revision, read } = await startOld(t, 700, 10)
  const answer = await ask(late.service.port, { path: exactPath(revision, '&limit=20') })
  const { metadata } = JSON.parse(answer.body.toString()) as {
    metadata: { remainingItemCount: number; continue: string }
  }
  t.equal(metadata.remainingItemCount, 680)
  t.equal(read.entries, 20)
  const next = `/api/v1/configmaps?limit=20&continue=${metadata.continue}`
  const second = await ask(late.service.port, { path: next })
  t.match(second.body.toString(), /"name":"m00020"/)
  t.equal(read.entries, 40)
})

/** Begins to ask for a list, and reads nothing of it until told to. */
async function askSlowly(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<http.IncomingMessage> {
  const sent = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  sent.on('error', () => {})
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  return response
}

async function bodyOf(response: http.IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) bytes += piece.length
  return bytes
}

t.test('of a big list, etcd is read as fast as the client reads, two lists at a time', async t => {
  const bytes = 40_000
  const { late, revision, read } = await startOld(t, 1500, bytes)
  const { port } = late.service
  const path = exactPath(revision)
  const first = await askSlowly(port, path)
  const second = await askSlowly(port, path)
  await settled(read)
  t.ok(read.entries < 1000, `${read.entries} of 3000 entries are read while nobody reads`)
  const third = await ask(port, { path })
  t.equal(third.status, 429)
  t.equal(third.headers['retry-after'], '1')
  t.ok((await bodyOf(first)) > 1500 * bytes)
  // A client that leaves gives its place back, too.
  second.destroy()
  await once(second, 'close')
  let again: HttpAnswer
  do again = await ask(port, { path })
  while (again.status === 429)
  t.ok(again.body.length > 1500 * bytes)
})

/** Resolves when nothing more is read of etcd. */
async function settled(read: Old['read']): Promise<void> {
  for (let quiet = 0, before = -1; quiet < 200; quiet++) {
    if (read.entries !== before) quiet = 0
    before = read.entries
    await new Promise(resolve => setImmediate(resolve))
  }
}

t.test('a list of etcd gives its place back when nobody takes the answer', async t => {
  const { late, revision } = await startOld(t, 200, 10)
  const { port } = late.service
  for (let i = 0; i < 5; i++) {
    const late = await ask(port, { path: exactPath(revision, '&timeout=1ns') })
    t.equal(late.status, 504)
  }
  t.equal((await ask(port, { path: exactPath(revision) })).status, 200)
})

t.test('an object that is not exact ends such a list as any other', async t => {
  const { seen, late } = await startOld(t, 100, 10)
  const key = keyFromText('/registry/configmaps/a/m00050')
  const encrypted = { type: 'put' as const, key, value: Buffer.from('k8s:enc:x') }
  const { header } = await seen.client.txn({ compares: [], success: [encrypted], failure: [] })
  await put(seen, 50, 10)
  const later = await startServed(t, { client: seen.client })
  await caughtUp(later, header.revision + 1)
  for (const query of ['', '&limit=60', '&labelSelector=parity%3Deven']) {
    const answer = await ask(later.service.port, { path: exactPath(header.revision, query) })
    t.equal(answer.status, 500)
    t.match(answer.body.toString(), /cannot be served exactly/)
  }
  t.equal((await ask(late.service.port, { path: '/api/v1/configmaps' })).status, 200)
})

t.test('who waits for an etcd that does not answer is told so after a minute', async t => {
  const { seen, revision } = await startOld(t, 3, 10)
  const timers = longTimers()
  let onAsked = (): void => {}
  const asked = new Promise<void>(resolve => (onAsked = resolve))
  const client: Client = new Proxy(seen.client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (name !== 'range') {
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      }
      return (request: RangeRequest, signal?: AbortSignal) => {
        if (request.revision === undefined || request.revision > revision) {
          return target.range(request, signal)
        }
        onAsked()
        return new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        })
      }
    },
  })
  const late = await startServed(t, { client, clock: timers.clock })
  await caughtUp(late, revision + 10)
  const answer = ask(late.service.port, { path: exactPath(revision) })
  await asked
  timers.runOut(59_000, 60_000)
  const { status, body } = await answer
  t.equal(status, 504)
  t.match(body.toString(), /request did not complete within the allotted timeout/)
})
