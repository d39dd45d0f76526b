/** Problems of an expression, as cel-go shows them: with the place, the line and a caret. */

/** A problem at an offset of the source; without one it concerns all of it. */
export interface Problem {
  readonly offset: number | undefined
  readonly message: string
}

/** Longer lists end with how many more there are. */
const shownMax = 100

/** A line that is longer is not shown. */
const snippetMax = 16_384

export class Problems {
  readonly #source: string
  readonly #list: Problem[] = []
  #count = 0

  constructor(source: string) {
    this.#source = source
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  get list(): readonly Problem[] {
    return this.#list
  }

  add(offset: number | undefined, message: string): void {
    this.#count++
    if (this.#count <= shownMax) this.#list.push({ offset, message })
  }

  toString(): string {
    const sorted = this.#list.toSorted((a, b) => (a.offset ?? -1) - (b.offset ?? -1))
    const texts = sorted.map(problem => this.#shown(problem))
    const more = this.#count - this.#list.length
    if (more > 0) texts.push(`${more} more errors were truncated`)
    return texts.join('\n')
  }

  #shown({ offset, message }: Problem): string {
    if (offset === undefined) return `ERROR: <input>:-1:0: ${message}`
    if (this.#source === '') return `ERROR: <input>:1:0: ${message}`
    const start = this.#source.lastIndexOf('\n', offset - 1) + 1
    const end = this.#source.indexOf('\n', start)
    const line = this.#source.slice(start, end < 0 ? undefined : end).replaceAll('\t', ' ')
    let number = 1
    for (let at = this.#source.indexOf('\n'); at >= 0 && at < start;) {
      number++
      at = this.#source.indexOf('\n', at + 1)
    }
    const before = Array.from(line.slice(0, offset - start))
    const head = `ERROR: <input>:${number}:${before.length + 1}: ${message}`
    if (Buffer.byteLength(line) > snippetMax) return head
    const dots = before.map(char => (isWide(char) ? '\uff0e' : '.')).join('')
    const at = Array.from(line.slice(offset - start, offset - start + 2))[0]
    return `${head}\n | ${line}\n | ${dots}${at !== undefined && isWide(at) ? '\uff3e' : '^'}`
  }
}

function isWide(char: string): boolean {
  return (char.codePointAt(0) ?? 0) > 0x7f
}
