/** A JSON document as a tree that keeps the text of numbers, and the names of members in their order: what YAML and CBOR are
 *  written from. JSON.parse would lose both. */

import { GiveUp, NotExact, giveUp } from '../not-exact.ts'

/** A number, `true`, `false` or `null`. */
export class Literal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Member = readonly [name: string, value: Tree]

/** An object's members, in the order of the document. */
export class Members {
  readonly list: readonly Member[]

  constructor(list: readonly Member[]) {
    this.list = list
  }
}

export type Tree = string | Literal | Members | readonly Tree[]

/** The document in `json`. */
export function treeFromJson(json: string): Tree | NotExact {
  try {
    return new TreeReader(json).read()
  } catch (error) {
    if (error instanceof GiveUp) return new NotExact(error.reason)
    throw error
  }
}

class TreeReader {
  readonly #json: string
  #at = 0

  constructor(json: string) {
    this.#json = json
  }

  read(): Tree {
    const start = this.#skipSpace()
    switch (this.#json.charAt(start)) {
      case '{':
        return this.#readObject()
      case '[':
        return this.#readArray()
      case '"':
        return this.#readText()
      default:
        return this.#readLiteral(start)
    }
  }

  #readObject(): Members {
    const members: Member[] = []
    while (this.#hasNext('}')) {
      this.#skipSpace()
      const name = this.#readText()
      if (this.#json[this.#skipSpace()] !== ':') return notJson()
      this.#at++
      members.push([name, this.read()])
    }
    return new Members(members)
  }

  #readArray(): Tree[] {
    const values: Tree[] = []
    while (this.#hasNext(']')) values.push(this.read())
    return values
  }

  /** Steps over the opening bracket or a comma; false at the end, which is stepped over, too. */
  #hasNext(end: string): boolean {
    const next = this.#json[this.#skipSpace()]
    if (next === undefined) return notJson()
    if (next !== end) {
      this.#at++
      if (next === ',') return true
      this.#skipSpace()
    }
    if (this.#json[this.#at] !== end) return true
    this.#at++
    return false
  }

  #readText(): string {
    const start = this.#at
    if (this.#json[start] !== '"') return notJson()
    let end = start + 1
    let isEscaped = false
    for (; ; end++) {
      const code = this.#json.charCodeAt(end)
      if (code === 0x22) break
      if (Number.isNaN(code)) return notJson()
      if (code === 0x5c) {
        isEscaped = true
        end++
      }
    }
    this.#at = end + 1
    if (!isEscaped) return this.#json.slice(start + 1, end)
    return JSON.parse(this.#json.slice(start, end + 1)) as string
  }

  #readLiteral(start: number): Literal {
    literal.lastIndex = start
    const text = literal.exec(this.#json)?.[0]
    if (text === undefined) return notJson()
    this.#at = start + text.length
    return new Literal(text)
  }

  #skipSpace(): number {
    for (; ; this.#at++) {
      const code = this.#json.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return this.#at
    }
  }
}

const literal = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function notJson(): never {
  return giveUp('value is not JSON')
}
