/** Chance enters the system only through a `Random`, so that a seed replays everything. */

export interface Random {
  /** A number from 0 up to, not including, 1. */
  next(): number
}

/** A generator whose whole sequence follows from `seed` (mulberry32: 32 bits of state, good enough
 *  for tests, spreading and jitter, never for secrets). */
export function createRandom(seed: number): Random {
  let taken = 0
  return { next: () => randomAt(seed, taken++) }
}

/** The number at a place of that sequence, from 0 on. */
export function randomAt(seed: number, index: number): number {
  const state = (seed + Math.imul(index + 1, 0x6d2b79f5)) >>> 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
}

/** A whole number from `min` to `max`, both included. */
export function randomInt(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1))
}

/** One of `items`, which must not be empty. */
export function randomItem<T>(random: Random, items: readonly T[]): T {
  const item = items[randomInt(random, 0, items.length - 1)]
  if (item === undefined) throw new RangeError('no items to choose from')
  return item
}
