/** The dumps of coverage that V8 writes when a process ends: read one by one, while others still
 *  run, and thrown away. The processes of all tests write gigabytes of them. */

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

export class CoverageDumps {
  readonly #folder: string
  readonly #isCounted: (url: string) => boolean
  /** By URL, a 1 for each character that some process has run. */
  readonly #run = new Map<string, Uint8Array>()
  /** So many dumps have been read. */
  count = 0

  constructor(folder: string, isCounted: (url: string) => boolean) {
    this.#folder = folder
    this.#isCounted = isCounted
  }

  /** Reads the dumps that are there. One that is not whole yet stays for the next time; `isLast`:
   *  there is none, so that it is an error. */
  take(isLast: boolean): void {
    for (const name of readdirSync(this.#folder)) {
      if (!/^coverage-.*\.json$/.test(name)) continue
      const file = join(this.#folder, name)
      let dump: { readonly result: readonly Script[] }
      try {
        dump = JSON.parse(readFileSync(file, 'utf8')) as typeof dump
      } catch (error) {
        // A process that is killed while it writes leaves half of one.
        if (isLast) process.stdout.write(`# ${file} is cut off: ${(error as Error).message}\n`)
        continue
      }
      for (const script of dump.result) if (this.#isCounted(script.url)) this.#add(script)
      rmSync(file)
      this.count++
    }
  }

  #add({ url, functions }: Script): void {
    let all = this.#run.get(url)
    if (all === undefined) {
      all = new Uint8Array(readFileSync(fileURLToPath(url), 'utf8').length)
      this.#run.set(url, all)
    }
    const own = new Uint8Array(all.length)
    // Inner ranges come after those that they are in, and count instead of them.
    for (const { ranges } of functions) {
      for (const { startOffset, endOffset, count } of ranges) {
        own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
      }
    }
    for (let i = 0; i < own.length; i++) if (own[i] === 1) all[i] = 1
  }

  /** Writes what was read as the dump of one process. */
  write(): void {
    const result = [...this.#run].map(([url, run], i) => ({
      scriptId: String(i),
      url,
      functions: [{ functionName: '', isBlockCoverage: true, ranges: rangesOf(run) }],
    }))
    writeFileSync(join(this.#folder, 'coverage-all.json'), JSON.stringify({ result }))
  }
}

/** The whole, and in it what never ran. */
function rangesOf(run: Uint8Array): Range[] {
  const ranges = [{ startOffset: 0, endOffset: run.length, count: 1 }]
  for (let start = run.indexOf(0); start >= 0;) {
    const next = run.indexOf(1, start)
    const end = next < 0 ? run.length : next
    ranges.push({ startOffset: start, endOffset: end, count: 0 })
    start = next < 0 ? -1 : run.indexOf(0, next)
  }
  return ranges
}
