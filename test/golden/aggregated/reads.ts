/** Asks a sidecar what was recorded, compares, and counts who has answered. */

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { sleep } from '../../../lib/base/clock.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import type { Answer } from '../../support/aggregated/wardle-server.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import { openWatch } from '../../support/watch/watch-client.ts'
import type { Exchange, RecordedWatch } from '../load.ts'
import { differenceOf } from '../replay.ts'
import { learnt, type World } from './world.ts'

export const usualPrefix = '/registry/wardle.example.com'

/** Objects and lists of the version that is not stored: it has other names for references. */
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

export interface Figures {
  asked: number
  stored: number
  mirrored: number
  /** Those of the version that is not stored. */
  others: number
  othersMirrored: number
  readonly reasons: Map<string, number>
}

export async function replay(
  t: Test,
  world: World,
  exchanges: readonly Exchange[],
): Promise<Figures> {
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

/** The same watch, with what tells the stand-in for the server which one it is. An event that is
 *  being compared is held, so the one or four seconds of the recording may be over before it on a
 *  busy machine: the watch is given more. */
export function asked(watch: RecordedWatch): RecordedWatch {
  const headers = { ...watch.request.headers, 'x-recorded': watch.id }
  const path = watch.request.path.replace(/(?<=[?&]timeoutSeconds=)\d+/, '60')
  return { ...watch, request: { ...watch.request, path, headers } }
}

/** The answer of a server that compresses streaming lists, to the question whether it does. */
export function zippedStream({ url = '', headers }: IncomingMessage): Answer | undefined {
  const isAsked = url.includes('asked-for-no-object') && headers['accept-encoding'] === 'gzip'
  if (!isAsked) return undefined
  const sent = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  return { status: 200, headers: sent, body: gzipSync('') }
}

/** The encoding of a streaming list of those who take gzip. */
export async function streamEncoding({ service }: World): Promise<string> {
  const path =
    '/apis/wardle.example.com/v1alpha1/flunders?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const stream = await openWatch(service.port, { path, headers: { 'accept-encoding': 'gzip' } })
  await stream.next()
  stream.close()
  return stream.encoding
}
