/** The messages between the processes of this bench. Times are those of the machine's monotonic
 *  clock, which all of them share. */

/** The stamp of an event: when they were written, in microseconds, with all its digits. */
export const stampMark = '"bench/stamp":"'
export const stampDigits = 16

export function nowMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

export function stampOf(microseconds: number): string {
  return String(Math.round(microseconds)).padStart(stampDigits, '0')
}

/** To the process that has the etcd, and to the ceiling: make changes at a rate, round and round
 *  the first so many pods. */
export interface ChangeOrder {
  readonly type: 'change'
  readonly perSecond: number
  readonly ms: number
  /** To the ceiling: who is told, all watchers or the one whose turn it is. */
  readonly toldTo: 'all' | 'one'
  readonly pods: number
}

export interface ChangeReport {
  readonly changes: number
}

/** To the ceiling: write to all watchers as fast as they take it. */
export interface FloodOrder {
  readonly type: 'flood'
  readonly ms: number
}

/** To the ceiling: answer with what that server says from now on. */
export interface CopyOrder {
  readonly type: 'copy'
  readonly port: number
  readonly path: string
}

export interface CopyReport {
  readonly bytes: number
  readonly frameBytes: number
}

export interface UsageOrder {
  readonly type: 'usage'
  /** Memory is of interest: everything is collected first that can be. */
  readonly isSettled: boolean
}

export interface UsageReport {
  readonly cpuSeconds: number
  readonly heapBytes: number
  readonly rssBytes: number
}

/** To who watches: open these, and count what comes. */
export interface OpenOrder {
  readonly type: 'open'
  readonly name: string
  readonly port: number
  readonly version: '1.1' | '2' | 'WebSocket'
  /** A watcher for each. Over HTTP/2 a hundred share a connection. */
  readonly paths: readonly string[]
  /** Each connection reads no more than this; undefined: all that comes. */
  readonly bytesPerSecond?: number | undefined
}

export interface CountOrder {
  readonly type: 'count'
  readonly name: string
  readonly ms: number
}

export interface CountReport {
  readonly events: number
  readonly seconds: number
  /** Time of the processor for the readers, and their lags. */
  readonly readerCpuSeconds: number
  readonly lagP50Ms: number
  readonly lagP99Ms: number
  readonly lagMaxMs: number
  /** Connections that have ended since they were opened. */
  readonly ended: number
}

/** To who watches: send all of these requests at once, and say when each has got so many bytes. */
export interface DownloadOrder {
  readonly type: 'download'
  readonly port: number
  readonly path: string
  readonly streams: number
  readonly bytes: number
}

export interface DownloadReport {
  readonly seconds: number
  readonly bytes: number
}

export interface CloseOrder {
  readonly type: 'close'
  readonly name: string
}

/** To the process that has the etcd of bursts: make so many objects. */
export interface MakeOrder {
  readonly type: 'make'
  readonly objects: number
}

/** To the same: delete all of them in one transaction. */
export interface DeleteAllOrder {
  readonly type: 'delete all'
}

/** To the ceiling: write the first frames of what was copied to all watchers, one by one. */
export interface PourOrder {
  readonly type: 'pour'
  readonly frames: number
}

/** To who watches a burst: so many watchers, in place of those before. */
export interface WatchAllOrder {
  readonly type: 'watch all'
  readonly port: number
  readonly path: string
  readonly watchers: number
}

/** To the same: say when each has got so many frames from now on. */
export interface TakeOrder {
  readonly type: 'take'
  readonly frames: number
}

export interface TakeReport {
  /** Until somebody had the first frame, and from then until all had all. */
  readonly firstMs: number
  readonly restMs: number
}

/** To a bystander: get an object again and again, until it is told to stop. */
export interface GetsOrder {
  readonly type: 'gets'
  readonly port: number
  readonly path: string
  readonly everyMs: number
}

export interface GetsReport {
  readonly gets: number
  readonly lateMaxMs: number
}
