/** The most requests that were under way at once, in the last second and in this one. A scrape
 *  that counted those of its own moment would hardly ever find any. */

import type { Series } from './exposition.ts'

const windowMs = 1_000

/** Requests of one kind. */
interface Kind {
  now: number
  most: number
  mostBefore: number
  window: number
}

function none(): Kind {
  return { now: 0, most: 0, mostBefore: 0, window: 0 }
}

export class InFlight {
  readonly #reads = none()
  readonly #writes = none()
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  began(isMutating: boolean, nowMs: number): void {
    const kind = isMutating ? this.#writes : this.#reads
    roll(kind, nowMs)
    kind.now++
    if (kind.now > kind.most) kind.most = kind.now
  }

  ended(isMutating: boolean): void {
    const kind = isMutating ? this.#writes : this.#reads
    kind.now--
  }

  /** The series of both kinds. */
  most(): Series[] {
    const nowMs = this.#monotonicMs()
    return [
      [['readOnly'], mostOf(this.#reads, nowMs)],
      [['mutating'], mostOf(this.#writes, nowMs)],
    ]
  }
}

function mostOf(kind: Kind, nowMs: number): number {
  roll(kind, nowMs)
  return Math.max(kind.most, kind.mostBefore)
}

function roll(kind: Kind, nowMs: number): void {
  const window = Math.floor(nowMs / windowMs)
  if (window === kind.window) return
  kind.mostBefore = window === kind.window + 1 ? kind.most : kind.now
  kind.most = kind.now
  kind.window = window
}
