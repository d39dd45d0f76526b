/** The limits of a process with several threads: what all of them need to keep to these
 *  together. */

import type { Random } from '@watchglass/base'
import {
  adoptSalt,
  type CreateTally,
  saltOfHashes,
  type TallyName,
  tallyNames,
} from '@watchglass/cache'
import { createTallyMemory, forgetWorker, SharedTally } from './shared-tally.ts'

/** Can be sent to threads. */
export interface ProcessLimits {
  /** Callers have the same keys in all threads. */
  readonly salt: string
  readonly seed: number
  readonly tallies: Readonly<Record<TallyName, SharedArrayBuffer>>
}

export function createLimits(threads: number, random: Random): ProcessLimits {
  const tallies = tallyNames.map(name => [name, createTallyMemory(threads)])
  return {
    salt: saltOfHashes(),
    seed: Math.floor(random.next() * 0x1_0000_0000),
    tallies: Object.fromEntries(tallies) as Record<TallyName, SharedArrayBuffer>,
  }
}

/** In a thread, before any request. Workers are numbered from 0 on. */
export function joinLimits({ salt, seed, tallies }: ProcessLimits, thread: number): CreateTally {
  adoptSalt(salt)
  return (name, perUser, max) => {
    const unit = name === 'bytes' ? 1024 : 1
    return new SharedTally({ memory: tallies[name], thread, seed, perUser, max, unit })
  }
}

/** A thread has died: what it had taken is free. */
export function giveBack({ tallies }: ProcessLimits, thread: number): void {
  for (const name of tallyNames) forgetWorker(tallies[name], thread)
}
