import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { runWrite } from '../../../lib/writes/operations/run-write.ts'
import { MemoryStore, writesOver } from '../../support/kube/writes/memory-store.ts'

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
