/** The callers whom a cluster has accepted: those to whom it is listed. The cluster is not asked
 *  for that, since asking would show the credentials of one cluster's users to the servers of all
 *  others. What is kept are keyed hashes of credentials. */

import { authorizationOf, hashed, type HttpRequest } from '@watchglass/cache'

/** The most callers of a cluster that are kept, and while it is idle. */
const keptMax = 256
const idleMax = 64
/** For so long a caller who has not come again is remembered. */
const keptMs = 12 * 3_600_000

export interface AcceptedCallersOptions {
  /** Headers in which a front proxy names the user, in lower case: behind its certificate are many
   *  users. Those that end with a dash are prefixes. */
  readonly identityHeaders: readonly string[]
  readonly nowMs: () => number
}

export class AcceptedCallers {
  readonly #options: AcceptedCallersOptions
  /** When each was accepted last, the oldest first. */
  #times = new Map<string, number>()

  constructor(options: AcceptedCallersOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#times.size
  }

  note(request: HttpRequest): void {
    const key = keyOf(request, this.#options.identityHeaders)
    if (key === undefined) return
    this.#times.delete(key)
    this.#times.set(key, this.#options.nowMs())
    if (this.#times.size > keptMax) this.#dropTo(keptMax)
  }

  knows(request: HttpRequest): boolean {
    if (this.#times.size === 0) return false
    const key = keyOf(request, this.#options.identityHeaders)
    const atMs = key === undefined ? undefined : this.#times.get(key)
    return atMs !== undefined && this.#options.nowMs() - atMs < keptMs
  }

  /** Keeps less while the cluster is idle. */
  shrink(): void {
    this.#dropTo(idleMax)
  }

  #dropTo(max: number): void {
    if (this.#times.size <= max) return
    this.#times = new Map([...this.#times].slice(-max))
  }
}

/** The hash of a connection's last credentials: most clients send the same again and again. */
interface LastKey {
  readonly credentials: string
  readonly key: string
}

const lastKeys = new WeakMap<object, LastKey>()

/** Undefined for a request without credentials. */
function keyOf(request: HttpRequest, identityHeaders: readonly string[]): string | undefined {
  const { peer } = request
  const token = authorizationOf(request)
  const certificate = peer.certificate()?.fingerprint256
  if (token === undefined && certificate === undefined) return undefined
  const texts = [token ?? '', certificate ?? '', ...identityIn(request, identityHeaders)]
  const credentials = texts.join('\n')
  const last = lastKeys.get(peer)
  if (last?.credentials === credentials) return last.key
  const key = hashed(['accepted', ...texts])
  lastKeys.set(peer, { credentials, key })
  return key
}

function identityIn({ rawHeaders }: HttpRequest, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const found: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!.toLowerCase()
    if (names.some(name => (name.endsWith('-') ? header.startsWith(name) : header === name))) {
      found.push(header, rawHeaders[i + 1]!)
    }
  }
  return found
}
