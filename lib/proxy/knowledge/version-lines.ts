/** Asks a server of a chosen version while servers of several versions answer behind the same
 *  addresses. A server is known by its connection: a line is a connection of its own, whose server
 *  is asked for its version before and after a question.
 *
 *  That is no help where a balancer shares out the requests of one connection. It shows when a line
 *  names two versions, and is remembered: no server can be chosen then. */

import { CacheError } from '@watchglass/base'
import type { Questions, UpstreamLine } from '../upstream/upstream.ts'
import type { UpstreamAnswer, UpstreamCall } from '@watchglass/cache'
import { heardFrom } from '../upstream/ask.ts'
import { versionOf } from './server-versions.ts'

/** Lines that are opened to find a server of a version. If it is one of five, these miss it in 3 of
 *  100 cases. */
const triesMax = 16
/** Lines that are opened to servers which do not say their version: an upstream that has no answers
 *  now is not asked sixteen times for each question. */
const unansweredMax = 2
/** Lines that are kept for the next question, for each version: as many questions as are asked at
 *  the same time. */
const keptMax = 4

export class VersionLines {
  readonly #upstream: Pick<Questions, 'line'>
  /** Lines that are not in use, by version. */
  readonly #kept = new Map<string, UpstreamLine[]>()
  #isShared = false

  constructor(upstream: Pick<Questions, 'line'>) {
    this.#upstream = upstream
  }

  /** True if the requests of one connection were answered by servers of different versions. */
  get isShared(): boolean {
    return this.#isShared
  }

  /** Asks a server of that version (`ServerVersion.text`). Fails with `upstream_failed` if none is
   *  found. */
  async call(version: string, request: UpstreamCall): Promise<UpstreamAnswer> {
    const line = await this.#lineTo(version, request.signal)
    let isKept = false
    try {
      const answer = await line.call(request)
      const after = await this.#versionAt(line, request.signal)
      if (after !== version) throw this.#failure(after)
      isKept = true
      return answer
    } finally {
      if (isKept) this.#keep(version, line)
      else line.close()
    }
  }

  /** Closes lines to versions that do not answer any more. */
  forgetAllBut(versions: ReadonlySet<string>): void {
    for (const [version, lines] of this.#kept) {
      if (versions.has(version)) continue
      for (const line of lines) line.close()
      this.#kept.delete(version)
    }
  }

  async #lineTo(version: string, signal: AbortSignal): Promise<UpstreamLine> {
    const kept = this.#kept.get(version)
    for (let line = kept?.pop(); line !== undefined; line = kept?.pop()) {
      if (line.isOpen) return line
      line.close()
    }
    let unanswered = 0
    for (let tries = 0; tries < triesMax && unanswered < unansweredMax; tries++) {
      const line = this.#upstream.line()
      const found = await this.#versionAt(line, signal)
      // Twice, as a balancer may take servers in turn for the requests of one connection.
      const again = found === undefined ? undefined : await this.#versionAt(line, signal)
      if (found !== again) {
        line.close()
        throw this.#failure(again)
      }
      if (found === version) return line
      if (found === undefined) {
        unanswered++
        line.close()
      } else this.#keep(found, line)
    }
    throw new CacheError('upstream_failed', 'no server of the version was found')
  }

  #failure(other: string | undefined): CacheError {
    if (other !== undefined) this.#isShared = true
    const reason =
      other === undefined
        ? 'a server does not say its version, or closes connections after one request'
        : 'servers of different versions answer on one connection'
    return new CacheError('upstream_failed', reason)
  }

  #keep(version: string, line: UpstreamLine): void {
    const kept = this.#kept.get(version) ?? []
    if (kept.length >= keptMax || !line.isOpen) {
      line.close()
      return
    }
    kept.push(line)
    this.#kept.set(version, kept)
  }

  async #versionAt(line: UpstreamLine, signal: AbortSignal): Promise<string | undefined> {
    const path = '/version'
    const headers = { accept: 'application/json' }
    const call = line.call({ method: 'GET', path, headers, signal })
    const answer = await call.catch((error: unknown) => CacheError.from(error, 'upstream_failed'))
    const heard = heardFrom(path, answer)
    return heard.type === 'document' ? versionOf(heard.document)?.text : undefined
  }
}
