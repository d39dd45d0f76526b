/** Options of `serve` about its process: memory, threads, state that lasts, faults on purpose. */

import type { Option } from './option.ts'

export const memoryOption: Option = {
  name: 'memory-budget',
  value: 'SIZE',
  help: 'The most memory that mirror, history, indexes and encoded objects may use together, such as 4GiB or 500MiB. Above it encoded objects are dropped first, then indexes, then history; then the largest resources go to the upstream. Without --upstream, a start that does not fit is refused.',
}

export const threadsOption: Option = {
  name: 'threads',
  value: 'N|auto',
  fallback: '1',
  help: 'How many threads serve clients, 1 to 64. With 1 the main thread does; with more it keeps the mirror of etcd and serves nobody. More than 1 needs Linux and Node 22.12 or newer. auto: one for each core but one, at most 8; 1 on machines with up to two cores, with --upstream, and where more are not possible.',
}

/** The state of the embedded etcd that lasts: its place, and when a write counts. */
export const dataFolderOptions: readonly Option[] = [
  {
    name: 'data-dir',
    value: 'DIR',
    help: 'Keeps the state of the embedded etcd in this folder, which is made if it is missing, and goes on from there at the next start. --load and --generate fill a new folder only.',
  },
  {
    name: 'durability',
    value: 'WHEN',
    choices: ['os', 'fsync'],
    help: 'When a write to --data-dir is answered. os: the system has it, so that it outlives the process (default). fsync: the disk has it, so that it outlives a power failure.',
  },
]

export const faultOptions: readonly Option[] = [
  {
    name: 'fault',
    value: 'RULE',
    many: true,
    help: 'A fault that requests meet on purpose, to test clients: "latency,delay=200ms,verb=list", "error,code=429,share=10%", "watch-expired,after=100"; or that simulated nodes and pods meet: "node-down,every=5m,for=1m", "pod-crash,share=10%", "image-pull,image=nginx*". deploy/LOADTEST.md has all. Without --upstream only.',
  },
  {
    name: 'fault-seed',
    value: 'N',
    fallback: '1',
    help: 'The same seed and the same order of requests meet the same faults.',
  },
]
