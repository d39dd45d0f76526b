/** The standing of each version of an aggregated resource: answered here, or why not and what would
 *  change that. The texts are for operators and authors of such servers. */

import type { LearnedOutput } from '@watchglass/codec'
import type { PassReason } from '@watchglass/kube'
import {
  type AggregatedResource,
  type aggregatedResource,
  untypedResource,
} from './aggregated-resource.ts'
import type { Learnt } from './learning.ts'

/** Why one version of a resource is not answered here. */
export interface Standing {
  readonly reason: PassReason
  readonly why: string
  readonly remedy: string
}

export interface Version {
  /** The resource without what was learnt. */
  readonly base: ReturnType<typeof aggregatedResource>
  readonly resource: AggregatedResource
  /** Undefined when it is answered here. */
  readonly standing: Standing | undefined
}

export const notLooked: Standing = {
  reason: 'unproven',
  why: 'it was not compared with the server yet',
  remedy: 'nothing: it is being looked at',
}
export const empty: Standing = {
  reason: 'unproven',
  why: 'there is no object yet, so nothing could be compared',
  remedy: 'nothing: it is compared when there is an object',
}

/** The standing of a version after learning. */
export function versionOf(
  base: Version['base'],
  learnt: Learnt,
  before: Version | undefined,
): Version {
  switch (learnt.type) {
    case 'learnt': {
      const { learned, listKind, warnings, isWatchCached } = learnt
      const resource = { ...base, listKind, warnings, isWatchCached }
      if (learned === undefined) {
        const columns = base.learned.table?.columns
        return { base, resource: untypedResource(resource, columns), standing: undefined }
      }
      const known = before?.resource.learned
      const isKnown = known !== undefined && sameButGeneration(known, learned)
      return {
        base,
        resource: { ...resource, learned: isKnown ? known : learned },
        standing: undefined,
      }
    }
    case 'empty':
      return { base, resource: base, standing: empty }
    case 'differs':
      return {
        base,
        resource: base,
        standing: {
          reason: 'unproven',
          why: `the server and etcd do not have the same objects: ${learnt.what}`,
          remedy:
            'give --etcd and --prefix what the server has for --etcd-servers and --etcd-prefix',
        },
      }
    case 'passes': {
      const { reason, why } = learnt
      const isConversion = reason === 'conversion'
      const remedy = isConversion
        ? `ask for the version that is stored (${base.storage.version})`
        : 'nothing: it is answered by the server'
      const storage = { ...base.storage, conversion: isConversion ? 'webhook' : 'same' } as const
      return { base, resource: { ...base, storage }, standing: { reason, why, remedy } }
    }
  }
}

function sameButGeneration(a: LearnedOutput, b: LearnedOutput): boolean {
  return JSON.stringify({ ...a, generation: 0 }) === JSON.stringify({ ...b, generation: 0 })
}
