/** The stand-in for tap that tests get while mutants are tried: the same assertions, in this
 *  process, that give up at the first that fails. A test that needs more of tap than there is here
 *  fails without any mutant, and is not asked. */

import { createRequire } from 'node:module'

interface Comparison {
  readonly match: boolean
}

type Compare = (value: unknown, pattern: unknown) => Comparison

// Values are compared by tap's own package.
const tapRequire = createRequire(createRequire(import.meta.url).resolve('@tapjs/asserts'))
const { same, strict, match } = tapRequire('tcompare') as Record<string, Compare> & {
  readonly same: Compare
  readonly strict: Compare
  readonly match: Compare
}

type Body = (t: Test) => unknown
type Thrower = () => unknown

interface Options {
  readonly skip?: boolean | string | undefined
}

export class Test {
  readonly name: string
  #failure: Error | undefined
  #last: Promise<unknown>
  readonly #teardowns: (() => unknown)[] = []

  constructor(name: string, begin: Promise<unknown> = Promise.resolve()) {
    this.name = name
    this.#last = begin
  }

  test(name: string, ...rest: readonly [Body] | readonly [Options, Body]): Promise<void> {
    const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest
    const skip = options.skip ?? false
    const run = async (): Promise<void> => {
      if (this.#failure !== undefined || (skip !== false && skip !== '')) return
      const child = new Test(name)
      try {
        await child.run(body)
      } catch (error) {
        this.#failure ??= error as Error
      }
    }
    const ended = this.#last.then(run)
    this.#last = ended
    return ended
  }

  async run(body: Body): Promise<void> {
    try {
      await body(this)
      await this.ended()
    } finally {
      await this.tearDown()
    }
  }

  async tearDown(): Promise<void> {
    for (const teardown of this.#teardowns.splice(0).reverse()) await teardown()
  }

  /** Rejects if anything has failed. */
  async ended(): Promise<void> {
    let last
    do {
      last = this.#last
      await last
    } while (last !== this.#last)
    if (this.#failure !== undefined) throw this.#failure
  }

  teardown(teardown: () => unknown): void {
    this.#teardowns.push(teardown)
  }

  equal(a: unknown, b: unknown): void {
    this.ok(Object.is(a, b) || a === b)
  }

  not(a: unknown, b: unknown): void {
    this.ok(a !== b)
  }

  same(a: unknown, b: unknown): void {
    this.ok(same(a, b).match)
  }

  strictSame(a: unknown, b: unknown): void {
    this.ok(strict(a, b).match)
  }

  match(a: unknown, pattern: unknown): void {
    this.ok(match(a, pattern).match)
  }

  matchOnly(a: unknown, pattern: unknown): void {
    this.match(a, pattern)
  }

  notMatch(a: unknown, pattern: unknown): void {
    this.ok(!match(a, pattern).match)
  }

  ok(value: unknown): void {
    if (value) return
    this.#failure ??= new Error(`${this.name}: failed`)
    throw this.#failure
  }

  notOk(value: unknown): void {
    this.ok(!value)
  }

  type(value: unknown, type: string | (new (...values: never[]) => unknown)): void {
    // oxlint-disable-next-line valid-typeof
    this.ok(typeof type === 'string' ? typeof value === type : value instanceof type)
  }

  throws(thrower: Thrower, expected?: unknown): void {
    let thrown: unknown
    try {
      thrower()
    } catch (error) {
      thrown = error
    }
    this.ok(thrown !== undefined)
    if (isPattern(expected)) this.match(thrown, expected)
  }

  doesNotThrow(thrower: Thrower): void {
    thrower()
  }

  async rejects(promise: Promise<unknown> | Thrower, expected?: unknown): Promise<void> {
    let thrown: unknown
    try {
      await (typeof promise === 'function' ? promise() : promise)
    } catch (error) {
      thrown = error
    }
    this.ok(thrown !== undefined)
    if (isPattern(expected)) this.match(thrown, expected)
  }

  pass(): void {}

  fail(): void {
    this.ok(false)
  }

  comment(): void {}

  end(): void {}

  setTimeout(): void {}
}

function isPattern(expected: unknown): boolean {
  return expected !== undefined && typeof expected !== 'string'
}

/** The tests of the file that is imported: of one at a time. They begin after its top level. */
let root = new Test('')

export function beginFile(): Test {
  root = new Test('', new Promise(resolve => setImmediate(resolve)))
  return root
}

const proxy: Test = new Proxy({} as Test, {
  get: (_, name) => {
    const value: unknown = Reflect.get(root, name)
    return typeof value === 'function' ? (value as Thrower).bind(root) : value
  },
})

// oxlint-disable-next-line import/no-default-export
export default proxy
