/** Ranges in parts (KEP-5966) at both etcd servers, in front of the embedded engine: joined, the
 *  parts are what a range is answered with. */

import * as http2 from 'node:http2'
import fc from 'fast-check'
import t from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { AnsweredRevisions } from '../../lib/etcd-server/answers/answered-revisions.ts'
import { MessageHeads } from '../../lib/etcd-server/pass/message-heads.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { keyValueCodec, leaveInMessage } from '../../lib/etcd/proto/key-value.ts'
import {
  createRangePartCodec,
  rangeCodec,
  type RangeMessage,
  rangeResponseCodec,
  type RangeResponseMessage,
} from '../../lib/etcd/proto/kv-messages.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { bareCall, framed } from '../support/etcd/bare-grpc.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'

const partCodec = createRangePartCodec(keyValueCodec(leaveInMessage))
const { engine, client } = createTestEngine(t)
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const replica = await startTestReplica(t, [`http://${server.address}`], {
  prefixes: ['/registry/'],
})
t.teardown(() => server.close())
await replica.ready()

const put = (name: string, value: Buffer): Promise<unknown> =>
  client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(name), value }],
    failure: [],
  })
for (let i = 0; i < 40; i++) {
  await put(`/registry/pods/p${i}`, Buffer.alloc(i % 8 === 0 ? 300_000 : i * 11, i))
}
await put('/elsewhere/a', Buffer.from('1'))

const sessions = [server, replica].map(({ address }) => http2.connect(`http://${address}`))
t.teardown(() => sessions.forEach(session => session.destroy()))

function requestOf(parts: Partial<RangeMessage>): RangeMessage {
  const [key, rangeEnd] = [keyFromText('/registry/'), keyFromText('/registry0')]
  const numbers = { limit: 0, revision: 0, sortOrder: 0, sortTarget: 0 }
  const filters = { minModRevision: 0, maxModRevision: 0, minCreateRevision: 0 }
  const flags = { serializable: false, keysOnly: false, countOnly: false }
  return { key, rangeEnd, ...numbers, ...flags, ...filters, maxCreateRevision: 0, ...parts }
}

interface Answer {
  readonly messages: Buffer[]
  readonly status: unknown
  readonly source: unknown
}

async function ask(
  session: http2.ClientHttp2Session,
  method: string,
  request: RangeMessage,
): Promise<Answer> {
  const body = framed(rangeCodec.encode(request))
  const answer = await bareCall(session, `/etcdserverpb.KV/${method}`, body)
  const end = { ...answer.headers, ...answer.trailers }
  const messages: Buffer[] = []
  for (let rest = answer.body; rest.length > 0;) {
    const length = 5 + rest.readUInt32BE(1)
    messages.push(rest.subarray(5, length))
    rest = rest.subarray(length)
  }
  const status = [end['grpc-status'], end['grpc-message']]
  return { messages, status, source: end['watchglass-source'] }
}

interface Joined {
  readonly header: RangeResponseMessage['header']
  readonly entries: unknown[]
  readonly more: boolean
  readonly count: number
}

/** The parts as `proto.Merge` joins them. */
function joined(parts: readonly RangeResponseMessage[]): Joined {
  const last = parts.at(-1)
  const { header, more = false, count = 0 } = last ?? { header: undefined }
  return { header, entries: parts.flatMap(part => part.entries.map(shown)), more, count }
}

function shown({ key, bytes, start, end, ...entry }: KeyValue): unknown {
  return { ...entry, key, value: Buffer.from(bytes.subarray(start, end)).toString('base64') }
}

async function partsOf(
  session: http2.ClientHttp2Session,
  request: RangeMessage,
): Promise<{ answer: Answer; parts: RangeResponseMessage[] }> {
  const answer = await ask(session, 'RangeStream', request)
  return { answer, parts: answer.messages.map(bytes => partCodec.decode(bytes).part!) }
}

t.test('parts that are joined are what a range is answered with, at both etcd servers', async t => {
  const request = fc.record(
    {
      limit: fc.constantFrom(0, 1, 7, 40, 41),
      revision: fc.constantFrom(0, 10, 30, 42),
      keysOnly: fc.boolean(),
      countOnly: fc.boolean(),
      serializable: fc.boolean(),
      sortOrder: fc.constantFrom(0, 1),
      rangeEnd: fc.constantFrom('', '/registry/pods/p2', '/registry0').map(keyFromText),
    },
    { requiredKeys: [] },
  )
  // Serializable reads have what the mirror has: a consistent one waits until that is all.
  for (const session of sessions) await ask(session, 'Range', requestOf({}))
  await fc.assert(
    fc.asyncProperty(request, async given => {
      for (const session of sessions) {
        const wanted = await ask(session, 'Range', requestOf(given))
        const { answer, parts } = await partsOf(session, requestOf(given))
        t.strictSame(answer.status, wanted.status)
        t.strictSame(
          joined(parts),
          joined(wanted.messages.map(one => rangeResponseCodec.decode(one))),
        )
        t.equal(answer.source, session === sessions[1] ? 'mirror' : undefined)
      }
    }),
    { numRuns: 40 },
  )
})

t.test(
  'only the last part has the header and the counts, and values are sent in several',
  async t => {
    for (const session of sessions) {
      const { parts } = await partsOf(session, requestOf({}))
      t.ok(parts.length > 3, `${parts.length} parts`)
      for (const part of parts.slice(0, -1)) {
        t.match(part, { header: undefined, more: false, count: 0 })
        t.ok(part.entries.length > 0)
      }
      t.match(parts.at(-1), { header: { revision: 42 }, count: 40 })
    }
    const { parts } = await partsOf(
      sessions[1]!,
      requestOf({ rangeEnd: keyFromText('/registry/a') }),
    )
    t.strictSame(joined(parts), { ...joined(parts), entries: [], more: false, count: 0 })
    t.equal(parts.length, 1, 'also where there is nothing')
  },
)

t.test('what etcd does not stream is refused in its words', async t => {
  const [order, filter] = ['custom sort orders', 'revision filters']
  for (const [given, words] of [
    [{ sortOrder: 2 }, order],
    [{ sortOrder: 1, sortTarget: 3 }, order],
    [{ minModRevision: 1 }, filter],
    [{ maxCreateRevision: 5 }, filter],
  ] as const) {
    for (const session of sessions) {
      const { status } = await ask(session, 'RangeStream', requestOf(given))
      t.strictSame(status, ['12', `RangeStream does not support ${words}`], JSON.stringify(given))
    }
  }
  for (const session of sessions) {
    const future = await ask(session, 'RangeStream', requestOf({ revision: 1000 }))
    t.strictSame(future.status, ['11', 'etcdserver: mvcc: required revision is a future revision'])
    const none = await ask(session, 'RangeStream', requestOf({ key: keyFromText('') }))
    t.strictSame(none.status, ['3', 'etcdserver: key is not provided'])
  }
})

t.test('what is not mirrored passes, and is noted: the replica says nothing older', async t => {
  const { revision } = engine.members[0]!
  await put('/elsewhere/b', Buffer.from('2'))
  const request = requestOf({
    key: keyFromText('/elsewhere/'),
    rangeEnd: keyFromText('/elsewhere0'),
  })
  const { answer, parts } = await partsOf(sessions[1]!, request)
  t.equal(answer.source, 'etcd')
  t.match(joined(parts), { count: 2, header: { revision: revision + 1 } })
  const serializable = requestOf({ serializable: true, countOnly: true })
  const { parts: after } = await partsOf(sessions[1]!, serializable)
  t.ok(joined(after).header!.revision >= revision + 1)
})

t.test('headers of parts are found however the bytes come, and nonsense is none', async t => {
  const header = { clusterId: 1n, memberId: 2n, revision: 77, raftTerm: 3n }
  const empty = { header: undefined, entries: [], more: false, count: 0 }
  const first = framed(partCodec.encode({ part: { ...empty, count: 500 } }))
  const last = framed(partCodec.encode({ part: { ...empty, header, count: 1 } }))
  const all = Buffer.concat([first, framed(Buffer.alloc(0)), framed(Buffer.alloc(5000)), last])
  for (const size of [1, 3, 64, 10_000]) {
    const answered = new AnsweredRevisions()
    const heads: number[] = []
    const reader = new MessageHeads(128, head => {
      heads.push(head.length)
      answered.passedPart(head)
    })
    for (let at = 0; at < all.length; at += size) reader.push(all.subarray(at, at + size))
    t.strictSame(heads, [first.length, 5, 128, last.length], `${size} bytes at once`)
    t.equal(answered.revision, 77)
  }
  const answered = new AnsweredRevisions()
  for (const hex of ['0a020a00', '0a040a020a00', '0aff', '0a00', 'ffffffff', '0a0208ff', '']) {
    answered.passed(framed(Buffer.from(hex, 'hex')))
    answered.passedPart(framed(Buffer.from(hex, 'hex')))
  }
  t.equal(answered.revision, 0)
})
