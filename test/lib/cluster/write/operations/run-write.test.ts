import t from 'tap'
import { inSlices } from '../../../../../lib/base/slice.ts'
import type { JsonObject, JsonValue } from '../../../../../lib/codec/json/tree.ts'
import { schemaOf } from '../../../../../lib/codec/schema/schema.ts'
import { builtInResources } from '../../../../../lib/kube/resources/built-ins.ts'
import { updateManagedFields } from '../../../../../lib/cluster/write/ownership/managed-fields.ts'
import { writeKindOf } from '../../../../../lib/cluster/write/write-kinds.ts'
import { SlowClock } from '../../../../support/fake-clock.ts'
import { keyFromText } from '../../../../../lib/base/keys.ts'
import { protobufFromJson } from '../../../../../lib/codec/transcode/transcode.ts'
import { parseTarget } from '../../../../../lib/kube/request/request.ts'
import { runWrite } from '../../../../../lib/cluster/write/operations/run-write.ts'
import { MemoryStore, writesOver } from '../../../../support/kube/writes/memory-store.ts'

t.test('writes whose steps take long give way between them', async t => {
  let nowMs = 0
  let yields = 0
  const work = {
    // Whoever looks at the clock has worked for longer than a slice.
    monotonicMs: () => (nowMs += 10),
    yield: async () => {
      yields++
    },
  }
  const store = new MemoryStore()
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns' } }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(namespace)))
  store.put(keyFromText('/registry/namespaces/ns'), stored as Uint8Array)
  const open = writesOver(store, { next: () => 0.5 }, work)
  const { query } = parseTarget('/api/v1/namespaces/ns/configmaps')!
  const write = async (verb: string, contentType: string, body: object): Promise<number> => {
    yields = 0
    const name = verb === 'create' ? '' : 'a'
    const session = open({ group: '', version: 'v1', resource: 'configmaps', name })
    const readBody = async (): Promise<Buffer> => Buffer.from(JSON.stringify(body))
    await runWrite(session, { verb: verb as 'create', query, contentType, readBody })
    return yields
  }
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: 'b' } }
  t.ok((await write('create', 'application/json', map)) >= 6)
  t.ok((await write('update', 'application/json', { ...map, data: { a: 'c' } })) >= 6)
  const patch = { data: { b: 'd' } }
  t.ok((await write('patch', 'application/merge-patch+json', patch)) >= 6)
  t.ok((await write('patch', 'application/strategic-merge-patch+json', { data: null })) >= 6)
})

t.test('the owners of the fields of a large object are found in steps', async t => {
  const schema = schemaOf()
  const configMaps = builtInResources(schema).find(({ resource }) => resource === 'configmaps')!
  const kind = writeKindOf(configMaps, schema)
  const context = { kind, manager: 'm', subresource: '', now: '', convert: () => undefined }
  const turns = async (members: number): Promise<number> => {
    const clock = new SlowClock()
    const data = new Map(Array.from({ length: members }, (_, i) => [`k${i}`, 'v']))
    const object: JsonObject = new Map<string, JsonValue>([['data', data]])
    await inSlices(updateManagedFields(context, undefined, object), clock)
    return clock.yields
  }
  const few = await turns(1)
  const many = await turns(6400)
  t.ok(many - few >= 90, `${many} turns for others, ${few} if it is small`)
})
