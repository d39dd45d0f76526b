/** The stages through which a change goes, by the files whose functions ran. */

import type { Profiler } from 'node:inspector'

/** The first that matches a file's address has it. */
const stages: readonly (readonly [stage: string, files: RegExp])[] = [
  ['gRPC and HTTP/2', /lib\/etcd\/(?:grpc|http2)\//],
  ['decoding of messages', /lib\/etcd\//],
  ['feed: order, progress', /lib\/cache\/mirror\//],
  ['tree, history, slabs', /lib\/store\//],
  ['indexes', /lib\/cache\/keepers\//],
  ['watches: who is told', /lib\/cache\/http\/watch\//],
  ['encodings', /lib\/(?:codec|go|kube)\//],
  ['HTTP', /lib\/cache\/http\//],
  ['base', /lib\/base\//],
  ['Node', /^node:/],
]

export const stageNames: readonly string[] = [
  ...stages.map(([stage]) => stage),
  'collector',
  'system, others',
]

/** The processor's time by stage, in milliseconds. */
export function timesOf({
  nodes,
  samples = [],
  timeDeltas = [],
}: Profiler.Profile): Map<string, number> {
  const stageOf = new Map(nodes.map(node => [node.id, stageOfFrame(node.callFrame)]))
  const times = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const stage = stageOf.get(id)
    if (stage === undefined) continue
    times.set(stage, (times.get(stage) ?? 0) + (timeDeltas[i] ?? 0) / 1000)
  }
  return times
}

function stageOfFrame({
  functionName,
  url,
}: {
  functionName: string
  url: string
}): string | undefined {
  if (functionName === '(idle)') return undefined
  if (functionName === '(garbage collector)') return 'collector'
  return stages.find(([, files]) => files.test(url))?.[0] ?? 'system, others'
}
