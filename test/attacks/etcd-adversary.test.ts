/** An etcd that lies, or sends what no etcd would: the service goes on, answers with what it has or
 *  with a plain refusal, and meets no mistake of its own. */

import t, { type Test } from 'tap'
import { type Key, keyFromBytes, keyFromText, singleKey } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import type { GrpcCall } from '../../lib/etcd-server/listen/grpc-call.ts'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { failureFromStatus } from '../../lib/etcd/grpc/failures.ts'
import { statusResponseCodec } from '../../lib/etcd/proto/admin-messages.ts'
import {
  type HeaderMessage,
  rangeCodec,
  type RangeMessage,
  rangeResponseCodec,
  type RangeResponseMessage,
} from '../../lib/etcd/proto/kv-messages.ts'
import {
  watchRequestCodec,
  watchResponseCodec,
  type WatchResponseMessage,
} from '../../lib/etcd/proto/watch-messages.ts'
import { FragmentJoiner } from '../../lib/etcd/wire.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { ask } from '../support/attacks/ask.ts'
import { startServed } from '../support/http/served.ts'
import { silentLogger } from '../support/silent-logger.ts'

const random = createRandom(1)
const header: HeaderMessage = { clusterId: 1n, memberId: 1n, revision: 100, raftTerm: 2n }
const maps = '/registry/configmaps/default/'

function entry(key: Key, value: Buffer, at = 50): KeyValue {
  const meta = {
    createRevision: revision(at),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  }
  return new KeyValue(key, { bytes: value, start: 0, end: value.length }, meta)
}

const map = (name: string, data = ''): Buffer =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
      data: { data },
    }),
  )

/** The lie of an etcd: what it says to a range and on a watch. */
interface Lie {
  readonly range?: (request: RangeMessage) => Partial<RangeResponseMessage> | Buffer
  readonly watch?: (number: number) => readonly (Partial<WatchResponseMessage> | Buffer)[]
  /** The status with which a range ends. */
  readonly status?: { readonly code: number; readonly details: string }
}

const inMaps = (request: RangeMessage): boolean =>
  request.key.startsWith('/registry/') && request.rangeEnd !== ''

/** Bytes are sent as they are; anything else as a message that is else in order. */
async function startLiar(t: Test, lie: Lie): Promise<string> {
  let watches = 0
  const range = (call: GrpcCall, bytes: Buffer): void => {
    const request = rangeCodec.decode(bytes)
    const said = lie.range?.(request) ?? {}
    if (lie.status !== undefined && inMaps(request)) {
      call.finish(lie.status)
      return
    }
    call.send(
      Buffer.isBuffer(said)
        ? said
        : rangeResponseCodec.encode({ header, entries: [], more: false, count: 0, ...said }),
    )
    call.finish()
  }
  const watch = (call: GrpcCall, bytes: Buffer): void => {
    const { request } = watchRequestCodec.decode(bytes)
    if (request?.type === 'cancel') return
    const told = {
      header,
      watchId: 0n,
      created: false,
      canceled: false,
      compactRevision: 0,
      cancelReason: '',
      fragment: false,
      events: [],
    }
    if (request?.type === 'progress') {
      call.send(watchResponseCodec.encode({ ...told, watchId: -1n }))
      return
    }
    call.send(watchResponseCodec.encode({ ...told, created: true }))
    for (const one of lie.watch?.(watches++) ?? []) {
      call.send(Buffer.isBuffer(one) ? one : watchResponseCodec.encode({ ...told, ...one }))
    }
  }
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call =>
      call.read({
        message({ bytes }) {
          if (call.path === '/etcdserverpb.KV/Range') range(call, bytes)
          else if (call.path === '/etcdserverpb.Watch/Watch') watch(call, bytes)
          else if (call.path === '/etcdserverpb.Maintenance/Status') {
            const status = { ...statusResponseCodec.decode(Buffer.alloc(0)), header }
            call.send(statusResponseCodec.encode({ ...status, version: '3.5.30', leader: 1n }))
            call.finish()
          } else call.finish({ code: 12, details: 'unimplemented' })
        },
        ended: () => undefined,
      }),
  })
  t.teardown(() => server.close())
  return server.address
}

const huge = Buffer.alloc(100 * 1024 * 1024, 120)
const put = (one: KeyValue): WatchResponseMessage['events'][number] => ({
  key: one.key,
  after: one,
  revision: one.modRevision,
  previous: undefined,
})
const said =
  (more: object): NonNullable<Lie['watch']> =>
  number =>
    number < 3 ? [more] : []

const lies: Readonly<Record<string, Lie>> = {
  'revisions that leave no room': {
    range: () => ({ header: { ...header, revision: 2 ** 53 - 1 } }),
  },
  'negative revisions': { range: () => ({ header: { ...header, revision: -5 } }) },
  'revisions that jump back and forth': {
    range: () => ({ header: { ...header, revision: 1 + Math.floor(random.next() * 1e9) } }),
  },
  'another cluster each time': {
    range: () => ({ header: { ...header, clusterId: BigInt(Math.floor(random.next() * 1e9)) } }),
  },
  'no header': { range: () => ({ header: undefined }) },
  'more to come, and never anything': { range: request => ({ more: inMaps(request), count: 5 }) },
  'the same page again and again': {
    range: request =>
      inMaps(request)
        ? { more: true, count: 5, entries: [entry(keyFromText(`${maps}a`), map('a'))] }
        : {},
  },
  'keys that were not asked for': {
    range: () => ({ entries: [entry(keyFromText('/registry/secrets/default/a'), map('a'))] }),
  },
  'keys out of order': {
    range: request =>
      inMaps(request)
        ? { entries: ['b', 'a', 'b'].map(name => entry(keyFromText(maps + name), map(name))) }
        : {},
  },
  'keys of any bytes': {
    range: request =>
      inMaps(request)
        ? {
            entries: ['', '\u0000', '/', '//', 'k'.repeat(1e6)]
              .map(name => keyFromText(maps + name))
              .concat(keyFromBytes(Buffer.concat([Buffer.from(maps), Buffer.from([0xff, 0xfe])])))
              .sort()
              .map(key => entry(key, map('a'))),
          }
        : {},
  },
  'entries from the future': {
    range: request =>
      inMaps(request) ? { entries: [entry(keyFromText(`${maps}a`), map('a'), 5_000)] } : {},
  },
  'a value of 100 MB': {
    range: request => (inMaps(request) ? { entries: [entry(keyFromText(`${maps}a`), huge)] } : {}),
  },
  'bytes that are no message': { range: () => Buffer.alloc(1_000, 0xff) },
  'a failure with a long text': { status: { code: 2, details: '\u001b[2J'.repeat(1_000) } },
  'an event of 100 MB': {
    watch: said({
      header: { ...header, revision: 101 },
      events: [put(entry(keyFromText(`${maps}a`), huge, 101))],
    }),
  },
  'events that jump': {
    watch: said({
      header: { ...header, revision: 2 ** 52 },
      events: [put(entry(keyFromText(`${maps}a`), map('a'), 2 ** 52))],
    }),
  },
  'events of before': {
    watch: said({ events: [put(entry(keyFromText(`${maps}a`), map('a'), 3))] }),
  },
  'events of other keys': {
    watch: said({
      header: { ...header, revision: 101 },
      events: [put(entry(keyFromText('/elsewhere'), map('a'), 101))],
    }),
  },
  'watches that end': {
    watch: said({
      canceled: true,
      compactRevision: 2 ** 52,
      cancelReason: '\u001b[2J'.repeat(1e5),
    }),
  },
  'watches that are created again and again': {
    watch: number => (number < 3 ? Array.from({ length: 5_000 }, () => ({ created: true })) : []),
  },
  'fragments of nothing without end': {
    watch: number => (number < 3 ? Array.from({ length: 5_000 }, () => ({ fragment: true })) : []),
  },
  'watch responses that are no messages': {
    watch: number => (number < 3 ? [Buffer.alloc(1_000, 0xff)] : []),
  },
}

t.test('a watch that is created twice has ended, and is opened again elsewhere', async t => {
  const address = await startLiar(t, { watch: () => [{ created: true }] })
  const client = new GrpcClient({ endpoints: [`http://${address}`] })
  t.teardown(() => client.close())
  const told: string[] = []
  const failure = await new Promise<string>(resolve => {
    client.watch(
      { range: singleKey(keyFromText(maps)) },
      {
        created: () => void told.push('created'),
        changed: () => void told.push('changed'),
        progress: () => void told.push('progress'),
        ended: ({ message }) => resolve(message),
      },
    )
  })
  t.strictSame(told, ['created'])
  t.match(failure, /sent that a watch was created twice$/)
})

t.test('words of an etcd are one line of bounded length', t => {
  const { message } = failureFromStatus(
    { code: 2, details: '\u001b[2J\n'.repeat(5_000) },
    'http://one',
  )
  t.ok(message.length < 600)
  t.notMatch(message, /\p{Cc}/u)
  t.end()
})

t.test('fragments of a response are not kept without end', t => {
  const joiner = new FragmentJoiner()
  const big = put(entry(keyFromText(`${maps}a`), huge, 101))
  const response = { ...watchResponseCodec.decode(Buffer.alloc(0)), fragment: true, events: [big] }
  t.throws(() => {
    for (let i = 0; i < 100; i++) joiner.join(response)
  }, /more than \d+ bytes/)
  t.end()
})

// Most of the time they wait.
t.jobs = 5
for (const [name, lie] of Object.entries(lies)) {
  t.test(`an etcd with ${name}`, async t => {
    const address = await startLiar(t, lie)
    const logged: string[] = []
    const error = (message: string, fields?: object): void =>
      void logged.push(`${message} ${JSON.stringify(fields)}`)
    const client = new GrpcClient({ endpoints: [`http://${address}`] })
    t.teardown(() => client.close())
    const logger = { ...silentLogger, error }
    const { service } = await startServed(t, { client, logger })
    const target = { protocol: 'http', port: service.port } as const
    const paths = ['/api/v1/configmaps?resourceVersion=0', '/api/v1/configmaps?timeout=500ms']
    for (const path of paths) {
      const { status, body } = await ask(target, '1.1', { path })
      t.match(String(status), /^(?:200|429|50[034])$/)
      t.notMatch(body, /\.js:\d/)
      t.notOk(body.includes('\u001b'))
      t.comment(`${path}: ${status} ${body.slice(0, 200)}`)
    }
    t.equal((await ask(target, '1.1', { path: '/livez' })).status, 200)
    t.comment(logged.join('\n').slice(0, 500))
    t.notMatch(logged.join('\n'), /internal error/)
  })
}
