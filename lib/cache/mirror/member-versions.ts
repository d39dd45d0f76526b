/** The versions of one etcd's members, as far as they are known. Members are upgraded and
 *  downgraded while we run, and each such change ends the streams to them, so every endpoint is
 *  asked again whenever a stream is opened. */

import { CacheError, type Clock, type Logger, withTimeLimit } from '@watchglass/base'
import type { Source } from '@watchglass/etcd'
import type { MirrorLimits } from './limits.ts'
import { judgeVersions, type VersionReport } from './versions.ts'

export interface MemberVersionsOptions {
  readonly client: Source
  readonly clock: Clock
  readonly limits: Pick<MirrorLimits, 'statusTimeoutMs'>
  readonly logger: Logger
  /** False trusts every version. */
  readonly isCheckingVersions: boolean
}

export class MemberVersions {
  readonly #options: MemberVersionsOptions
  #report: VersionReport | undefined = undefined
  #refreshing: Promise<void> | undefined = undefined
  /** By endpoint, what each has said last. */
  readonly #known = new Map<string, string>()
  #said = ''

  constructor(options: MemberVersionsOptions) {
    this.#options = options
  }

  get report(): VersionReport | undefined {
    return this.#report
  }

  /** Whether progress marks from `endpoint` are correct; `undefined` while it has not answered. */
  isProgressSound(endpoint: string): boolean | undefined {
    const { client, isCheckingVersions } = this.#options
    if (!isCheckingVersions || client.status === undefined) return true
    const report = this.#report
    if (report === undefined) return undefined
    const isKnownOld = report.endpoints.some(one => one.text !== undefined && !one.isProgressSound)
    if (isKnownOld) return false
    return report.endpoints.some(one => one.endpoint === endpoint && one.isProgressSound)
      ? true
      : undefined
  }

  /** Asks every endpoint. Never rejects; concurrent calls share one round of questions. */
  refresh(signal: AbortSignal): Promise<void> {
    this.#refreshing ??= this.#refresh(signal).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { client, clock, limits, logger } = this.#options
    const ask = client.status?.bind(client)
    if (ask === undefined) return
    const maxMs = limits.statusTimeoutMs
    const late = (): CacheError =>
      new CacheError('source_failed', `etcd did not answer in ${maxMs} ms`)
    try {
      const statuses = await withTimeLimit({ clock, maxMs, signal, late }, limited => ask(limited))
      this.#report = judgeVersions(statuses)
      this.#say(this.#report)
    } catch (error) {
      const { message } = CacheError.from(error, 'source_failed')
      logger.debug('cannot ask etcd for its version', { error: message })
    }
  }

  /** Logs a change once: at start, and when a member has another version. One that does not answer
   *  now has the version that it had. */
  #say(report: VersionReport): void {
    const { logger } = this.#options
    for (const { endpoint, text } of report.endpoints) {
      if (text !== undefined) this.#known.set(endpoint, text)
    }
    if (this.#known.size === 0) return
    const text = report.endpoints
      .map(({ endpoint }) => `${endpoint}=${this.#known.get(endpoint) ?? 'unknown'}`)
      .join(' ')
    if (text === this.#said) return
    this.#said = text
    if (!report.isProgressSound) {
      logger.warn(
        'safe mode: progress notifications of etcd before 3.4.31 and 3.5.13 can be wrong; consistent reads wait for events, go ' +
          'to the upstream or to etcd within bounds, or are refused',
        { versions: text },
      )
    } else if (!report.areQuorumReadsSound) {
      logger.warn(
        'etcd before 3.4.42, 3.5.28 and 3.6.9 can answer a linearizable read with old data after one of its processes was paused',
        { versions: text },
      )
    } else {
      logger.info('etcd versions', { versions: text })
    }
  }
}
