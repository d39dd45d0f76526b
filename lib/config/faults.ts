/** The options of faults on purpose. */

import type { Option } from './option.ts'

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
