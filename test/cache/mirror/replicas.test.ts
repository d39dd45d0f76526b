/** Two replicas over one etcd, of which one is behind: what a client sees that is at the one, and
 *  then at the other. */

import assert from 'node:assert/strict'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { Client, WatchRequest, WatchSink } from '../../../lib/etcd/client.ts'
import { ask, caughtUp, startServed } from '../../support/http/served.ts'

const path = '/api/v1/namespaces/default/configmaps'

interface Holdable {
  readonly client: Client
  readonly hold: () => void
  readonly letGo: () => void
}

/** A client to whom nothing is told of a watch while it is held. */
function holdable(client: Client): Holdable {
  const held: (() => void)[] = []
  let isHeld = false
  const soon = (task: () => void): void => (isHeld ? void held.push(task) : task())
  const watch = (request: WatchRequest, sink: WatchSink): ReturnType<Client['watch']> =>
    client.watch(request, {
      created: header => sink.created(header),
      changed: (batches, header) => soon(() => sink.changed(batches, header)),
      progress: header => soon(() => sink.progress(header)),
      ended: failure => sink.ended(failure),
    })
  return {
    client: new Proxy(client, {
      get(target, name) {
        if (name === 'watch') return watch
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    }),
    hold: () => void (isHeld = true),
    letGo() {
      isHeld = false
      for (const task of held.splice(0)) task()
    },
  }
}

interface List {
  readonly metadata: { readonly resourceVersion: string }
}

async function revisionOf(port: number, query: string): Promise<number> {
  const { status, body } = await ask(port, { path: `${path}?${query}` })
  assert.equal(status, 200, body.toString())
  return Number((JSON.parse(body.toString()) as List).metadata.resourceVersion)
}

t.test('only resourceVersion=0 goes back at a replica that is behind', async t => {
  const first = await startServed(t)
  const { client, hold, letGo } = holdable(first.client)
  const second = await startServed(t, { client })
  await Promise.all([caughtUp(first, 1), caughtUp(second, 1)])
  hold()
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  const key = keyFromText('/registry/configmaps/default/a')
  const put = { type: 'put', key, value: Buffer.from(JSON.stringify(object)) } as const
  const { header } = await first.client.txn({ compares: [], success: [put], failure: [] })
  const seen: number = header.revision
  await caughtUp(first, seen)
  const [here, there] = [first.service.port, second.service.port]
  t.equal(await revisionOf(here, 'resourceVersion=0'), seen)
  t.ok((await revisionOf(there, 'resourceVersion=0')) < seen, 'it went back')
  const waiting = [
    revisionOf(there, ''),
    revisionOf(there, `resourceVersion=${seen}`),
    revisionOf(there, `resourceVersion=${seen}&resourceVersionMatch=NotOlderThan`),
  ]
  const others = async (): Promise<boolean> => {
    for (let i = 0; i < 20; i++) await revisionOf(there, 'resourceVersion=0')
    return false
  }
  const isAnswered = Promise.race(waiting).then(() => true)
  t.notOk(await Promise.race([isAnswered, others()]), 'they wait for what was seen')
  letGo()
  t.strictSame(await Promise.all(waiting), [seen, seen, seen])
})
