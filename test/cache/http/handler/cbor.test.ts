import { decode } from 'cborg'
import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { ask, type HttpAnswer, type Served, startServed } from '../../../support/http/served.ts'
import { asText, decodedCbor } from '../../../support/kube/outputs.ts'
import { toyDefinition, toyDefinitionKey } from '../../../support/toys.ts'

const accept = 'application/cbor'

async function put({ client }: Served, key: string, value: object | Buffer): Promise<void> {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
  const success = [{ type: 'put' as const, key: keyFromText(key), value: bytes }]
  await client.txn({ compares: [], success, failure: [] })
}

async function startFilled(hasCbor: boolean): Promise<Served> {
  const served = await startServed(t, { hasCbor })
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', namespace: 'a', creationTimestamp: '2026-01-02T03:04:05Z' },
    data: { text: 'ü' },
  }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(configMap)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  await put(served, '/registry/configmaps/a/x', Buffer.from(stored))
  await put(served, toyDefinitionKey, toyDefinition(['color', 'size']))
  await put(served, '/registry/example.com/toys/a/car', {
    apiVersion: 'example.com/v1',
    kind: 'Toy',
    metadata: { name: 'car', namespace: 'a' },
    spec: { color: 'red', size: 2 },
  })
  while ((await ask(served.service.port, { path: '/apis/example.com/v1' })).status !== 200);
  return served
}

/** The answer that was sent, as JSON has it: strings are written as bytes. */
function decoded(body: Buffer): unknown {
  t.equal(body.subarray(0, 3).toString('hex'), 'd9d9f7', 'it describes itself')
  return decodedCbor(body)
}

const table = 'as=Table;v=v1;g=meta.k8s.io'
const partial = 'as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
const configMaps = '/api/v1/namespaces/a/configmaps'
const toys = '/apis/example.com/v1/namespaces/a/toys'

t.test('with --cbor, everything is to be had in CBOR and says the same as JSON', async t => {
  const served = await startFilled(true)
  served.clock.stoppedAtMs = Date.UTC(2026, 2, 1)
  const get = (path: string, type: string): Promise<HttpAnswer> =>
    ask(served.service.port, { path, headers: { accept: type } })
  const cases: readonly (readonly [string, string, number])[] = [
    [configMaps, '', 200],
    [`${configMaps}/x`, '', 200],
    [toys, '', 200],
    [`${toys}/car`, '', 200],
    [configMaps, `;${table}`, 200],
    [toys, `;${table}`, 200],
    [configMaps, `;${partial}`, 200],
    [toys, `;${partial}`, 200],
    [`${configMaps}/nothing`, '', 404],
    [`${toys}/nothing`, '', 404],
    [`${configMaps}?limit=x`, '', 400],
  ]
  for (const [path, parameters, status] of cases) {
    const inCbor = await get(path, `${accept}${parameters}`)
    const inJson = await get(path, `application/json${parameters}`)
    t.equal(inCbor.status, status, inCbor.body.toString())
    t.equal(inCbor.headers['content-type'], accept)
    t.strictSame(decoded(inCbor.body), JSON.parse(inJson.body.toString()), `${path} ${parameters}`)
  }
  const discovery = await get('/apis/example.com/v1', accept)
  t.equal(discovery.headers['content-type'], accept)
  t.equal((decoded(discovery.body) as { kind: string }).kind, 'APIResourceList')
})

/** A decoder of whatever describes itself within a sequence. */
const inner = (decodeInner: () => unknown): unknown => decodeInner()

t.test('and watches are sequences of CBOR', async t => {
  const { service } = await startFilled(true)
  const path = `${configMaps}?watch=true&timeoutSeconds=1`
  const answer = await ask(service.port, { path, headers: { accept } })
  t.equal(answer.headers['content-type'], 'application/cbor-seq')
  const event = asText(decode(answer.body, { useMaps: true, tags: { 55799: inner } as never })) as {
    type: string
    object: { metadata: { name: string } }
  }
  t.equal(event.type, 'ADDED')
  t.equal(event.object.metadata.name, 'x')
})

t.test('without it, CBOR is refused in the words of a kube-apiserver', async t => {
  const { service } = await startFilled(false)
  for (const path of [configMaps, toys, `${configMaps}/x`, `${toys}?watch=true`]) {
    const answer = await ask(service.port, { path, headers: { accept } })
    t.equal(answer.status, 406, path)
    t.notMatch(answer.body.toString(), /cbor/)
  }
  const both = await ask(service.port, {
    path: configMaps,
    headers: { accept: `${accept}, application/json` },
  })
  t.equal(both.headers['content-type'], 'application/json')
})
