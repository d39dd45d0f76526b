import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import type { Client } from '../../../../lib/etcd/client.ts'
import {
  startFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../../../support/fleet/started-fleet.ts'
import { ask } from '../../../support/http/served.ts'
import { freePort } from '../../../support/program/ports.ts'

async function put(client: Client, cluster: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const metadata = { name, namespace: 'default', uid: `${cluster}-${name}` }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { k: 'v' } }
    const key = keyFromText(`/${cluster}/configmaps/default/${name}`)
    const value = Buffer.from(JSON.stringify(object))
    await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  }
}

interface FleetAnswer {
  readonly clusters: readonly { readonly name: string; readonly revision: string }[]
  readonly unanswered: readonly {
    readonly name: string
    readonly code: number
    readonly reason: string
    readonly message: string
  }[]
  readonly rows: readonly { readonly cluster: string; readonly name: string }[]
  readonly groups: readonly unknown[]
  readonly total: number
  readonly matched: number
  readonly remaining: number
}

t.test('views over clusters have rows of each, in one order, and say who is missing', async t => {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  await put(client, 'prod-a', ['one', 'three', 'two'])
  await put(client, 'prod-b', ['four', 'one'])
  await put(client, 'test-c', ['five'])
  write(
    folder,
    'clusters.yaml',
    'clusters:\n- name: prod-a\n- name: prod-b\n- name: test-c\n- {name: broken, etcd-cacert: missing.pem, etcd: "https://127.0.0.1:1"}\n',
  )
  const fleet = await startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: ['--etcd', endpoint, '--prefix', '/{cluster}'],
  })
  const view = async (path: string, status = 200): Promise<FleetAnswer> => {
    const { status: code, body } = await ask(fleet.port, { path: `/views/clusters/${path}` })
    t.equal(code, status, `${path}: ${body.toString().slice(0, 300)}`)
    return JSON.parse(body.toString()) as FleetAnswer
  }
  const maps = '/api/v1/configmaps'
  const rows = ({ rows: all }: FleetAnswer): string[] =>
    all.map(({ cluster, name }) => `${cluster}/${name}`)

  const named = await view(`prod-a,prod-b,nobody,broken${maps}?columns=name&sort=-name&pageSize=3`)
  t.strictSame(rows(named), ['prod-a/two', 'prod-a/three', 'prod-a/one'])
  t.match(named, { total: 5, matched: 5, remaining: 2 })
  t.strictSame(
    named.clusters.map(({ name }) => name),
    ['prod-a', 'prod-b'],
  )
  t.ok(
    named.clusters.every(({ revision }) => Number(revision) > 0),
    'each at its own revision',
  )
  t.match(
    named.unanswered.map(({ name, code }) => [name, code]),
    [
      ['broken', 503],
      ['nobody', 404],
    ],
  )
  const second = await view(`prod-a,prod-b${maps}?columns=name&sort=-name&pageSize=3&page=2`)
  t.strictSame(rows(second), ['prod-b/one', 'prod-b/four'])

  const all = await view(`*${maps}`)
  t.strictSame(rows(all), ['prod-b/four', 'prod-a/one', 'prod-b/one', 'prod-a/three', 'prod-a/two'])
  t.match(
    all.unanswered.map(({ name, reason }) => [name, reason]),
    [
      ['broken', 'Idle'],
      ['test-c', 'Idle'],
    ],
    'patterns wake none',
  )
  t.strictSame(rows(await view(`prod-*${maps}?where=name=four`)), ['prod-b/four'])
  const counts = await view(`*,test-c${maps}?countBy=name`)
  t.match(counts, { total: 6, groups: [{ values: ['one'], count: 2 }] })
  t.equal(counts.groups.length, 5)

  const wrong = await view(`prod-a${maps}?where=nothing=1`)
  t.match(wrong.unanswered, [{ name: 'prod-a', code: 400, reason: 'BadRequest' }])
  await view(`prod-a${maps}?watch=sometimes`, 400)
  await view(`prod-a${maps}?after=x`, 400)
  await view(`prod-a${maps}?pageSize=1000&page=2`, 400)
  await view(`prod-a${maps}?columns=name&sort=namespace`, 400)
  await view(`prod-a/version`, 400)
  await view(`PROD${maps}`, 400)
  const names = Array.from({ length: 21 }, (_, i) => `n${i}`).join(',')
  await view(`${names}${maps}`, 400)
})
