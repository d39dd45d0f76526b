/** YAML of people and of strangers, read by the package within bounds of ours. */

import { Composer, type CST, LineCounter, Parser } from 'yaml'

/** Levels that YAML may have, as go-yaml's converter to JSON allows them. */
export const yamlDepthMax = 500

/** A document nests too deep. */
export class YamlTooDeep extends Error {
  constructor() {
    super(`it nests deeper than ${String(yamlDepthMax)} levels`)
  }
}

/** The package's parser, with a bound on depth. What composes its documents calls itself for each
 *  level, and a regular expression that is compiled with little stack left ends the process: no
 *  error that could be caught. */
export class ShallowParser extends Parser {
  override *next(source: string): Generator<CST.Token, void> {
    yield* super.next(source)
    // What a document itself takes, and a scalar, comes on top.
    if (this.stack.length > yamlDepthMax + 4) throw new YamlTooDeep()
  }
}

/** The documents of a text, as values that JSON can have. The message of what is thrown is one line
 *  with the place. */
export function yamlValues(text: string): unknown[] {
  const lines = new LineCounter()
  const parser = new ShallowParser(lines.addNewLine)
  const values: unknown[] = []
  for (const document of new Composer({ logLevel: 'silent' }).compose(parser.parse(text))) {
    const [problem] = document.errors
    if (problem !== undefined) {
      const { line, col } = lines.linePos(problem.pos[0])
      throw new Error(`${problem.message} at line ${String(line)}, column ${String(col)}`)
    }
    values.push(valueOf(document.toJS()))
  }
  return values
}

function valueOf(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch (error) {
    throw new Error('an alias leads back to what it is in', { cause: error })
  }
}
