/** Gathers what a look at a scripted pod needs: what its commands do, what it names and whether
 *  that is there, and which images it cannot have. */

import type { Key } from '@watchglass/base'
import { scriptRun, type ScriptRun } from '../containers/container-script.ts'
import type { PodContainer } from '../containers/declared-pod.ts'
import { imageProblem, type ImageProblem, type ImagePulls } from '../containers/image-pulls.ts'
import {
  boundedReader,
  configProblem,
  mountProblems,
  type ReadReference,
} from '../containers/missing-references.ts'
import { probeRuns } from '../containers/probes.ts'
import type { PodAddresses } from '../runtime/api-client.ts'
import type { Pod } from '../runtime/objects.ts'
import type { PodSyncParts } from './pod-sync.ts'

export interface ScriptedPodLook {
  readonly key: Key
  readonly nowMs: number
  readonly addresses: PodAddresses
  readonly pulls: ImagePulls
  readonly read: ReadReference
  /** A fault has it that an image cannot be pulled this time. */
  readonly pullFault: (image: string) => ImageProblem | undefined
  readonly crashesAfterMs: number | undefined
}

/** Everything that a look at a scripted pod needs. */
export async function syncPartsOf(pod: Pod, look: ScriptedPodLook): Promise<PodSyncParts> {
  const { key, nowMs, addresses, pulls, pullFault, crashesAfterMs } = look
  const { metadata, spec, status } = pod
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  // What a pod has mounted it keeps, and so do its containers.
  const isWaiting = status?.phase === undefined || status.phase === 'Pending'
  const read = boundedReader(look.read)
  const configProblems = new Map<string, string>()
  for (const container of isWaiting ? containers : []) {
    const problem = await configProblem(container, metadata.namespace ?? '', read)
    if (problem !== undefined) configProblems.set(container.name, problem)
  }
  const problemOf = (image: string): ImageProblem | undefined =>
    imageProblem(metadata.annotations, image) ?? pullFault(image)
  return {
    addresses,
    runs: new Map(await runsOf(pod, containers)),
    probes: new Map((await Promise.all(containers.map(one => probeRuns(pod, one)))).flat()),
    mounts: isWaiting ? await mountProblems(pod, read) : [],
    configProblems,
    pull: image => pulls.pull({ key, image, nowMs }, () => problemOf(image)),
    crashesAfterMs,
  }
}

async function runsOf(
  pod: Pod,
  containers: readonly PodContainer[],
): Promise<[string, ScriptRun][]> {
  const runs: [string, ScriptRun][] = []
  for (const container of containers) {
    const run = await scriptRun(pod, container, '')
    if (run !== undefined) runs.push([container.name, run])
  }
  return runs
}
