/** Compares a share of the mirror's answers with the upstream's answers to the same requests
 *  (`--compare`). A list is repeated on both sides, exactly at the revision that the client got, so
 *  that later changes make no difference. The client's own answer is neither changed nor delayed. A
 *  get cannot ask for a revision: it is compared only if both sides have the same version of the
 *  object.
 *
 *  Only one comparison runs at a time. Reads that come meanwhile are not compared, so that the
 *  comparisons stay a small load. */

import { CacheError, type Clock, type Logger, type Random, withTimeLimit } from '@watchglass/base'
import {
  KnownRequest,
  parseTarget,
  type RequestTarget,
  type ResourceRoute,
  shardParameter,
  type TokenEncryption,
} from '@watchglass/kube'
import { firstDifference } from '../evidence/difference.ts'
import { withDecryptedToken } from './decrypted-token.ts'
import {
  type Answer,
  CollectedRequest,
  offerOf,
  Reply,
  RequestContext,
  type UpstreamAnswer,
  Zipper,
} from '@watchglass/cache'
import type { Segment } from '@watchglass/codec'
import type { SegmentCache } from '@watchglass/store'
import type { ProxyOptions } from './proxy-options.ts'

/** A larger answer of ours is cut off, and not compared. */
const collectedMaxBytes = 64 * 1024 * 1024

/** The result of a comparison. */
export type ComparisonOutcome = 'same' | 'differs' | 'moved' | 'failed'

export interface ComparisonOptions {
  /** Share of the reads that the mirror answers: 0 to 1. */
  readonly share: number
  readonly random: Random
  readonly metrics: { compared(outcome: ComparisonOutcome): void }
}

/** The services with which both sides are asked. */
export interface ComparedServices {
  readonly proxy: ProxyOptions
  readonly tokenEncryption?: TokenEncryption | undefined
  readonly segments: SegmentCache<Segment>
  readonly hasCbor: boolean
  readonly auditId: () => string
  readonly clock: Clock
  readonly logger: Logger
}

/** A read that was answered from the mirror. */
export interface ComparedRead {
  readonly route: ResourceRoute
  readonly answerAgain: (again: RequestContext) => Answer
}

/** This many differences are logged; all are counted. */
const loggedMax = 20
const answerMaxBytes = 64 * 1024 * 1024
const timeoutMs = 30_000

export class Comparison {
  readonly #options: ComparisonOptions
  #isBusy = false
  #logged = 0

  constructor(options: ComparisonOptions) {
    this.#options = options
  }

  /** Notes an answered read, which may be compared. Returns at once. `answerAgain` answers from the
   *  mirror. */
  answered(
    context: RequestContext,
    { route, answerAgain }: ComparedRead,
    services: ComparedServices,
  ): void {
    const { share, random, metrics } = this.#options
    if (this.#isBusy || share === 0 || !isComparable(context) || random.next() >= share) return
    this.#isBusy = true
    void this.#compare(context, { route, answerAgain }, services)
      .catch((): ComparisonOutcome => 'failed')
      .then(outcome => {
        this.#isBusy = false
        metrics.compared(outcome)
      })
  }

  async #compare(
    context: RequestContext,
    { route, answerAgain }: ComparedRead,
    services: ComparedServices,
  ): Promise<ComparisonOutcome> {
    const target = exactTarget(context, services)
    if (target === undefined) return 'failed'
    const [ours, theirs] = await Promise.all([
      this.#ourAnswer(context, { route, target, answerAgain }, services),
      upstreamAnswer(context, target, services),
    ])
    const body = ours.answer
    if (body === undefined || ours.status !== 200) return 'moved'
    // The upstream refuses, or has compacted the revision: nothing can be compared.
    if (theirs.code !== 200) return theirs.code === 404 ? 'differs' : 'moved'
    const isGet = route.verb === 'get'
    const [a, b] = [body, theirs.body].map(bytes => comparable(bytes, services))
    if (isGet && versionIn(a) !== versionIn(b)) return 'moved'
    const difference = firstDifference(a ?? body, b ?? theirs.body)
    if (difference === undefined) return 'same'
    this.#log(context, { route, difference }, services)
    return 'differs'
  }

  async #ourAnswer(
    { state, request }: RequestContext,
    { route, target, answerAgain }: ComparedRead & { readonly target: RequestTarget },
    services: ComparedServices,
  ): Promise<CollectedRequest> {
    const collected = new CollectedRequest({
      target: target.raw,
      headers: plainHeaders(request.headers),
      peer: request.peer,
      maxBytes: collectedMaxBytes,
    })
    const { clock, segments, hasCbor } = services
    const known = new KnownRequest(target, route)
    const reply = new Reply(collected, {
      auditId: services.auditId(),
      clock,
      zipper: new Zipper(segments),
      offer: () => offerOf(route, { hasCbor }),
      pretty: known.pretty,
    })
    const context = new RequestContext({
      request: collected,
      known,
      reply,
      startMs: clock.monotonicMs(),
      state,
      facts: {
        verb: route.verb,
        group: '',
        version: '',
        resource: '',
        source: 'mirror',
        hasLabelSelector: false,
        hasFieldSelector: false,
      },
    })
    await answerAgain(context)
    context.release()
    return collected
  }

  #log(
    { reply }: RequestContext,
    { route, difference }: { readonly route: ResourceRoute; readonly difference: string },
    { logger }: ComparedServices,
  ): void {
    const { resource, verb } = route
    if (this.#logged >= loggedMax) return
    this.#logged++
    logger.error('the upstream answers a read differently from the mirror', {
      resource: resource.resource,
      group: resource.group,
      version: resource.version,
      verb,
      origin: reply.origin,
      difference,
    })
  }
}

/** True for gets and lists that the mirror has answered with 200. Rows of Tables show ages, which
 *  change with time; and an upstream may ignore shards and what is to be dropped. */
function isComparable({ facts, reply, request, target }: RequestContext): boolean {
  const isRead = facts.verb === 'get' || facts.verb === 'list'
  const accept = String(request.headers.accept ?? '')
  const isTable = accept.includes('as=Table') || accept.includes('drop=')
  const isWhole = !isTable && target.query.text(shardParameter) === ''
  return isRead && isWhole && facts.source === 'mirror' && reply.code === 200
}

/** The request again, for the revision that was answered. */
function exactTarget(
  context: RequestContext,
  { tokenEncryption }: ComparedServices,
): RequestTarget | undefined {
  const { target, facts, reply } = context
  const revision = /revision=(\d+)/.exec(reply.origin ?? '')?.[1]
  const raw =
    tokenEncryption === undefined
      ? context.target.raw
      : withDecryptedToken(context, tokenEncryption)
  if (facts.verb === 'get' || target.query.text('continue') !== '') return parseTarget(raw)
  const [path = '', query = ''] = raw.split('?')
  const kept = query.split('&').filter(pair => pair !== '' && !pair.startsWith('resourceVersion'))
  const exact = [`resourceVersion=${revision}`, 'resourceVersionMatch=Exact']
  return parseTarget(`${path}?${[...kept, ...exact].join('&')}`)
}

function plainHeaders(
  headers: RequestContext['request']['headers'],
): RequestContext['request']['headers'] {
  const { 'accept-encoding': _, ...rest } = headers
  return rest
}

async function upstreamAnswer(
  { request }: RequestContext,
  target: RequestTarget,
  { proxy, clock }: ComparedServices,
): Promise<UpstreamAnswer> {
  const { authorization, accept, 'user-agent': userAgent } = request.headers
  const credentials = proxy.passed?.(request) ?? {
    headers: authorization === undefined ? {} : { authorization },
    as: 'caller' as const,
  }
  const late = (): CacheError =>
    new CacheError('upstream_failed', `no answer to compare with within ${timeoutMs} ms`)
  const headers = {
    ...(accept === undefined ? {} : { accept }),
    ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
    ...credentials.headers,
  }
  const call = { method: 'GET', path: target.raw, headers, maxBytes: answerMaxBytes }
  return withTimeLimit({ clock, maxMs: timeoutMs, late }, signal =>
    proxy.upstream.call({ ...call, signal }, credentials.as),
  )
}

/** The metadata of a list is before its items. */
const metadataMaxBytes = 64 * 1024

/** Without the continue token: an encrypted one is different each time. */
function comparable(body: Uint8Array, { tokenEncryption }: ComparedServices): Uint8Array {
  if (tokenEncryption === undefined) return body
  const head = Buffer.from(body.subarray(0, metadataMaxBytes)).toString('latin1')
  const same = head.replace(/"continue":"[^"]*"/, '"continue":""')
  return Buffer.concat([Buffer.from(same, 'latin1'), body.subarray(metadataMaxBytes)])
}

/** A single object has its version behind its labels and annotations. */
const versionWithinBytes = 2 * 1024 * 1024

function versionIn(body: Uint8Array | undefined): string | undefined {
  const text = Buffer.from((body ?? new Uint8Array(0)).subarray(0, versionWithinBytes)).toString()
  return /"resourceVersion":\s?"(\d+)"/.exec(text)?.[1]
}
