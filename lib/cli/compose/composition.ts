/** Makes, starts and stops the parts of something in the order of what they need.
 *
 *  A table has one row for each part: the parts that it needs, and how it comes and goes. `make`
 *  sees what it needs and nothing else, so a part that no row makes does not compile; a circle is
 *  refused by name, and `test/cli/compose/parts.test.ts` looks for one. The order is never written
 *  down:
 *
 *  ```
 *  make    in the order of needs, all parts before any is started
 *  start   in the same order, one after the other
 *  stop    in the opposite one: a part as soon as everything that needs it has stopped, and those
 *          that do not need each other at once
 *  ```
 *
 *  A part may need another for the order alone: who says why in its row. */

import { assert } from '@watchglass/base'

/** A row of a table of parts: `Given` is what all are made from. */
export interface PartRow<Parts, Given, Made> {
  readonly needs: readonly (keyof Parts)[]
  make(parts: Parts, given: Given): Made | Promise<Made>
  start?(made: Made, parts: Parts, given: Given): void | Promise<void>
  /** Gives back what was made and started: it may be called before `start`. */
  stop?(made: Made, parts: Parts): void | Promise<void>
}

export type PartTable<Parts, Given> = {
  readonly [Name in keyof Parts]: PartRow<Parts, Given, Parts[Name]>
}

/** A row as it is written: its functions see the parts that it names. */
interface WrittenPart<Seen, Given, Made, Need> {
  readonly needs: readonly Need[]
  readonly make: (parts: Seen, given: Given) => Made | Promise<Made>
  readonly start?: (made: Made, parts: Seen, given: Given) => void | Promise<void>
  readonly stop?: (made: Made, parts: Seen) => void | Promise<void>
}

export type WritePart<Parts, Given> = <Made, const Need extends keyof Parts = never>(
  row: WrittenPart<Pick<Parts, Need>, Given, Made, Need>,
) => PartRow<Parts, Given, Made>

/** For the rows of one table. */
export function partOf<Parts, Given>(): WritePart<Parts, Given> {
  return row => row
}

export class Composition<Parts, Given> {
  readonly parts: Parts
  readonly #table: PartTable<Parts, Given>
  readonly #given: Given
  readonly #made: (keyof Parts)[] = []

  private constructor(table: PartTable<Parts, Given>, given: Given) {
    this.#table = table
    this.#given = given
    this.parts = {} as Parts
  }

  /** Makes all parts. If one cannot be made, those that were are stopped. */
  static async make<Parts, Given>(
    table: PartTable<Parts, Given>,
    given: Given,
  ): Promise<Composition<Parts, Given>> {
    const composition = new Composition(table, given)
    try {
      for (const name of orderOf(table)) await composition.#make(name)
    } catch (error) {
      await composition.stop()
      throw error
    }
    return composition
  }

  /** Starts all parts. If one cannot be started, all are stopped. */
  async start(): Promise<void> {
    try {
      for (const name of this.#made) {
        await this.#table[name].start?.(this.parts[name], this.parts, this.#given)
      }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Without a promise there is no turn of the event loop before the next part is made. */
  #make(name: keyof Parts): Promise<void> | void {
    const one = this.#table[name].make(this.parts, this.#given)
    if (one instanceof Promise) return one.then(made => this.#add(name, made))
    this.#add(name, one)
  }

  #add<Name extends keyof Parts>(name: Name, part: Parts[Name]): void {
    this.parts[name] = part
    this.#made.push(name)
  }

  /** Stops what was made. Parts that nothing needs are told in this turn. A part that fails to stop
   *  keeps no other from it; the first failure is thrown in the end. */
  async stop(): Promise<void> {
    const ends = new Map<keyof Parts, Promise<void> | undefined>()
    for (const name of this.#made.toReversed()) {
      const before = this.#made
        .filter(other => this.#table[other].needs.includes(name))
        .flatMap(other => ends.get(other) ?? [])
      ends.set(
        name,
        before.length === 0
          ? this.#stopOne(name)
          : Promise.allSettled(before).then(() => this.#stopOne(name)),
      )
    }
    const ended = [...ends.values()].filter(end => end !== undefined)
    const results = await Promise.allSettled(ended)
    const failed = results.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  #stopOne(name: keyof Parts): Promise<void> | undefined {
    try {
      const end = this.#table[name].stop?.(this.parts[name], this.parts)
      return end instanceof Promise ? end : undefined
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** The names of a table, each after those that it needs; parts that do not need each other in the
 *  order of their rows. */
export function orderOf<Parts, Given>(table: PartTable<Parts, Given>): (keyof Parts)[] {
  const order = new Set<keyof Parts>()
  const visit = (name: keyof Parts, path: readonly (keyof Parts)[]): void => {
    if (order.has(name)) return
    assert(
      !path.includes(name),
      `parts need each other: ${[...path, name].map(String).join(' > ')}`,
    )
    for (const need of table[name].needs) visit(need, [...path, name])
    order.add(name)
  }
  for (const name of Object.keys(table) as (keyof Parts)[]) visit(name, [])
  return [...order]
}

/** A call from a part to one that is made after it, and that needs it. Until that one answers, the
 *  fallback does. */
export class LateCall<Args extends readonly unknown[], Result> {
  #answer: (...args: Args) => Result

  constructor(fallback: (...args: Args) => Result) {
    this.#answer = fallback
  }

  readonly call = (...args: Args): Result => this.#answer(...args)

  answerWith(answer: (...args: Args) => Result): void {
    this.#answer = answer
  }
}
