/** Memory and descriptors of a program over time. */

import { readFileSync, readdirSync } from 'node:fs'
import type { HeapSample } from './collect.ts'
import { type Sample, type Trend, trendOf } from './flatness.ts'
import type { Program } from './programs.ts'

const mebibyte = 1024 * 1024

export class ProgramSamples {
  readonly #program: Program
  readonly #rss: Sample[] = []
  readonly #descriptors: Sample[] = []

  constructor(program: Program) {
    this.#program = program
  }

  take(): void {
    const atMs = Date.now()
    const { pid } = this.#program.child
    const kibibytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    this.#rss.push({ atMs, value: Number(kibibytes) / 1024 })
    this.#descriptors.push({ atMs, value: this.descriptors() })
  }

  descriptors(): number {
    return readdirSync(`/proc/${this.#program.child.pid}/fd`).length
  }

  /** How memory in MiB and descriptors go on after a time. The heap is that of all threads, right after a collection. */
  trends(fromMs: number): Readonly<Record<'rss' | 'heap' | 'descriptors', Trend>> {
    const after = (samples: readonly Sample[]): Sample[] =>
      samples.filter(({ atMs }) => atMs >= fromMs)
    return {
      rss: trendOf(after(this.#rss)),
      heap: trendOf(after(heapOf(this.#program.heapFile))),
      descriptors: trendOf(after(this.#descriptors)),
    }
  }
}

/** The sum over all threads: what each has said last, whenever the main thread says something. */
function heapOf(file: string): Sample[] {
  const latest = new Map<number, number>()
  const samples: Sample[] = []
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
    const { thread, atMs, bytes } = JSON.parse(line) as HeapSample
    latest.set(thread, bytes)
    if (thread !== 0) continue
    const sum = [...latest.values()].reduce((all, one) => all + one, 0)
    samples.push({ atMs, value: sum / mebibyte })
  }
  return samples
}
