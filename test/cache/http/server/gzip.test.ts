import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { ask, caughtUp, type Served, startServed } from '../../../support/http/served.ts'

function configMap(name: string, text: string): Uint8Array {
  const metadata = {
    name,
    namespace: 'a',
    labels: { last: name.slice(-1) },
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text } }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return stored
}

async function put(served: Served, name: string, text: string): Promise<void> {
  const key = keyFromText(`/registry/configmaps/a/${name}`)
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'put', key, value: configMap(name, text) }],
    failure: [],
  })
  await caughtUp(served, header.revision)
}

const accepts = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
]
const queries = ['', '?limit=170', '?labelSelector=last!%3D3', '?pretty=1']

t.test('a compressed list is the list, whatever was kept of it and has changed since', async t => {
  const served = await startServed(t)
  served.clock.stoppedAtMs = Date.parse('2026-01-01T00:05:00Z')
  for (let i = 0; i < 200; i++) {
    await put(served, `m${String(i).padStart(3, '0')}`, `${i} `.repeat(800))
  }
  const step = fc.record({
    accept: fc.constantFrom(...accepts),
    query: fc.constantFrom(...queries),
    changed: fc.option(fc.nat(199), { nil: undefined }),
    laterMs: fc.nat(3000),
  })
  let zippedCount = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async steps => {
      for (const { accept, query, changed, laterMs } of steps) {
        served.clock.stoppedAtMs! += laterMs
        if (changed !== undefined) {
          await put(served, `m${String(changed).padStart(3, '0')}`, `${laterMs} `.repeat(800))
        }
        const path = `/api/v1/configmaps${query}`
        const get = (headers: Record<string, string>) =>
          ask(served.service.port, { path, headers: { accept, ...headers } })
        const zipped = await get({ 'accept-encoding': 'gzip' })
        const plain = await get({})
        const isZipped = zipped.headers['content-encoding'] === 'gzip'
        assert.equal(isZipped, plain.body.length >= 128 * 1024)
        if (isZipped) zippedCount++
        assert.deepEqual(isZipped ? gunzipSync(zipped.body) : zipped.body, plain.body)
      }
    }),
    { numRuns: 15 },
  )
  t.ok(zippedCount > 5, `${zippedCount} were compressed`)
})
