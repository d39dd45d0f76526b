import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { allKeys } from '../../../lib/base/keys.ts'
import { createAuthority } from '../../../lib/simulator/authority/authority.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../support/http/served.ts'
import { openLive } from '../../support/http/live-lines.ts'
import { moment } from '../../support/http/moment.ts'

interface Converter {
  readonly port: number
  readonly ca: string
  /** Names of objects that were to be converted, call by call. */
  readonly calls: string[][]
}

interface Review {
  readonly apiVersion: string
  readonly request: {
    readonly uid: string
    readonly desiredAPIVersion: string
    readonly objects: readonly { metadata: { name: string }; spec: object }[]
  }
}

/** Converts by giving objects the other version; at `/hang` it never answers, and at `/grow` it
 *  adds more than it may. */
async function startConverter(t: Test): Promise<Converter> {
  const authority = createAuthority(systemClock.wallMs())
  const calls: string[][] = []
  const server = createServer(authority.issue(['127.0.0.1']), (request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { apiVersion, request: review } = JSON.parse(Buffer.concat(pieces).toString()) as Review
      const { uid, desiredAPIVersion, objects } = review
      calls.push(objects.map(({ metadata }) => metadata.name))
      if (request.url?.startsWith('/hang') === true) return
      const more = request.url?.startsWith('/grow') === true ? 'x'.repeat(200_000) : ''
      const convertedObjects = objects.map(object => ({
        ...object,
        apiVersion: desiredAPIVersion,
        spec: { ...object.spec, by: `webhook${more}` },
      }))
      const answer = { uid, convertedObjects, result: { status: 'Success' } }
      response.end(JSON.stringify({ apiVersion, kind: 'ConversionReview', response: answer }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, ca: Buffer.from(authority.cert).toString('base64'), calls }
}

async function settled(served: Served): Promise<void> {
  const { header } = await served.client.range({ range: allKeys, countOnly: true })
  await caughtUp(served, header.revision)
}

async function send(
  served: Served,
  method: string,
  path: string,
  body?: object,
): Promise<HttpAnswer> {
  const answer = await ask(served.service.port, {
    method,
    path,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  await settled(served)
  return answer
}

const anything = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
}

async function define(
  served: Served,
  { port, ca }: Converter,
  plural: string,
  path = '/convert',
): Promise<void> {
  const { status } = await send(
    served,
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    {
      metadata: { name: `${plural}.test.local` },
      spec: {
        group: 'test.local',
        scope: 'Cluster',
        names: { plural, kind: plural.toUpperCase() },
        versions: [
          { name: 'v1', served: true, storage: true, schema: anything },
          { name: 'v2', served: true, storage: false, schema: anything },
        ],
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle: ca },
          },
        },
      },
    },
  )
  t.equal(status, 201)
}

async function started(t: Test): Promise<readonly [Served, Converter]> {
  const converter = await startConverter(t)
  const served = await startServed(t, {
    isWritable: true,
    webhooks: { services: new Map(), hosts: undefined },
  })
  await settled(served)
  return [served, converter]
}

function create(served: Served, plural: string, name: string): Promise<HttpAnswer> {
  const kind = plural.toUpperCase()
  const object = { apiVersion: 'test.local/v1', kind, metadata: { name }, spec: { a: 1 } }
  return send(served, 'POST', `/apis/test.local/v1/${plural}`, object)
}

t.test('an object is converted once, and kept with what is mirrored', async t => {
  const [served, converter] = await started(t)
  await define(served, converter, 'things')
  for (const name of ['a', 'b', 'c']) t.equal((await create(served, 'things', name)).status, 201)
  t.same(converter.calls, [], 'the stored version needs nobody')
  const path = '/apis/test.local/v2/things'
  const first = JSON.parse((await send(served, 'GET', path)).body.toString()) as {
    items: { apiVersion: string; spec: object }[]
  }
  t.same(
    first.items.map(({ apiVersion, spec }) => ({ apiVersion, spec })),
    ['a', 'b', 'c'].map(() => ({ apiVersion: 'test.local/v2', spec: { a: 1, by: 'webhook' } })),
  )
  t.same(converter.calls, [['a', 'b', 'c']], 'in one call')
  await send(served, 'GET', `${path}/b`)
  await send(served, 'GET', `${path}?labelSelector=none`)
  t.equal(converter.calls.length, 1)
})

t.test('a watch shows changes in the version that it asks for', async t => {
  const [served, converter] = await started(t)
  await define(served, converter, 'things')
  await create(served, 'things', 'a')
  const client = new AbortController()
  const url = `http://127.0.0.1:${served.service.port}/apis/test.local/v2/things?watch=true`
  const response = await fetch(url, { signal: client.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const upTo = async (events: number): Promise<void> => {
    while (text.split('\n').length <= events) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) return
      text += piece.value
    }
  }
  await upTo(1)
  await create(served, 'things', 'b')
  await upTo(2)
  await send(served, 'DELETE', '/apis/test.local/v1/things/a')
  await upTo(3)
  const events = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { type: string; object: { apiVersion: string; spec: object } })
  t.match(events, [
    { type: 'ADDED', object: { metadata: { name: 'a' } } },
    { type: 'ADDED', object: { metadata: { name: 'b' } } },
    { type: 'DELETED', object: { metadata: { name: 'a' } } },
  ])
  for (const { object } of events) {
    t.match(object, { apiVersion: 'test.local/v2', spec: { by: 'webhook' } })
  }
  client.abort()
})

t.test('a live view waits for objects that are to be converted', async t => {
  const [served, converter] = await started(t)
  await define(served, converter, 'things')
  await create(served, 'things', 'b')
  const path = '/views/apis/test.local/v2/things?watch=1&sort=-by&columns=name,by:.spec.by'
  const live = await openLive(t, served.service.port, path)
  t.match(await live.next(), { type: 'PAGE', rows: [{ name: 'b', cells: ['b', 'webhook'] }] })
  await create(served, 'things', 'a')
  t.match(await live.next(), { type: 'CHANGE', rows: [{ row: { cells: ['a', 'webhook'] } }] })
  await send(served, 'DELETE', '/apis/test.local/v1/things/b')
  const gone = await live.until(({ left }) => (left as string[]).length > 0)
  t.match(gone, { type: 'CHANGE', total: 1 })
  t.strictSame(converter.calls, [['b'], ['a']])
})

t.test('a live view whose webhook fails ends, and says why', async t => {
  const [served, converter] = await started(t)
  await define(served, converter, 'larges', '/grow')
  const path = '/views/apis/test.local/v2/larges?watch=1&columns=name,by:.spec.by'
  const live = await openLive(t, served.service.port, path)
  t.match(await live.next(), { type: 'PAGE', rows: [] })
  await create(served, 'larges', 'a')
  t.match(await live.next(), {
    type: 'ERROR',
    object: { code: 503, message: /^the live view of "larges.test.local" ends: an object has to/ },
  })
})

t.test('a webhook that hangs or gives too much hurts its own readers only', async t => {
  const [served, converter] = await started(t)
  await define(served, converter, 'slows', '/hang')
  await define(served, converter, 'larges', '/grow')
  await define(served, converter, 'things')
  for (const plural of ['slows', 'larges', 'things']) await create(served, plural, 'a')
  const client = new AbortController()
  const held = fetch(`http://127.0.0.1:${served.service.port}/apis/test.local/v2/slows`, {
    signal: client.signal,
  })
  while (converter.calls.length === 0) await moment()
  t.equal((await send(served, 'GET', '/apis/test.local/v2/things/a')).status, 200)
  t.equal((await send(served, 'GET', '/apis/test.local/v1/slows/a')).status, 200)
  const large = await send(served, 'GET', '/apis/test.local/v2/larges')
  t.equal(large.status, 500)
  t.match(
    large.body.toString(),
    /conversion webhook for test.local\/v1, Kind=LARGES failed: .*the answer is larger than/,
  )
  client.abort()
  await t.rejects(held)
})
