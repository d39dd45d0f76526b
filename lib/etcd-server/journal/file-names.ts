/** The files of a data folder. `snapshot-N` is the state before the first record of `log-N`, so a
 *  start reads the newest snapshot and the logs from its number on. Both exist under these names
 *  only once they are whole: until then they are `….new`. No I/O. */

import { CacheError } from '@watchglass/base'
import type { FileKind } from './frames.ts'

/** A process that uses the folder listens here, so that a second one finds out. */
export const lockName = 'in-use'

export function fileName(kind: FileKind, number: number): string {
  return `${kind}-${String(number).padStart(8, '0')}`
}

/** The name of a file that is being made. */
export function newName(name: string): string {
  return `${name}.new`
}

export interface FolderPlan {
  /** The number of the snapshot to begin with; undefined in a new folder. */
  readonly snapshot: number | undefined
  /** The numbers of the logs to read after it, in order. */
  readonly logs: readonly number[]
  /** Files that were left over when a process ended between two steps. */
  readonly leftovers: readonly string[]
}

/** The reading of a folder with these files; refuses one in which a file is missing. */
export function planOf(names: readonly string[]): FolderPlan {
  if (names.includes('member')) {
    throw invalid('is the data folder of an etcd, which watchglass cannot read: name another one')
  }
  const snapshots = numbersOf(names, 'snapshot')
  const logs = numbersOf(names, 'log')
  const unfinished = names.filter(name => /^(?:log|snapshot)-\d{8,}\.new$/.test(name))
  const snapshot = snapshots.at(-1)
  if (snapshot === undefined) {
    if (logs.length === 0) return { snapshot, logs, leftovers: unfinished }
    throw missing(fileName('snapshot', logs[0] as number), fileName('log', logs[0] as number))
  }
  const needed = logs.filter(number => number >= snapshot)
  needed.forEach((number, i) => {
    if (number !== snapshot + i) {
      throw missing(fileName('log', snapshot + i), fileName('log', number))
    }
  })
  // The first snapshot is there before the first log; each later one comes after its log.
  if (needed.length === 0 && snapshot > 1) {
    throw missing(fileName('log', snapshot), fileName('snapshot', snapshot))
  }
  const old = [
    ...snapshots.filter(number => number < snapshot).map(number => fileName('snapshot', number)),
    ...logs.filter(number => number < snapshot).map(number => fileName('log', number)),
  ]
  return { snapshot, logs: needed, leftovers: [...unfinished, ...old] }
}

function numbersOf(names: readonly string[], kind: FileKind): number[] {
  const pattern = new RegExp(`^${kind}-(\\d{8,15})$`)
  return names
    .flatMap(name => pattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

function missing(name: string, besides: string): CacheError {
  return invalid(
    `has ${besides}, but not ${name}: put the missing file back, or name an empty folder to begin again`,
  )
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
