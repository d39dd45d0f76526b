/** Replays the recordings of an aggregated API server through a sidecar: what is stored is answered
 *  from the mirror byte for byte, and everything else by the server. */

import type { OutgoingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { sleep } from '../../../lib/base/clock.ts'
import { systemClock } from '../../../lib/ops/system.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import type { Exchange, RecordedWatch } from '../load.ts'
import { replayWatches } from '../watch-replay.ts'
import { differenceOf } from '../replay.ts'
import { readRecording, type Variant, variants } from './recording.ts'
import { learnt, startWorld, type World } from './world.ts'
import { patient } from '../../support/patience.ts'
import { moment } from '../../support/http/moment.ts'
import { openWatch } from '../../support/watch/watch-client.ts'

/** The areas of the server's first moments, and of reads by users whom the sidecar would have to
 *  know: see test/e2e/sidecar.test.ts. */
const otherAreas = new Set(['starting', 'write', 'aggregator'])

/** The same of the version that is not stored: it has other names for references. */
function isOtherRead({ request, response }: Exchange): boolean {
  return (
    /^\/apis\/wardle\.example\.com\/v1beta1\/.*\bflunders\b/.test(request.path) &&
    response.status === 200
  )
}

/** Answered by the mirror: objects, lists and Tables of the version that is stored, and that one is
 *  not there. */
function isStoredRead({ request, response }: Exchange): boolean {
  const isResource =
    /^\/apis\/wardle\.example\.com\/v1alpha1\/(?:namespaces\/[^/]+\/)?(?:flunders|fischers)\b/
  return isResource.test(request.path) && response.status === 200
}

interface Figures {
  asked: number
  stored: number
  mirrored: number
  /** Those of the version that is not stored. */
  others: number
  othersMirrored: number
  readonly reasons: Map<string, number>
}

async function replay(t: Test, world: World, exchanges: readonly Exchange[]): Promise<Figures> {
  const figures: Figures = {
    asked: 0,
    stored: 0,
    mirrored: 0,
    others: 0,
    othersMirrored: 0,
    reasons: new Map(),
  }
  const failures: string[] = []
  for (const exchange of exchanges) {
    const { id, recorded_at: at } = exchange
    const { path } = exchange.request
    await world.writer.writeUpTo(exchange.at_revision)
    await learnt(world, await heldResources(world))
    world.clock.stoppedAtMs = Date.parse(at) + 2
    const answer = await answerOnceCompared(world, exchange)
    const difference = differenceOf(exchange, answer)
    if (difference !== undefined) failures.push(`${id} ${path} ${originOf(answer)}: ${difference}`)
    figures.asked++
    const origin = originOf(answer)
      .replace(/revision=.*/, '')
      .trim()
    if (isOtherRead(exchange)) {
      figures.others++
      if (origin.startsWith('mirror')) figures.othersMirrored++
    }
    if (isStoredRead(exchange)) {
      figures.stored++
      if (origin.startsWith('mirror')) figures.mirrored++
      else t.comment(`${id} ${path} ${String(exchange.request.headers['Accept'])}: ${origin}`)
      if (!origin.startsWith('mirror')) {
        figures.reasons.set(origin, (figures.reasons.get(origin) ?? 0) + 1)
      }
    }
    if (!origin.startsWith('mirror') && !origin.startsWith('pass')) {
      failures.push(`${id}: ${origin}`)
    }
  }
  t.comment(
    `${figures.asked} asked, ${figures.stored} of what is stored, ${figures.mirrored} from the mirror`,
  )
  t.comment(`${figures.others} of the other version, ${figures.othersMirrored} from the mirror`)
  for (const [reason, count] of figures.reasons) t.comment(`${count} ${reason}`)
  t.strictSame(failures, [])
  return figures
}

/** A read in a form that nobody has asked for before passes, and is compared: the next one is
 *  answered here. */
async function answerOnceCompared(
  { service }: World,
  { id, request }: Exchange,
): Promise<HttpAnswer> {
  const headers = { ...request.headers, 'x-recorded': id, connection: 'close' }
  const { method, path, body } = request
  const sent = { method, path, body, headers: headers as OutgoingHttpHeaders }
  for (let tries = 0; ; tries++) {
    const answer = await ask(service.port, sent)
    if (tries === triesMax || originOf(answer) !== 'pass; reason=unproven') return answer
    await sleep(systemClock, 50)
  }
}

/** The number of tries: answers that no server shows, such as objects of a kind that is not there,
 *  are never compared. */
const triesMax = 200

/** Those that have objects now. */
async function heldResources({ client, service }: World): Promise<string[]> {
  const { header } = await client.range({ range: { start: 'z' as never, end: undefined } })
  while (service.revision < header.revision) await systemClock.yield()
  const names = new Set<string>()
  for (const { prefix, resources } of service.registry.state.registry.keyspaces()) {
    const learned = resources.find(one => one.learned !== undefined)
    if (learned !== undefined && (service.entries().get(prefix) ?? 0) > 0) {
      names.add(learned.resource)
    }
  }
  return [...names]
}

function originOf({ headers }: HttpAnswer): string {
  return String(headers['x-watchglass'])
}

t.setTimeout(patient(120_000))

t.test('what is stored is answered from the mirror, and the rest by the server', async t => {
  const recording = readRecording('default')
  const world = await startWorld(t, recording, { prefix: '/registry/wardle.example.com' })
  const asked = recording.exchanges.filter(
    ({ area, user }) => !otherAreas.has(area) && user === 'front-admin',
  )
  // A sidecar that has been there for a while: it keeps the revisions that are asked for.
  await world.writer.writeUpTo(14)
  await learnt(world, ['flunders', 'fischers'])
  const figures = await replay(t, world, asked)
  t.strictSame(
    [...figures.reasons.keys()].sort(),
    [
      'pass; reason=impersonation',
      'pass; reason=inexact',
      'pass; reason=media-type',
      'pass; reason=revision-not-kept',
    ],
    'objects that somebody else wrote, protobuf, impersonation, and what was before us pass',
  )
  t.ok(figures.mirrored / figures.stored >= 0.94, `${figures.mirrored} of ${figures.stored}`)
  // Lists of the other version pass if one of their objects is converted.
  t.ok(figures.othersMirrored >= 30, `${figures.othersMirrored} of ${figures.others}`)
})

/** The watches that are not sent as recorded, each with the reason why that is right. */
const watchExceptions: Readonly<Record<string, string>> = {
  'pub-agg-w016': 'which of two equal watches gets the columns again is a race in the server',
  'pub-agg-w089': 'how far back a watch reaches depends on when the cache of the server began',
}

t.test('recorded watches get the same frames', async t => {
  const recording = readRecording('default')
  const world = await startWorld(t, recording, { prefix: '/registry/wardle.example.com' })
  await world.writer.writeUpTo(12)
  await learnt(world, ['flunders', 'fischers'])
  const watches = recording.watches.filter(
    ({ area, user }) => !otherAreas.has(area) && user === 'front-admin',
  )
  await replayWatches(t, world, {
    watches: watches.map(asked),
    writer: world.writer,
    exceptions: watchExceptions,
  })
})

t.test('streaming lists are compressed once the server was seen to compress them', async t => {
  const world = await startWorld(t, readRecording('default'), {
    prefix: '/registry/wardle.example.com',
    before: ({ url = '', headers }) =>
      url.includes('asked-for-no-object') && headers['accept-encoding'] === 'gzip'
        ? {
            status: 200,
            headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
            body: gzipSync(''),
          }
        : undefined,
  })
  await world.writer.writeUpTo(12)
  await learnt(world, ['flunders'])
  const path =
    '/apis/wardle.example.com/v1alpha1/flunders?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const encodingOf = async (): Promise<string> => {
    const stream = await openWatch(world.service.port, {
      path,
      headers: { 'accept-encoding': 'gzip' },
    })
    t.ok(await stream.next())
    stream.close()
    return stream.encoding
  }
  t.equal(await encodingOf(), '', 'its version is not known')
  while ((await encodingOf()) !== 'gzip') await moment()
})

/** The same watch, with what tells the stand-in for the server which one it is. An event that is
 *  being compared is held, so the one or four seconds of the recording may be over before it on a
 *  busy machine: the watch is given more. */
function asked(watch: RecordedWatch): RecordedWatch {
  const headers = { ...watch.request.headers, 'x-recorded': watch.id }
  const path = watch.request.path.replace(/(?<=[?&]timeoutSeconds=)\d+/, '60')
  return { ...watch, request: { ...watch.request, path, headers } }
}

for (const variant of variants) {
  t.test(`so it is with the flags of ${variant}`, async t => {
    const recording = readRecording(variant)
    const world = await startWorld(t, recording, {
      prefix: prefixOf(variant),
      hasWatchCache: variant !== 'no-watch-cache',
    })
    const figures = await replay(t, world, recording.exchanges)
    t.strictSame([...figures.reasons.keys()], ['pass; reason=media-type'], 'protobuf passes')
    t.equal(figures.othersMirrored, 10)
  })
}

function prefixOf(variant: Variant): string {
  return variant === 'prefix' ? '/registry/apps.example' : '/registry/wardle.example.com'
}
