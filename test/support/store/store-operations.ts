/** Random operations on a keyspace. Keys, revisions and terms are numbers that the scenario maps to
 *  existing ones, so that every operation remains valid when earlier ones are left out, and
 *  failures shrink well. */

import fc from 'fast-check'

export type Operation =
  | {
      readonly type: 'batch'
      readonly changes: readonly RandomChange[]
      readonly step: number
      readonly ms: number
    }
  | {
      readonly type: 'run'
      readonly isDelete: boolean
      readonly at: number
      readonly length: number
      readonly terms: number
    }
  | { readonly type: 'advance'; readonly step: number; readonly ms: number }
  | { readonly type: 'compact'; readonly back: number }
  | { readonly type: 'restore'; readonly step: number; readonly share: number }
  | { readonly type: 'read'; readonly back: number; readonly range: RandomRange }
  | { readonly type: 'since'; readonly back: number }
  | { readonly type: 'refuse'; readonly key: number }
  | { readonly type: 'index'; readonly index: number; readonly isDrop: boolean }
  | { readonly type: 'build'; readonly entries: number }
  | {
      readonly type: 'readIndex'
      readonly index: number
      readonly term: number
      readonly back: number
      readonly range: RandomRange
    }

/** A put, or a delete when the key is there. */
export interface RandomChange {
  readonly key: number
  readonly isDelete: boolean
  /** A bit for each term that the value has. */
  readonly terms: number
}

export interface RandomRange {
  readonly start: number
  readonly end: number
  /** Whether the range begins and ends just after a key, instead of at it. */
  readonly isAfter: boolean
  readonly isOpen: boolean
  readonly limit: number | undefined
  readonly reverse: boolean
}

const key = fc.nat({ max: 5000 })
const terms = fc.nat({ max: 255 })
const step = fc.integer({ min: 1, max: 4 })
const ms = fc.nat({ max: 5 })
const back = fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 150 }))

const range: fc.Arbitrary<RandomRange> = fc.record({
  start: key,
  end: key,
  isAfter: fc.boolean(),
  isOpen: fc.boolean(),
  limit: fc.option(fc.nat({ max: 50 }), { nil: undefined }),
  reverse: fc.boolean(),
})

const change = fc.record({ key, isDelete: fc.boolean(), terms })

export const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      type: fc.constant('batch' as const),
      changes: fc.array(change, { minLength: 1, maxLength: 6 }),
      step,
      ms,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('run' as const),
      isDelete: fc.boolean(),
      at: key,
      length: fc.nat({ max: 1500 }),
      terms,
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('advance' as const), step, ms }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('compact' as const), back }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('restore' as const),
      step: fc.integer({ min: -50, max: 50 }),
      share: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 30, arbitrary: fc.record({ type: fc.constant('read' as const), back, range }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('since' as const), back }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('refuse' as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('index' as const),
      index: fc.nat({ max: 2 }),
      isDrop: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('build' as const),
      entries: fc.integer({ min: 1, max: 300 }),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant('readIndex' as const),
      index: fc.nat({ max: 2 }),
      term: fc.nat({ max: 7 }),
      back,
      range,
    }),
  },
)
