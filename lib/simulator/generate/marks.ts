/** Marks for the values that differ between similar workloads, and a workload with marks in their
 *  places: see stamp.ts. */

import { imageOf } from './names.ts'
import type { Variables } from '../stamps/stamp.ts'
import type { GeneratedTemplate, Workload } from './topology.ts'

/** A number that no generated object has by chance; nor the seconds just before and after it. */
export function markNumber(index: number): number {
  return 1_500_000_000 + index * 1_000
}

/** A mark needs no escaping in a regular expression, in JSON or in a path. */
function markText(index: number): string {
  return `@${index}@`
}

/** Workloads with the same name here have objects with the same members. */
export function shapeName({ environmentSize, hasSidecar, number }: Workload): string {
  // The number decides the resources that containers request, and a quantity cannot hold a mark: it
  // is not stored as text.
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

/** The id has a dash, because it is also written without dashes. */
export const markedTemplate: GeneratedTemplate = {
  hash: markText(4),
  replicaSetUid: '@5-5@',
  image: imageOf(markText(0), markText(6)),
  imageDigest: markText(7),
}

/** The values for the marks, in their order; further marks come after these. */
export function variablesOf(workload: Workload, template: GeneratedTemplate): Variables {
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

/** The largest number of replicas during a rollout. */
export function surgeOf(replicas: number): number {
  return Math.ceil(replicas * 1.25)
}
