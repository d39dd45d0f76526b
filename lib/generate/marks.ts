/** Marks for what differs between the objects of workloads of one shape, and the same of a workload: see stamp.ts. */

import { imageOf } from './names.ts'
import type { Variables } from './stamp.ts'
import type { PodTemplate, Workload } from './topology.ts'

/** A number that no generated object has by chance; several seconds before and after it are as rare. */
export function markNumber(index: number): number {
  return 1_500_000_000 + index * 1_000
}

/** In a regular expression, in JSON and in a path it stands for itself. */
function markText(index: number): string {
  return `@${index}@`
}

/** Objects of workloads that are equal here have the same members. */
export function shapeName({ environmentSize, hasSidecar, number }: Workload): string {
  // The number decides about the resources that containers ask for, and a quantity is no text: it has a form of its own.
  return `${environmentSize} ${hasSidecar} ${number % 8}`
}

/** A workload like this one with marks in it. */
export function markedWorkload(workload: Workload): Workload {
  return {
    ...workload,
    name: markText(0),
    namespace: markText(1),
    team: markText(2),
    uid: markText(3),
    createdMs: markNumber(0) * 1_000,
    revision: markNumber(1),
    replicas: markNumber(2),
    port: markNumber(8),
    template: markedTemplate,
  }
}

/** The id has a dash, because there is a form of it without. */
export const markedTemplate: PodTemplate = {
  hash: markText(4),
  replicaSetUid: '@5-5@',
  image: imageOf(markText(0), markText(6)),
  imageDigest: markText(7),
}

/** What the marks stand for, in their order: further marks come behind these. */
export function variablesOf(workload: Workload, template: PodTemplate): Variables {
  const { name, namespace, team, uid, createdMs, revision, replicas, port } = workload
  const { hash, replicaSetUid, image, imageDigest } = template
  return {
    texts: [
      name,
      namespace,
      team,
      uid,
      hash,
      replicaSetUid,
      image.slice(image.lastIndexOf(':') + 1),
      imageDigest,
      replicaSetUid.replaceAll('-', ''),
      String(revision),
      String(replicas),
      String(surgeOf(replicas)),
      String(port),
    ],
    numbers: [Math.floor(createdMs / 1_000), revision, replicas, port],
  }
}

/** How many replicas a rollout may have for a while. */
export function surgeOf(replicas: number): number {
  return Math.ceil(replicas * 1.25)
}
