/** Replays recorded writes. The store stands at the revision where it stood, and uids, times and
 *  generated names are given out as they were recorded, so that what is answered and what etcd
 *  holds afterwards can be compared byte for byte. */

import type { Test } from 'tap'
import { allKeys, keyFromText, singleKey, textFromKey } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import type { Revision } from '../../lib/base/revision.ts'
import type { TestOptions } from '../support/http/service-options.ts'
import { startServed, type Served } from '../support/http/served.ts'
import { bodyBytes, type Exchange, type Recording } from './load.ts'
import { caughtUp } from '../support/http/served.ts'
import { differenceOf, firstDifference, HistoryWriter, send, Table } from './replay.ts'

export interface WriteReplay {
  readonly recording: Recording
  readonly asked: readonly Exchange[]
  readonly exceptions: Readonly<Record<string, string>>
  readonly options?: TestOptions
}

/** The values that are given out during one exchange. */
interface Given {
  uid: string
  suffix: string
  address: string
  port: number
}

interface Stage {
  readonly served: Served
  readonly writer: HistoryWriter
  readonly given: Given
}

/** Asks what was asked, in order, and compares answers and what is stored. */
export async function replayWrites(
  t: Test,
  { recording, asked, exceptions, options }: WriteReplay,
): Promise<Table> {
  const table = new Table()
  const failures: string[] = []
  let stage: Stage | undefined
  for (const exchange of asked) {
    const { id, request, at_revision: from } = exchange
    stage ??= await begin(t, recording, options)
    await stage.writer.writeUpTo(from)
    await caughtUp(stage.served, from)
    const difference = await replayOne(stage, recording, exchange)
    const reason = exceptions[id]
    const outcome =
      difference === undefined ? 'passed' : reason === undefined ? 'failed' : 'excepted'
    table.add('write', outcome)
    const after = await revisionOf(stage.served)
    // Where the recorded server has written more than we do, the store is not where it was.
    const isInStep = after === from || after === exchange.at_revision_after
    if (difference === undefined && isInStep) {
      stage.writer.skipTo(after)
      continue
    }
    // What is stored now is not what was stored then: begin anew.
    stage = undefined
    if (difference === undefined) continue
    const what = `${id} ${request.method} ${request.path}`
    if (reason === undefined) failures.push(`${what}: ${difference}`)
    else t.comment(`${what}: ${reason}`)
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
  return table
}

async function begin(t: Test, recording: Recording, options: TestOptions = {}): Promise<Stage> {
  const given: Given = { uid: '', suffix: '', address: '', port: 0 }
  const served = await startServed(t, {
    ...options,
    isWritable: true,
    generated: {
      uid: () => given.uid,
      nameSuffix: () => given.suffix,
      allocator: { address: () => given.address, port: () => given.port },
    },
  })
  return { served, writer: new HistoryWriter(served.client, recording), given }
}

async function revisionOf({ client }: Served): Promise<number> {
  const { header } = await client.range({ range: allKeys, countOnly: true })
  return header.revision
}

/** The difference; undefined if there is none. */
async function replayOne(
  { served, given }: Stage,
  recording: Recording,
  exchange: Exchange,
): Promise<string | undefined> {
  const { at_revision: from, at_revision_after: to } = exchange
  const recorded = changesIn(recording, from, to)
  Object.assign(given, givenOf(exchange))
  served.clock.stoppedAtMs = timeOf(exchange, recorded)
  const answer = await send(served, exchange, '1.1')
  const difference = differenceOf(exchange, answer)
  if (difference !== undefined) return difference
  const after = await revisionOf(served)
  const count = new Set(recorded.map(({ revision }) => revision)).size
  if (after - from !== count) return `${after - from} revisions instead of ${count}`
  return storedDifference(served, recorded, from)
}

interface RecordedChange {
  readonly revision: number
  readonly key: string
  readonly value: Uint8Array | undefined
}

/** The keys that servers write by nobody's request, or beside it: their leases, and the addresses
 *  that they give out. */
const ownKeys =
  /^\/registry\/(?:ipaddresses|ranges|peerserverleases|masterleases|leases\/kube-system\/apiserver-)/

/** The recorded changes of an exchange. */
function changesIn(recording: Recording, from: number, to: number): RecordedChange[] {
  return recording.historyBatches().flatMap(({ revision, changes }) =>
    revision <= from || revision > to
      ? []
      : changes
          .map(change => ({
            revision,
            key: textFromKey(change.type === 'put' ? change.entry.key : change.key),
            value: change.type === 'put' ? change.entry.value : undefined,
          }))
          .filter(({ key }) => !ownKeys.test(key)),
  )
}

async function storedDifference(
  { client }: Served,
  recorded: readonly RecordedChange[],
  from: number,
): Promise<string | undefined> {
  const revisions = [...new Set(recorded.map(({ revision }) => revision))]
  for (const { key, value, revision: then } of recorded) {
    const revision = (from + 1 + revisions.indexOf(then)) as Revision
    const { entries } = await client.range({ range: singleKey(keyFromText(key)), revision })
    const [entry] = entries
    if (value === undefined) {
      if (entry !== undefined) return `${key} is still there`
      continue
    }
    if (entry === undefined) return `${key} is not there`
    if (Buffer.compare(entry.value, value) === 0) continue
    return `stored ${key}: ${firstDifference(shown(entry.value), shown(value))}`
  }
  return undefined
}

function shown(value: Uint8Array): string {
  const json = value[0] === 0x7b ? value : jsonFromProtobuf(value)
  return json instanceof NotExact
    ? Buffer.from(value).toString('latin1')
    : Buffer.from(json).toString()
}

/** The values that the recorded server made up, as they can be seen in its answer. */
function givenOf({ response }: Exchange): Given {
  const body = bodyBytes(response)
  const json = body[0] === 0x6b && body[3] === 0 ? jsonFromProtobuf(body) : body
  const text = json instanceof NotExact ? '' : Buffer.from(json).toString()
  const found = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''
  const prefix = found(/"generateName":"([^"]*)"/)
  return {
    uid: found(/"uid":"([^"]*)"/) || found(/\n {2}uid: (\S+)/),
    suffix: found(/"name":"([^"]*)"/).slice(prefix.length),
    address: found(/"clusterIP":"([^"]*)"/) || '10.0.0.99',
    port: Number(found(/"nodePort":(\d+)/)),
  }
}

const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z/g

/** The second in which the server did it: the newest time that it noted, if that is near the time
 *  of the request. */
function timeOf(
  { response, recorded_at: at }: Exchange,
  recorded: readonly RecordedChange[],
): number {
  const texts = [
    bodyBytes(response).toString('latin1'),
    ...recorded.flatMap(({ value }) => (value === undefined ? [] : shown(value))),
  ]
  const asked = Date.parse(at)
  const near = texts
    .flatMap(text => text.match(timePattern) ?? [])
    .map(text => Date.parse(text))
    .filter(ms => ms > asked - 1000 && ms < asked + 3000)
  return near.length === 0 ? asked : Math.max(...near)
}
