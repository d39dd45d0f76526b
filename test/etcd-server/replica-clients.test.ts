/** Real clients behind a replica: ours over TLS to etcd, the npm package etcd3 as it is, and API
 *  servers that start. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Etcd3, type IKeyValue } from 'etcd3'
import t from 'tap'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { clientContract } from '../contract/client.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { type Sides, startSides, startTestReplica } from '../support/etcd/test-replica.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { base64 } from './engine/operations.ts'

const etcd = await findEtcd('3.5')
const { skip } = etcd

const certificate = (name: string): string =>
  fileURLToPath(new URL(`../../../test/support/certs/${name}`, import.meta.url))
const pem = (name: string): Buffer => readFileSync(certificate(name))

t.test('our client keeps the contract, over TLS with a certificate to etcd', { skip }, async t => {
  const [ca, cert, key] = ['ca.pem', 'server.pem', 'server.key'].map(certificate) as [
    string,
    string,
    string,
  ]
  const { endpoints } = await startEtcd(t, etcd, { tls: { ca, cert, key, clientAuth: true } })
  const etcdTls = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }
  const replica = await startTestReplica(t, endpoints, { etcdTls })
  await replica.ready()
  clientContract(t, () => new GrpcClient({ endpoints: [replica.address] }))
  t.test('out of the mirror', async t => {
    t.ok(replica.count('Range', 'mirror') > 10, 'ranges')
    t.ok(replica.count('Watch', 'mirror') > 10, 'watches')
  })
})

t.test('the helpers of etcd3 work as they are', { skip }, async t => {
  const sides = await startSides(t, etcd)
  const clients = [0, 1].map(() => new Etcd3({ hosts: `http://${sides.replica.address}` }))
  t.teardown(() => clients.forEach(client => client.close()))
  const [one, other] = clients as [Etcd3, Etcd3]

  await t.test('watches and reads', async t => {
    const watcher = await one.watch().prefix('k/').withPreviousKV().create()
    const seen: string[] = []
    const note = (what: string, { key, value }: IKeyValue, previous?: IKeyValue): void => {
      seen.push([what, key, value, 'was', previous?.value ?? 'not there'].map(String).join(' '))
    }
    watcher.on('put', (entry, previous) => note('put', entry, previous))
    watcher.on('delete', (entry, previous) => note('delete', entry, previous))
    const deleted = new Promise(resolve => watcher.once('delete', resolve))
    await other.put('k/a').value('1')
    t.equal(await one.get('k/a'), '1', 'a client reads what another one has written')
    await other.put('k/a').value('2')
    t.strictSame(await one.getAll().prefix('k/').strings(), { 'k/a': '2' })
    await other.delete().key('k/a')
    t.equal(await one.get('k/a'), null)
    await deleted
    t.strictSame(seen, ['put k/a 1 was not there', 'put k/a 2 was 1', 'delete k/a  was 2'])
    await watcher.cancel()
  })

  await t.test('a lease is kept alive, and takes its keys with it', async t => {
    const lease = one.lease(60)
    await lease.put('leased').value('x')
    const watcher = await other.watch().key('leased').create()
    const deleted = new Promise(resolve => watcher.once('delete', resolve))
    await lease.keepaliveOnce()
    t.equal(await other.get('leased'), 'x')
    await lease.revoke()
    await deleted
    t.equal(await other.get('leased'), null)
    await watcher.cancel()
  })

  await t.test('a lock is held by one', async t => {
    let holders = 0
    const hold = async (): Promise<void> => {
      t.equal(++holders, 1)
      await new Promise(resolve => setTimeout(resolve, 20))
      holders--
    }
    await one.lock('replica').do(async () => {
      await t.rejects(other.lock('replica').acquire(), { message: /lock/i })
      await hold()
    })
    await other.lock('replica').do(hold)
  })

  await t.test('an election has one winner, and another one when that resigns', async t => {
    const [first, second] = [one.election('chief', 5), other.election('chief', 5)]
    const winner = await first.campaign('one').wait()
    t.equal(await second.leader(), 'one')
    const waiting = second.campaign('other')
    const elected = waiting.wait()
    const observer = await first.observe()
    const changed = new Promise<void>(resolve => {
      observer.on('change', value => value === 'other' && resolve())
    })
    await winner.resign()
    await elected
    await changed
    t.equal(await first.leader(), 'other')
    await observer.cancel()
    await waiting.resign()
  })

  t.ok(sides.replica.count('Range', 'mirror') > 5, 'ranges come from the mirror')
})

t.test(
  'eight API servers start while others write: each ends with what etcd has',
  { skip },
  async t => {
    const { resources } = schemaOf()
    const builtIn = resources.flatMap(({ storage }) => (storage ? [storage.prefix] : []))
    const custom = ['gadgets', 'gizmos', 'widgets'].map(name => `/registry/example.com/${name}`)
    const prefixes = [...new Set([...builtIn, ...custom])]
    t.ok(prefixes.length >= 70, `${prefixes.length} resources`)
    const sides = await startSides(t, etcd)
    const changes = [...prefixes, ...prefixes].map((prefix, i) => `${prefix}/n/${i % 100}`)
    for (const [i, key] of changes.entries()) await write(sides, key, i)
    const servers = Array.from({ length: 8 }, () => new StartingServer(sides.replica.address))
    t.teardown(() => servers.forEach(server => server.close()))
    const started = Promise.all(servers.map(server => server.start(prefixes)))
    let revision = 0
    for (const [i, key] of changes.entries()) revision = await write(sides, key, i + 1)
    await started
    const wanted = await contentsOf(sides.direct, '/registry')
    for (const server of servers) {
      await server.seen(revision)
      t.strictSame(server.contents(), wanted)
      server.close()
    }
    t.equal(sides.replica.count('Range', 'etcd') + sides.replica.count('Watch', 'etcd'), 0)
    const asked = servers.reduce((sum, server) => sum + server.asked, 0)
    t.equal(sides.replica.count('Range', 'mirror'), asked)
  },
)

/** Changes a key, or deletes it; the revision. */
async function write({ direct }: Sides, key: string, i: number): Promise<number> {
  const answer =
    i % 7 === 0
      ? await direct.call('KV', 'DeleteRange', { key: base64(key) })
      : await direct.call('KV', 'Put', { key: base64(key), value: base64(`${i}`) })
  if (!('response' in answer)) throw new Error(answer.details)
  return Number((answer.response['header'] as Message)['revision'])
}

/** An API server that starts: it lists each resource and watches it from there, all on one
 *  connection and one stream. */
class StartingServer {
  readonly #client: RawEtcd
  readonly #log: WatchLog
  readonly #listed = new Map<string, number>()
  /** Ranges asked for, those among them that were refused and asked for again. */
  asked = 0
  #revision = 0

  constructor(address: string) {
    this.#client = new RawEtcd(address)
    this.#log = new WatchLog(this.#client, { hasleader: 'true' })
  }

  async start(prefixes: readonly string[]): Promise<void> {
    await Promise.all(prefixes.map(prefix => this.#startOne(prefix)))
  }

  async #startOne(prefix: string): Promise<void> {
    const span = { key: base64(`${prefix}/`), rangeEnd: base64(`${prefix}0`) }
    const read = (): ReturnType<RawEtcd['call']> => {
      this.asked++
      return this.#client.call('KV', 'Range', { ...span, limit: '10000' })
    }
    let answer = await read()
    // The replica of a busy machine takes so many at once, and says so.
    while (!('response' in answer) && /too many requests/.test(answer.details)) {
      answer = await read()
    }
    if (!('response' in answer)) throw new Error(answer.details)
    const { header, kvs = [] } = answer.response as unknown as Listed
    for (const { key, modRevision } of kvs) this.#listed.set(textOf(key), Number(modRevision))
    const startRevision = String(Number(header.revision) + 1)
    const request = { ...span, startRevision, prevKv: true, progressNotify: true }
    this.#log.send({ createRequest: request })
  }

  /** Resolves when all changes up to a revision have come. */
  async seen(revision: number): Promise<void> {
    this.#revision = revision
    this.#log.send({ progressRequest: {} })
    await this.#log.until(() => this.#log.progress >= revision)
  }

  /** The contents that it has been told: the revision of each key. Each watcher must have been told
   *  in order. */
  contents(): Record<string, number> {
    const last = new Map<string, number>()
    const contents = new Map(this.#listed)
    for (const { watch, type, key, revision } of this.#log.events) {
      if (revision > this.#revision) continue
      if (revision <= (last.get(watch) ?? 0)) throw new Error(`${key} at ${revision} came late`)
      last.set(watch, revision)
      if (type === 'put') contents.set(key, revision)
      else if (!contents.delete(key)) throw new Error(`${key} was deleted, and not there`)
    }
    return sorted(contents)
  }

  close(): void {
    this.#log.close()
    this.#client.close()
  }
}

interface Listed {
  readonly header: { readonly revision: string }
  readonly kvs?: readonly { readonly key: string; readonly modRevision: string }[]
}

async function contentsOf(server: RawEtcd, prefix: string): Promise<Record<string, number>> {
  const span = { key: base64(`${prefix}/`), rangeEnd: base64(`${prefix}0`) }
  const answer = await server.call('KV', 'Range', span)
  if (!('response' in answer)) throw new Error(answer.details)
  const { kvs = [] } = answer.response as unknown as Listed
  return sorted(new Map(kvs.map(({ key, modRevision }) => [textOf(key), Number(modRevision)])))
}

function textOf(key: string): string {
  return Buffer.from(key, 'base64').toString('latin1')
}

function sorted(contents: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...contents].sort(([a], [b]) => (a < b ? -1 : 1)))
}
