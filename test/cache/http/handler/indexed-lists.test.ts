/** Lists of many clients that select while the index for them is being built. */

import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { storedBytes } from '../../../../lib/simulator/generate/stored.ts'
import { ask, caughtUp, startServed } from '../../../support/http/served.ts'

/** More than a list looks at without an index. */
const objects = 12_000
const apps = 60

function put(number: number, app: number) {
  const name = `config-${String(number).padStart(5, '0')}`
  const metadata = { name, namespace: 'team', labels: { app: `${app}` } }
  return {
    type: 'put' as const,
    key: keyFromText(`/registry/configmaps/team/${name}`),
    value: storedBytes({ kind: 'ConfigMap', apiVersion: 'v1', metadata }),
  }
}

interface List {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

t.test('lists that wait for an index hold every write from before they began', async t => {
  const served = await startServed(t)
  const { client, service } = served
  let revision = 0
  for (let first = 0; first < objects; first += 120) {
    const success = Array.from({ length: 120 }, (_, i) => put(first + i, (first + i) % apps))
    const { header } = await client.txn({ compares: [], success, failure: [] })
    revision = header.revision
  }
  await caughtUp(served, revision)
  const list = async (app: number, query = ''): Promise<List> => {
    const path = `/api/v1/configmaps?labelSelector=app%3D${app}${query}`
    const { status, body } = await ask(service.port, { path })
    t.equal(status, 200)
    return JSON.parse(body.toString()) as List
  }
  const others = Array.from({ length: 8 }, (_, i) => list(i, '&resourceVersion=0'))
  const exact = list(9, `&resourceVersion=${revision}&resourceVersionMatch=Exact`)
  for (let i = 0; i < 5; i++) {
    const success = [put(objects + i, i)]
    const { header } = await client.txn({ compares: [], success, failure: [] })
    const { metadata, items } = await list(i)
    t.ok(Number(metadata.resourceVersion) >= header.revision)
    t.equal(items.length, objects / apps + 1)
    t.equal(items.at(-1)?.metadata.name, `config-${objects + i}`)
  }
  for (const { items } of await Promise.all(others)) t.ok(items.length >= objects / apps)
  const { metadata, items } = await exact
  t.equal(metadata.resourceVersion, String(revision), 'who names a revision gets it')
  t.equal(items.length, objects / apps)
})
