/** Conversion webhooks that mean harm. Whoever may write definitions may name one: what it answers
 *  is a Status for who wanted its objects in another version, or objects of that version that are
 *  still the same ones. It ends no process, and holds up nobody else. */

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { allKeys } from '../../lib/base/keys.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { createAuthority } from '../../lib/simulator/authority/authority.ts'
import { ask, caughtUp, type HttpAnswer, type Served, startServed } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'

interface StoredObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Record<string, unknown>
  readonly spec: object
}

interface Asked {
  readonly uid: string
  readonly to: string
  readonly objects: readonly StoredObject[]
  /** The objects as a webhook of good will converts them. */
  readonly good: readonly StoredObject[]
}

type Answer = (response: ServerResponse, asked: Asked) => void

class Webhook {
  answer: Answer = () => {}
  /** Calls that have not been given up. */
  open = 0
  port = 0
  ca = ''

  async start(t: Test): Promise<void> {
    const authority = createAuthority(systemClock.wallMs())
    const server = createServer(authority.issue(['127.0.0.1']), (request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('error', () => {})
      response.on('error', () => {})
      this.open++
      response.on('close', () => this.open--)
      request.on('end', () => {
        const { request: review } = JSON.parse(Buffer.concat(pieces).toString()) as {
          request: { uid: string; desiredAPIVersion: string; objects: StoredObject[] }
        }
        const { uid, desiredAPIVersion: to, objects } = review
        const good = objects.map(object => ({ ...object, apiVersion: to }))
        this.answer(response, { uid, to, objects, good })
      })
    })
    server.on('tlsClientError', () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    this.port = (server.address() as AddressInfo).port
    this.ca = Buffer.from(authority.cert).toString('base64')
  }
}

const group = 'test.local'
const anything = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
}

class World {
  readonly served: Served
  readonly webhook: Webhook

  constructor(served: Served, webhook: Webhook) {
    this.served = served
    this.webhook = webhook
  }

  static async start(t: Test): Promise<World> {
    const webhook = new Webhook()
    await webhook.start(t)
    const webhooks = { services: new Map<string, URL>(), hosts: undefined }
    const served = await startServed(t, { isWritable: true, webhooks })
    return new World(served, webhook)
  }

  async send(method: string, path: string, body?: object, accept?: string): Promise<HttpAnswer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const answer = await ask(this.served.service.port, {
      method,
      path,
      headers: { 'Content-Type': type, ...(accept === undefined ? {} : { Accept: accept }) },
      body: body && JSON.stringify(body),
    })
    if (method !== 'GET') {
      const { header } = await this.served.client.range({ range: allKeys, countOnly: true })
      await caughtUp(this.served, header.revision)
    }
    return answer
  }

  /** Defines things whose v2 the webhook makes, and one object of v1. */
  async define(plural: string, { port, ca }: Webhook = this.webhook): Promise<void> {
    const kind = kindOf(plural)
    const conversion = {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `https://127.0.0.1:${port}/${plural}`, caBundle: ca },
      },
    }
    const spec = {
      group,
      scope: 'Cluster',
      names: { plural, kind },
      versions: [
        { name: 'v1', served: true, storage: true, schema: anything },
        { name: 'v2', served: true, storage: false, schema: anything },
      ],
      conversion,
    }
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await this.send('POST', path, { metadata: { name: `${plural}.${group}` }, spec })
    await this.create(plural, 'a')
  }

  create(plural: string, name: string): Promise<HttpAnswer> {
    const metadata = { name, labels: { own: 'yes' } }
    const object = { apiVersion: `${group}/v1`, kind: kindOf(plural), metadata, spec: { a: 1 } }
    return this.send('POST', at('v1', plural), object)
  }
}

function kindOf(plural: string): string {
  return plural.toUpperCase()
}

function at(version: string, plural: string): string {
  return `/apis/${group}/${version}/${plural}`
}

/** An answer of these objects. */
const objects =
  (make: (asked: Asked) => unknown): Answer =>
  (response, asked) =>
    response.end(review({ uid: asked.uid, convertedObjects: make(asked), result: success }))

const success = { status: 'Success' }

function review(response: unknown): string {
  const apiVersion = 'apiextensions.k8s.io/v1'
  return JSON.stringify({ apiVersion, kind: 'ConversionReview', response })
}

/** The good answer with a text in place of the first object's spec. */
const withSpec =
  (spec: string): Answer =>
  (response, asked) => {
    const text = review({ uid: asked.uid, convertedObjects: asked.good, result: success })
    response.end(text.replace('{"a":1}', () => spec))
  }

/** All objects with another spec. */
const withSpecs = (spec: unknown): Answer =>
  objects(({ good }) => good.map(one => ({ ...one, spec })))

const metadata = (changed: object): Answer =>
  objects(({ good }) => good.map(one => ({ ...one, metadata: { ...one.metadata, ...changed } })))

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const many = (count: number): string => `{"a":[${'1,'.repeat(count)}1]}`
const entries = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

/** Answers that bring no object: all who wanted one get a Status. */
const refused: Record<string, Answer> = {
  nothing: response => response.end(),
  'no JSON': response => response.end('<html>'),
  'half of it': (response, { good, uid }) =>
    response.end(review({ uid, convertedObjects: good, result: success }).slice(0, -20)),
  null: response => response.end('null'),
  'a list': response => response.end('[]'),
  'a redirect': response => response.writeHead(302, { location: '/other' }).end(),
  'no content': response => response.writeHead(204).end(),
  compressed: (response, { good, uid }) =>
    response
      .writeHead(200, { 'content-encoding': 'gzip' })
      .end(gzipSync(review({ uid, convertedObjects: good, result: success }))),
  'a cut connection': response => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{', () => response.destroy())
  },
  'no response': response => response.end(review(null)),
  'another kind': response => response.end('{"apiVersion":"v1","kind":"Pod","response":{}}'),
  'another uid': (response, { good }) =>
    response.end(review({ uid: 'other', convertedObjects: good, result: success })),
  'a uid that is a number': (response, { good }) =>
    response.end(review({ uid: 1, convertedObjects: good, result: success })),
  'no result': (response, { uid, good }) => response.end(review({ uid, convertedObjects: good })),
  'a result that is a text': (response, { uid, good }) =>
    response.end(review({ uid, convertedObjects: good, result: 'Success' })),
  'a failure': (response, { uid }) =>
    response.end(review({ uid, result: { status: 'Failure', message: 'x\ny' } })),
  'no objects': objects(() => []),
  'objects that are null': objects(() => null),
  'objects that are an object': objects(({ good }) => good[0]),
  'one too many': objects(({ good }) => [...good, good[0]]),
  'a thousand too many': objects(({ good }) => Array.from({ length: 1_000 }, () => good[0])),
  'an object that is null': objects(({ good }) => good.map(() => null)),
  'an object that is a list': objects(({ good }) => good.map(() => [])),
  'an empty object': objects(({ good }) => good.map(() => ({}))),
  'the version that it had': objects(asked => asked.objects),
  'a version that is a list': objects(({ good }) => good.map(o => ({ ...o, apiVersion: ['v2'] }))),
  'another group': objects(({ good }) => good.map(o => ({ ...o, apiVersion: 'other.local/v2' }))),
  'another kind of object': objects(({ good }) => good.map(o => ({ ...o, kind: 'Secret' }))),
  'no metadata': objects(({ good }) => good.map(o => ({ ...o, metadata: undefined }))),
  'metadata that is a list': objects(({ good }) => good.map(o => ({ ...o, metadata: [] }))),
  'another name': metadata({ name: 'b' }),
  'a name that is a list': metadata({ name: ['a'] }),
  'another uid of the object': metadata({ uid: 'b' }),
  'a namespace': metadata({ namespace: 'kube-system' }),
  'labels that are a text': metadata({ labels: 'x' }),
  'labels that are numbers': metadata({ labels: { a: 1 } }),
  'labels that are none': metadata({ labels: { '': 'x', 'a b': 'c d' } }),
  'ten thousand wrong labels': metadata({
    labels: Object.fromEntries(Object.keys(entries(5_000)).map(k => [`${k} `, ' '])),
  }),
  'annotations that are too long': metadata({ annotations: { a: 'x'.repeat(64 * 1024 * 5) } }),
  'a spec of fifty thousand levels': withSpec(deep(50_000)),
  'lists of fifty thousand levels': withSpec('['.repeat(50_000) + ']'.repeat(50_000)),
  'a number that is none': withSpec('{"a":1e}'),
  'more than a body may have': withSpec(`{"a":"${'x'.repeat(1_000_000)}"}`),
  'a number that Go cannot take': withSpec('{"a":1e999}'),
}

/** Answers with an object. Only its labels and annotations may differ from the stored metadata. */
const taken: Record<string, Answer> = {
  'as it should be': objects(({ good }) => good),
  'metadata that it may not change': metadata({
    resourceVersion: '1',
    generation: 77,
    creationTimestamp: '1970-01-01T00:00:00Z',
    deletionTimestamp: '1970-01-01T00:00:00Z',
    finalizers: ['x'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }],
    managedFields: 'x',
    selfLink: '/x',
    __proto: 1,
  }),
  'a hundred levels': withSpec(deep(100)),
  'members of an object’s prototype': withSpec(
    '{"__proto__":{"a":1},"constructor":1,"toString":null}',
  ),
  'a member twice': withSpec('{"a":1,"a":2}'),
  'a great number': withSpec('{"a":123456789012345678901234567890}'),
  'halves of a character': withSpec(String.raw`{"a":"\ud800","b":"\u0000"}`),
  'a spec that the schema has not': withSpec('"text"'),
  'a spec that is a list': withSpec('[[[]]]'),
  'twenty thousand values': withSpec(many(20_000)),
}

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const partial = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** All ways to want an object in its other version. */
async function allWays(
  world: World,
  plural: string,
  name: string,
): Promise<Record<string, HttpAnswer>> {
  const path = at('v2', plural)
  const object = {
    apiVersion: `${group}/v2`,
    kind: kindOf(plural),
    metadata: { name: `${name}2` },
    spec: { a: 1 },
  }
  return {
    get: await world.send('GET', `${path}/${name}`),
    table: await world.send('GET', path, undefined, table),
    selected: await world.send('GET', `${path}?labelSelector=own%3Dyes`, undefined, partial),
    patch: await world.send('PATCH', `${path}/${name}`, { metadata: { annotations: { a: 'b' } } }),
    create: await world.send('POST', path, object),
  }
}

/** The world goes on: others are answered, and the stored object is what it was. */
async function isWell(t: Test, world: World, plural: string, name = 'a'): Promise<void> {
  t.equal((await world.send('GET', '/livez')).status, 200)
  const stored = await world.send('GET', `${at('v1', plural)}/${name}`)
  t.match(JSON.parse(stored.body.toString()), {
    apiVersion: `${group}/v1`,
    kind: kindOf(plural),
    metadata: { name, labels: { own: 'yes' } },
  })
}

const world = await World.start(t)

for (const [i, [what, answer]] of Object.entries(refused).entries()) {
  t.test(`${what}: a Status for who wanted the object`, async t => {
    const { webhook } = world
    const plural = `refused${i}`
    await world.define(plural)
    webhook.answer = answer
    const ways = await allWays(world, plural, 'a')
    for (const [way, { status, body }] of Object.entries(ways)) {
      const text = body.toString()
      t.equal(status, 500, `${what}: ${way} ${text.slice(0, 300)}`)
      const { kind, message } = JSON.parse(text) as { kind: string; message: string }
      t.equal(kind, 'Status')
      t.match(message, /onversion webhook for test\.local\/v[12]/, `${what}: ${way}`)
      t.ok(body.length < 64 * 1024, `${what}: ${way}: a Status of ${body.length} bytes`)
    }
    await isWell(t, world, plural)
    while (webhook.open > 0) await moment()
  })
}

t.test('answers with an object change what they may, and no more', async t => {
  const world = await World.start(t)
  const { webhook } = world
  const plural = 'taken'
  await world.define(plural)
  for (const [i, [what, answer]] of Object.entries(taken).entries()) {
    webhook.answer = answer
    const name = `n${i}`
    await world.create(plural, name)
    const stored = JSON.parse(
      (await world.send('GET', `${at('v1', plural)}/${name}`)).body.toString(),
    ) as StoredObject
    const got = await world.send('GET', `${at('v2', plural)}/${name}`)
    t.equal(got.status, 200, `${what}: ${got.body.toString().slice(0, 300)}`)
    const { apiVersion, metadata: own } = JSON.parse(got.body.toString()) as StoredObject
    t.equal(apiVersion, `${group}/v2`)
    const { managedFields: _, ...rest } = own
    const { managedFields: __, ...before } = stored.metadata
    t.same(rest, before, what)
    await allWays(world, plural, name)
    await isWell(t, world, plural, name)
  }
})

t.test('a watch of what cannot be converted ends, or has no event', async t => {
  const world = await World.start(t)
  for (const [i, what] of ['no JSON', 'another name', 'no objects'].entries()) {
    const plural = `watched${i}`
    world.webhook.answer = refused[what] ?? (() => {})
    await world.define(plural)
    const path = `${at('v2', plural)}?watch=1&timeoutSeconds=1&resourceVersion=0`
    const { body } = await world.send('GET', path)
    t.notMatch(body.toString(), /"type":"(ADDED|MODIFIED)"/, what)
    await isWell(t, world, plural)
  }
})

/** Calls of all webhooks that are under way at once. */
const callsAtOnce = 256

t.test('more values than a write may have are refused in the words of a conversion', async t => {
  const world = await World.start(t)
  world.webhook.answer = withSpecs({ a: Array.from({ length: 8_000 }, () => 1) })
  await world.define('many')
  for (let i = 0; i < 29; i++) await world.create('many', `a${i}`)
  const { status, body } = await world.send('GET', at('v2', 'many'))
  t.equal(status, 500)
  t.match(body.toString(), /the answer has more than 200000 names and values/)
  t.equal((await world.send('GET', `${at('v2', 'many')}/a`)).status, 200)
})

for (const [what, answer] of Object.entries({
  'never answers': () => {},
  drips: (response: ServerResponse) => {
    const timer = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(timer))
  },
} satisfies Record<string, Answer>)) {
  t.test(`one that ${what} leaves room for others`, async t => {
    const world = await World.start(t)
    const { webhook } = world
    const others = new Webhook()
    await others.start(t)
    others.answer = objects(({ good }) => good)
    await world.define('held')
    await world.define('well', others)
    for (let i = 0; i < 200; i++) await world.create('held', `h${i}`)
    webhook.answer = answer
    const client = new AbortController()
    const url = `http://127.0.0.1:${world.served.service.port}${at('v2', 'held')}`
    let refusals = 0
    const held = Array.from({ length: callsAtOnce + 20 }, (_, i) =>
      fetch(`${url}/h${i % 200}`, { signal: client.signal }).then(
        () => refusals++,
        () => {},
      ),
    )
    // All that it is asked at once, and the others are refused.
    while (webhook.open + refusals < held.length) await moment()
    const well = await world.send('GET', `${at('v2', 'well')}/a`)
    t.equal(well.status, 200, well.body.toString())
    await isWell(t, world, 'held')
    client.abort()
    await Promise.all(held)
  })
}
