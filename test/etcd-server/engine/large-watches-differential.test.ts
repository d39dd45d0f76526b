/** A large transaction, as watchers of a real etcd and of both etcd servers are told of it: the
 *  responses of each watcher are compared in their order, with their fragments, headers and
 *  previous values. A server may pack the revisions of a watcher that is behind as it likes: of
 *  such a watcher the events are compared. */

import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import { type Message, type RawEtcd, withoutIds } from '../../support/etcd/raw-etcd.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { startPair, startReplicaPair } from './differential.ts'

const count = 1250
const valueBytes = 2500

function bytes(text: string): string {
  return Buffer.from(text).toString('base64')
}

function keyOf(i: number): string {
  return bytes(`/k/${String(i).padStart(5, '0')}`)
}

const all = { key: bytes('/k/'), rangeEnd: bytes('/k0') }
const watchers: readonly Message[] = [
  all,
  { ...all, prevKv: true },
  { ...all, fragment: true },
  { ...all, fragment: true, prevKv: true },
  { ...all, filters: ['NODELETE'] },
  { ...all, filters: ['NOPUT'], prevKv: true, fragment: true },
  { key: keyOf(100), rangeEnd: keyOf(900), prevKv: true, fragment: true },
  { key: keyOf(7), prevKv: true },
  { key: bytes('/other'), rangeEnd: bytes('/othes') },
]

const idOf = (i: number): string => String(i + 1)

/** The responses to the watchers of one stream, by their ids. */
class Told {
  readonly responses = new Map<string, Message[]>()
  readonly #stream: ReturnType<RawEtcd['stream']>
  #wake: () => void = () => {}

  constructor(server: RawEtcd) {
    this.#stream = server.stream('Watch', 'Watch')
    this.#stream.on('data', (message: Message) => {
      const id = (message['watchId'] as string | undefined) ?? '0'
      const told = this.responses.get(id) ?? []
      told.push(withoutIds(message))
      this.responses.set(id, told)
      this.#wake()
    })
    this.#stream.on('error', () => {})
  }

  async watch(fields: Message, id: string): Promise<void> {
    this.#stream.write({ createRequest: { ...fields, watchId: id } })
    await this.until(() => this.responses.has(id))
  }

  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) await new Promise<void>(resolve => (this.#wake = resolve))
  }

  close(): void {
    this.#stream.cancel()
  }
}

async function call(server: RawEtcd, method: string, request: Message): Promise<void> {
  const answer = await server.call('KV', method, request)
  assert.ok('response' in answer, JSON.stringify(answer))
}

async function fill(server: RawEtcd): Promise<void> {
  for (let from = 0; from < count; from += 125) {
    const success = Array.from({ length: 125 }, (_, i) => ({
      requestPut: { key: keyOf(from + i), value: Buffer.alloc(valueBytes, 120).toString('base64') },
    }))
    await call(server, 'Txn', { success })
  }
}

/** Deletes in an order that is not that of the keys, and puts. */
const change: Message = {
  success: [
    { requestDeleteRange: { key: keyOf(600), rangeEnd: bytes('/k0') } },
    { requestPut: { key: bytes('/k/'), value: bytes('new') } },
    { requestDeleteRange: { key: bytes('/k/0'), rangeEnd: keyOf(600) } },
    { requestPut: { key: bytes('/other'), value: bytes('end') } },
  ],
}

/** The events of a watcher after a revision, without what says how they were packed. */
function eventsAfter(told: readonly Message[], revision: number): readonly Message[] {
  return told
    .flatMap(({ events = [] }) => events as Message[])
    .filter(({ kv }) => Number((kv as Message)['modRevision']) >= revision)
}

async function run(server: RawEtcd): Promise<{ live: Message[][]; replayed: Message[][] }> {
  const lastId = String(watchers.length)
  const live = new Told(server)
  await fill(server)
  for (const [i, fields] of watchers.entries()) await live.watch(fields, idOf(i))
  await call(server, 'Txn', change)
  const changed = 2 + count / 125
  await call(server, 'Put', { key: bytes('/other'), value: bytes('later') })
  await live.until(() => (live.responses.get(lastId)?.length ?? 0) === 3)
  // A stream's responses are in order, but two watchers' are not ordered between each other.
  await live.until(() =>
    watchers.every((_, i) => {
      const responses = live.responses.get(idOf(i)) ?? []
      return responses.at(-1)?.['fragment'] !== true && responses.length > 1
    }),
  )
  const behind = new Told(server)
  for (const [i, fields] of watchers.entries()) {
    await behind.watch({ ...fields, startRevision: changed }, idOf(i))
  }
  const after = (told: Told, i: number) => eventsAfter(told.responses.get(idOf(i)) ?? [], changed)
  await behind.until(() =>
    watchers.every((_, i) => after(behind, i).length === after(live, i).length),
  )
  const result = {
    live: watchers.map((_, i) => live.responses.get(idOf(i)) ?? []),
    replayed: watchers.map((_, i) => [...after(behind, i)]),
  }
  live.close()
  behind.close()
  return result
}

async function compare(
  t: Test,
  { real, ours }: { readonly real: RawEtcd; readonly ours: RawEtcd },
): Promise<void> {
  const theirs = await run(real)
  const told = await run(ours)
  for (const [i, responses] of theirs.live.entries()) {
    const shapes = (list: readonly Message[]) =>
      list.map(({ events, header, fragment }) => [
        (header as Message)['revision'],
        (events as Message[] | undefined)?.length,
        fragment,
      ])
    t.strictSame(shapes(told.live[i]!), shapes(responses), `responses of watcher ${i}`)
    t.doesNotThrow(() => assert.deepEqual(told.live[i], responses), `watcher ${i}`)
    t.doesNotThrow(
      () => assert.deepEqual(told.replayed[i], theirs.replayed[i]),
      `watcher ${i}, behind`,
    )
  }
  t.ok(theirs.live[3]!.length > 2, 'there are fragments')
}

const etcd = await findEtcd('3.5')

t.test(
  'the embedded etcd tells watchers of a large transaction as etcd does',
  { skip: etcd.skip },
  async t => compare(t, await startPair(t, etcd)),
)

t.test(
  'a replica tells watchers of a large transaction as etcd does',
  { skip: etcd.skip },
  async t => compare(t, await startReplicaPair(t, etcd)),
)

t.test('a replica passes on large responses of etcd', { skip: etcd.skip }, async t => {
  const pair = await startReplicaPair(t, etcd, { prefixes: ['/mirrored/'] })
  await compare(t, pair)
})
