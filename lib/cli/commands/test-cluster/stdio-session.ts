/** The session of `run --stdio` with the program that started it, over standard input and output:
 *
 *      > {"KUBECONFIG":"/tmp/...","WATCHGLASS_ADMIN":"http://127.0.0.1:40123",...}
 *      < {"apply":[{"apiVersion":"v1","kind":"Namespace",...},"config/crd"]}
 *      > {}
 *
 *  The end of the input ends the cluster. The system closes it whatever ends the other program, so
 *  that nothing stays behind a test that was killed. */

import { createInterface, type Interface } from 'node:readline'
import { CacheError, isObject } from '@watchglass/base'
import { type ChildEnd, codeOfSignal } from './child.ts'
import { type Manifest, manifestsAmong } from './manifests.ts'
import { invalid } from '../../options/invalid.ts'

export interface StdioSessionOptions {
  /** The first line: the variables that a command would get. */
  readonly found: Readonly<Record<string, string>>
  readonly apply: (manifests: readonly Manifest[]) => Promise<void>
}

export class StdioSession {
  readonly ended: Promise<ChildEnd>
  readonly #lines: Interface
  readonly #apply: StdioSessionOptions['apply']
  #code = 0

  constructor({ found, apply }: StdioSessionOptions) {
    this.#apply = apply
    this.#lines = createInterface({ input: process.stdin })
    process.stdin.on('error', () => this.#lines.close())
    write(found)
    this.ended = this.#answerAll().then(() => ({ code: this.#code }))
  }

  pass(signal: NodeJS.Signals): void {
    this.#code = codeOfSignal(signal)
    this.#lines.close()
    process.stdin.destroy()
  }

  async #answerAll(): Promise<void> {
    for await (const line of this.#lines) write(await this.#answer(line))
  }

  async #answer(line: string): Promise<object> {
    try {
      await this.#apply(manifestsAmong(partsIn(line)))
      return {}
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      return { error: error.message }
    }
  }
}

function partsIn(line: string): readonly unknown[] {
  const request = parsed(line)
  const parts = isObject(request) ? request['apply'] : undefined
  if (!Array.isArray(parts)) throw invalid('a line of --stdio is {"apply":[...]}')
  return parts
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function write(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
