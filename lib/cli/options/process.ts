/** Options of `serve` about its process: memory, threads, state that lasts, faults on purpose. */

import { onlyEmbedded } from './etcd.ts'
import type { DefaultedOption, Option, ParsedOption } from './option.ts'
import { given, oneOf } from './rules.ts'

const units: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** In bytes. */
export const memoryOption: ParsedOption<number> = {
  name: 'memory-budget',
  value: 'SIZE',
  help: 'The most memory that mirror, history, indexes and encoded objects may use together, such as 4GiB or 500MiB. Above it encoded objects are dropped first, then indexes, then history; then the largest resources go to the upstream. Without --upstream, a start that does not fit is refused.',
  parse(text) {
    const [, digits, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMG]iB)$/.exec(text) ?? []
    const bytes = Number(digits) * (units[unit] ?? 0)
    return bytes >= 1 ? bytes : undefined
  },
  wrong: 'is not a size such as 4GiB',
}

export const threadsOption: DefaultedOption<number | 'auto'> = {
  name: 'threads',
  value: 'N|auto',
  fallback: '1',
  help: 'How many threads serve clients, 1 to 64. With 1 the main thread does; with more it keeps the mirror and serves nobody. More than 1 needs Linux and Node 22.12 or newer. auto: one for each core but one, at most 8; 1 on machines with up to two cores, with --upstream, and where more are not possible.',
  parse(text) {
    if (text === 'auto') return text
    const count = Number(text)
    return /^\d{1,2}$/.test(text) && count >= 1 && count <= 64 ? count : undefined
  },
  wrong: 'is not auto or a number of threads from 1 to 64',
}

export const durabilityOption: ParsedOption<'os' | 'fsync'> = {
  name: 'durability',
  value: 'WHEN',
  help: 'When a write to --data-dir is answered. os: the system has it, so that it outlives the process (default). fsync: the disk has it, so that it outlives a power failure.',
  ...oneOf('os', 'fsync'),
  needs: [onlyEmbedded, { that: given('data-dir'), because: 'the folder that is written to' }],
}

/** The state of the embedded etcd that lasts: its place, and when a write counts. */
export const dataFolderOptions: readonly Option[] = [
  {
    name: 'data-dir',
    value: 'DIR',
    help: 'Keeps the state of the embedded etcd in this folder, which is made if it is missing, and goes on from there at the next start. --load and --generate fill a new folder only.',
    needs: [onlyEmbedded],
  },
  durabilityOption,
]

export const faultOption: Option = {
  name: 'fault',
  value: 'RULE',
  many: true,
  help: 'A fault that requests meet on purpose, to test clients: "latency,delay=200ms,verb=list", "error,code=429,share=10%", "watch-expired,after=100"; or that simulated nodes and pods meet: "node-down,every=5m,for=1m", "pod-crash,share=10%", "image-pull,image=nginx*". docs/LOADTEST.md has all. Without --upstream only.',
  excludes: [
    {
      that: given('upstream'),
      says: 'is for a server without an upstream: leave out --fault or --upstream',
    },
  ],
}

export const faultSeedOption: DefaultedOption<number> = {
  name: 'fault-seed',
  value: 'N',
  fallback: '1',
  help: 'The same seed and the same order of requests meet the same faults.',
  parse: text => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  wrong: 'is not a whole number',
}

export const faultOptions: readonly Option[] = [faultOption, faultSeedOption]
