/** The memory that mirrored objects need, by the rule of docs/SIZING.md. */

import { defaultHistory, segmentsMaxBytes } from '@watchglass/cache'

const mebibyte = 1024 ** 2

/** A process that mirrors nothing. */
const emptyBytes = 110 * mebibyte
/** The entry of an object, beside its value. */
const entryBytes = 450
/** A change in the history, beside its value. */
const changeBytes = 1024
/** Whole lists in all forms: what was encoded is kept, up to a bound (`segmentsMaxBytes`). */
const listsTimes = 2.5
const listsBaseBytes = 16 * mebibyte

/** The objects of a resource. */
export interface ResourceSize {
  readonly objects: number
  /** The sum of their values. */
  readonly bytes: number
}

export interface MemoryNeed {
  readonly objectsBytes: number
  /** The most that whole lists take, in all forms, beside the objects. */
  readonly listsBytes: number
}

export function memoryNeed(sizes: readonly ResourceSize[]): MemoryNeed {
  const objects = sum(sizes.map(size => size.objects))
  const values = sum(sizes.map(({ bytes }) => bytes))
  return {
    objectsBytes: emptyBytes + objects * entryBytes + values,
    listsBytes: Math.min(segmentsMaxBytes, listsBaseBytes + listsTimes * values),
  }
}

/** The history of a resource that changes so often. */
export function historyBytes({ objects, bytes }: ResourceSize, changesPerSecond: number): number {
  const { maxBatches, maxAgeMs, maxBytes } = defaultHistory
  const changes = Math.min(maxBatches, (changesPerSecond * maxAgeMs) / 1000)
  const changed = changeBytes + (objects === 0 ? 0 : bytes / objects)
  return Math.min(maxBytes, changes * changed)
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

const units = ['KiB', 'MiB', 'GiB', 'TiB']

/** `3.9 KiB`, `240 MiB` */
export function sizeText(bytes: number): string {
  let [size, unit] = [bytes / 1024, 0]
  while (size >= 999.5 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1]
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`
}
