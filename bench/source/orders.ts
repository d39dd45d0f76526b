/** The orders that a bench of the source gives to its processes, and their answers. */

/** Marks the moment of a write in the object that it writes: microseconds of the machine's
 *  monotonic clock, which all processes share. */
export const stampMark = 'stamped='
export const stampDigits = 16

export function stampOf(microseconds: number): string {
  return `${stampMark}${String(Math.round(microseconds)).padStart(stampDigits, '0')}`
}

export function nowMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

export type InformersOrder =
  | {
      readonly type: 'start'
      readonly url: string
      readonly token: string
      readonly clients: number
      readonly paths: readonly string[]
    }
  /** Waits until each form is answered by the mirror. */
  | {
      readonly type: 'warm'
      readonly url: string
      readonly token: string
      readonly paths: readonly string[]
    }
  /** Forgets all lags so far. */
  | { readonly type: 'forget' }
  | { readonly type: 'report' }
  | { readonly type: 'stop' }

export interface SyncedReport {
  readonly seconds: number
  /** Answered by the mirror, of all. */
  readonly mirrored: number
}

export interface LagsReport {
  readonly events: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Watches of informers that were ended, each of which went on. */
  readonly ended: number
}

export interface RelayReport {
  readonly port: number
  /** Sent by the upstream so far, with all of TLS and HTTP. */
  readonly bytes: number
}

export interface StandInReport {
  readonly url: string
  readonly etcd: string
}
