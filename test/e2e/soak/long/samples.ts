/** Memory and descriptors of a program over time. */

import { readFileSync, readdirSync } from 'node:fs'
import { ask } from '../../../support/http/served.ts'
import type { HeapSample } from './collect.ts'
import { type Sample, type Trend, sawtoothTrendOf, trendOf } from './flatness.ts'
import type { Program } from './programs.ts'

const mebibyte = 1024 * 1024

/** The uses of memory: as far as the program counts it, and where it lies. */
export interface MemoryUses {
  readonly slabs: number
  readonly segments: number
  readonly external: number
  /** The program and its libraries, as far as they have been read. */
  readonly files: number
  /** Pieces of malloc. The larger ones are among the rest. */
  readonly malloc: number
  /** V8's heaps, slabs and encoded leaves. */
  readonly rest: number
}

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

  /** In MiB, now. */
  async uses(): Promise<MemoryUses> {
    const { body } = await ask(this.#program.adminPort, { path: '/metrics' })
    const text = body.toString()
    const sumOf = (name: string): number =>
      [...text.matchAll(new RegExp(`^${name} (\\S+)$`, 'gm'))]
        .map(([, value]) => Number(value) / mebibyte)
        .reduce((sum, value) => sum + value, 0)
    return {
      slabs: sumOf('watchglass_slabs_bytes'),
      segments: sumOf('watchglass_segments_bytes'),
      external: sumOf('nodejs_external_memory_bytes'),
      ...residentOf(this.#program.child.pid!),
    }
  }

  descriptors(): number {
    return readdirSync(`/proc/${this.#program.child.pid}/fd`).length
  }

  /** Trends of memory in MiB and of descriptors after a time. The heap is that of all threads, as
   *  collections leave it; it has no trend if there were too few of them. */
  trends(fromMs: number): Readonly<Record<'rss' | 'heap' | 'descriptors', Trend | undefined>> {
    const after = (samples: readonly Sample[]): Sample[] =>
      samples.filter(({ atMs }) => atMs >= fromMs)
    const heap = after(heapOf(this.#program.heapFile))
    const rss = after(this.#rss)
    return {
      rss: this.#program.isCollected ? trendOf(rss) : sawtoothTrendOf(rss),
      heap: trendOf(heap),
      descriptors: trendOf(after(this.#descriptors)),
    }
  }
}

/** The kinds of memory that the system has for a process. */
function residentOf(pid: number): Pick<MemoryUses, 'files' | 'malloc' | 'rest'> {
  const kinds = { files: 0, malloc: 0, rest: 0 }
  let kind: keyof typeof kinds = 'rest'
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)$/.exec(line)
    if (mapping !== null) kind = kindOf(mapping[1]!)
    const kibibytes = /^Rss:\s+(\d+)/.exec(line)?.[1]
    if (kibibytes !== undefined) kinds[kind] += Number(kibibytes) / 1024
  }
  return kinds
}

function kindOf(mapped: string): 'files' | 'malloc' | 'rest' {
  if (mapped === '[heap]') return 'malloc'
  return mapped.startsWith('/') ? 'files' : 'rest'
}

/** The sum over all threads: what each has said last, once all of them have. */
function heapOf(file: string): Sample[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const spoken = lines.filter(Boolean).map(line => JSON.parse(line) as HeapSample)
  const threads = new Set(spoken.map(({ thread }) => thread)).size
  const latest = new Map<number, number>()
  const samples: Sample[] = []
  for (const { thread, atMs, bytes } of spoken) {
    latest.set(thread, bytes)
    if (latest.size < threads) continue
    const sum = [...latest.values()].reduce((all, one) => all + one, 0)
    samples.push({ atMs, value: sum / mebibyte })
  }
  return samples
}
