/** Faults on purpose, as people write them: what goes wrong, then what it takes, and which requests
 *  it concerns.
 *
 *      latency,delay=200ms..2s,verb=list,resource=pods
 *      error,code=429,retry-after=5,share=10%
 *      watch-end,after=100      watch-expired,after=100      no-bookmarks
 *      reset,after=64KB         slow,rate=10KB/s             stale,age=30s
 *      compact                  compact,every=60s
 *      node-down,every=5m,for=1m,share=10%               pod-crash,delay=5s..1m,share=20%
 *      image-pull,image=nginx*|busybox                   late-scheduler,delay=5s..30s */

import { CacheError } from '@watchglass/base'

/** The effects of a fault on a request. */
export type Effect =
  | { readonly type: 'latency'; readonly minMs: number; readonly maxMs: number }
  | { readonly type: 'error'; readonly code: FaultErrorCode; readonly retryAfterSeconds: number }
  | { readonly type: 'watch-end'; readonly afterEvents: number }
  | { readonly type: 'watch-expired'; readonly afterEvents: number }
  | { readonly type: 'no-bookmarks' }
  | { readonly type: 'reset'; readonly afterBytes: number }
  | { readonly type: 'slow'; readonly bytesPerSecond: number }
  | { readonly type: 'stale'; readonly ageMs: number }

/** The compaction of etcd, whatever is asked. Undefined: once. */
export interface Compaction {
  readonly type: 'compact'
  readonly everyMs: number | undefined
}

/** The effects of a fault on what simulated nodes do, whatever is asked. */
export type SimulatedEffect =
  /** A node stops saying that it is there, now and then. */
  | { readonly type: 'node-down'; readonly everyMs: number; readonly forMs: number }
  /** A container ends so long after it was started. */
  | { readonly type: 'pod-crash'; readonly minMs: number; readonly maxMs: number }
  | { readonly type: 'image-pull' }
  /** A pod waits for its node that much longer. */
  | { readonly type: 'late-scheduler'; readonly minMs: number; readonly maxMs: number }

export type FaultType = Effect['type'] | Compaction['type'] | SimulatedEffect['type']

const actorTypes = ['node-down', 'pod-crash', 'image-pull', 'late-scheduler'] as const

export function isForSimulated(effect: FaultRule['effect']): effect is SimulatedEffect {
  return (actorTypes as readonly string[]).includes(effect.type)
}

/** Which nodes and pods a rule concerns. What is undefined does not matter; a name may end with
 *  `*`. */
export interface ActorSelection {
  readonly nodes: ReadonlySet<string> | undefined
  readonly images: ReadonlySet<string> | undefined
}

const errorCodes = [429, 500, 503, 504] as const
export type FaultErrorCode = (typeof errorCodes)[number]

/** Which requests a rule concerns. What is undefined does not matter. */
export interface RequestSelection {
  readonly verbs: ReadonlySet<string> | undefined
  /** `pods` or `deployments.apps`. */
  readonly resources: ReadonlySet<string> | undefined
  readonly namespaces: ReadonlySet<string> | undefined
  /** Beginning of the User-Agent. */
  readonly agent: string | undefined
}

export interface FaultRule {
  /** As it was written. */
  readonly text: string
  readonly effect: Effect | Compaction | SimulatedEffect
  readonly selection: RequestSelection
  readonly actors: ActorSelection
  /** The share of these requests, or of what actors do, that it happens to. */
  readonly share: number
  /** The number of times that the fault happens at most. */
  readonly times: number
}

/** The members that a rule may have, by what goes wrong. */
const membersOf: Readonly<Record<FaultType, readonly string[]>> = {
  latency: ['delay'],
  error: ['code', 'retry-after'],
  'watch-end': ['after'],
  'watch-expired': ['after'],
  'no-bookmarks': [],
  reset: ['after'],
  slow: ['rate'],
  stale: ['age'],
  compact: ['every'],
  'node-down': ['every', 'for', 'node', 'share', 'times'],
  'pod-crash': ['delay', 'image', 'node', 'namespace', 'share', 'times'],
  'image-pull': ['image', 'node', 'namespace', 'share', 'times'],
  'late-scheduler': ['delay', 'namespace', 'share', 'times'],
}

const selecting = ['verb', 'resource', 'namespace', 'agent', 'share', 'times']

/** Reads a rule. An error says what is wrong, and what would be right. */
export function parseFaultRule(text: string): FaultRule {
  const [type = '', ...parts] = text.split(',').map(part => part.trim())
  if (!isFaultType(type)) {
    throw invalid(text, `"${type}" is no fault: use ${Object.keys(membersOf).join(', ')}`)
  }
  const isOfRequests = type !== 'compact' && !(actorTypes as readonly string[]).includes(type)
  const known = [...membersOf[type], ...(isOfRequests ? selecting : [])]
  const members = new Map<string, string>()
  for (const part of parts) {
    const at = part.indexOf('=')
    const name = at === -1 ? part : part.slice(0, at)
    if (at === -1) throw invalid(text, `"${part}" is not written as name=value`)
    if (!known.includes(name)) {
      throw invalid(text, `${type} has no "${name}": it takes ${known.join(', ')}`)
    }
    if (members.has(name)) throw invalid(text, `${name} is given twice`)
    members.set(name, part.slice(at + 1))
  }
  const values = new Values(text, members)
  return {
    text,
    effect: effectOf(type, values),
    selection: {
      verbs: values.names('verb'),
      resources: values.names('resource'),
      namespaces: values.names('namespace'),
      agent: members.get('agent'),
    },
    actors: { nodes: values.names('node'), images: values.names('image') },
    share: values.share(),
    times: values.count('times', Infinity),
  }
}

function effectOf(type: FaultType, values: Values): FaultRule['effect'] {
  switch (type) {
    case 'latency':
      return { type, ...values.delay() }
    case 'error': {
      const code = errorCodes.find(one => one === values.count('code', 500))
      if (code === undefined) throw values.wrong('code', errorCodes.join(', '))
      return { type, code, retryAfterSeconds: values.count('retry-after', 1) }
    }
    case 'watch-end':
    case 'watch-expired':
      return { type, afterEvents: values.count('after', 0) }
    case 'no-bookmarks':
      return { type }
    case 'reset':
      return { type, afterBytes: values.bytes('after', /^(\d{1,9})(B|KB|MB)?$/, 0) }
    case 'slow':
      return { type, bytesPerSecond: values.bytes('rate', /^(\d{1,9})(B|KB|MB)\/s$/) }
    case 'stale':
      return { type, ageMs: values.milliseconds('age') }
    case 'node-down':
      return {
        type,
        everyMs: values.milliseconds('every', 5 * 60_000),
        forMs: values.milliseconds('for', 60_000),
      }
    case 'pod-crash':
      return { type, ...values.delay('5s..1m') }
    case 'image-pull':
      return { type }
    case 'late-scheduler':
      return { type, ...values.delay('5s..30s') }
    case 'compact':
      return { type, everyMs: values.has('every') ? values.milliseconds('every') : undefined }
  }
}

/** The members of one rule. */
class Values {
  readonly #text: string
  readonly #members: ReadonlyMap<string, string>

  constructor(text: string, members: ReadonlyMap<string, string>) {
    this.#text = text
    this.#members = members
  }

  has(name: string): boolean {
    return this.#members.has(name)
  }

  wrong(name: string, expected: string): CacheError {
    const value = this.#members.get(name)
    return invalid(
      this.#text,
      value === undefined
        ? `${name} is missing: it is ${expected}`
        : `${name} is "${value}": it is ${expected}`,
    )
  }

  /** Several names are separated by a bar. */
  names(name: string): ReadonlySet<string> | undefined {
    const text = this.#members.get(name)
    if (text === undefined || text === '*') return undefined
    const names = text.split('|')
    if (names.includes('')) throw this.wrong(name, 'one name, or several with | between them')
    return new Set(names)
  }

  count(name: string, fallback: number): number {
    const text = this.#members.get(name)
    if (text === undefined) return fallback
    if (!/^\d{1,9}$/.test(text)) throw this.wrong(name, 'a whole number')
    return Number(text)
  }

  share(): number {
    const text = this.#members.get('share')
    if (text === undefined) return 1
    const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1]
    const share = percent === undefined ? Number.NaN : Number(percent) / 100
    if (!(share > 0 && share <= 1)) throw this.wrong('share', 'a percentage such as 10%')
    return share
  }

  bytes(name: string, pattern: RegExp, fallback?: number): number {
    const text = this.#members.get(name)
    if (text === undefined && fallback !== undefined) return fallback
    const [, digits, unit = 'B'] = pattern.exec(text ?? '') ?? []
    const bytes = Number(digits) * { B: 1, KB: 1024, MB: 1024 * 1024 }[unit as 'B' | 'KB' | 'MB']
    if (digits === undefined || (bytes === 0 && fallback === undefined)) {
      throw this.wrong(name, fallback === undefined ? 'such as 10KB/s' : 'a size such as 64KB')
    }
    return bytes
  }

  milliseconds(name: string, fallback?: number): number {
    if (fallback !== undefined && !this.has(name)) return fallback
    const ms = millisecondsOf(this.#members.get(name) ?? '')
    if (ms === undefined || ms === 0) throw this.wrong(name, 'a time such as 200ms, 5s or 1m')
    return ms
  }

  /** One time, or a range from which each is drawn. */
  delay(fallback = ''): { readonly minMs: number; readonly maxMs: number } {
    const [from = '', to = from, ...more] = (this.#members.get('delay') ?? fallback).split('..')
    const [minMs, maxMs] = [millisecondsOf(from), millisecondsOf(to)]
    if (minMs === undefined || maxMs === undefined || minMs > maxMs || more.length > 0) {
      throw this.wrong('delay', 'a time such as 200ms, or a range such as 200ms..2s')
    }
    return { minMs, maxMs }
  }
}

/** At most a day, which any timer can wait for. */
function millisecondsOf(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})(ms|s|m|h)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  const ms = Number(digits) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's']
  return ms <= 86_400_000 ? ms : undefined
}

function isFaultType(text: string): text is FaultType {
  return Object.hasOwn(membersOf, text)
}

function invalid(text: string, problem: string): CacheError {
  return new CacheError('invalid_request', `fault "${text}": ${problem}`)
}
