/** Revisions of a template, as stateful sets and daemon sets keep them for `rollout history`. */

import type { Key } from '@watchglass/base'
import { type Fact, factOf } from '../runtime/facts.ts'
import { nameHash } from './name-hash.ts'
import { controllerReference } from './owner-reference.ts'
import {
  type Labels,
  type Metadata,
  type PodTemplate,
  type Selector,
  sortedText,
} from '../runtime/objects.ts'
import type { Write } from '../runtime/reconcile-result.ts'

export interface RevisionFact extends Fact {
  readonly labels: Labels
  readonly number: number
}

export function revisionFact(
  key: Key,
  revision: number,
  { metadata, revision: number }: { readonly metadata: Metadata; readonly revision: number },
): RevisionFact {
  return factOf(key, revision, metadata, { labels: metadata.labels ?? {}, number })
}

export const revisionLabel = 'controller-revision-hash'

export interface Revised {
  readonly kind: string
  readonly metadata: Metadata
  readonly spec: {
    readonly template: PodTemplate
    readonly selector: Selector
    readonly revisionHistoryLimit?: number
  }
}

/** The name of the template of now. */
export function hashOfTemplate({ spec }: Pick<Revised, 'spec'>): string {
  return nameHash(sortedText(spec.template))
}

/** The patch that leads back to a template, in the order of names in which Go writes it: clients
 *  find the revision of an object by comparing bytes (`daemon.Match` of upstream's controller). */
function patchTo(template: PodTemplate): object {
  const patch = { spec: { template: { ...template, $patch: 'replace' } } }
  return JSON.parse(sortedText(patch)) as object
}

/** The revision of now is made, or is the newest again; the oldest of those that no pod has are
 *  forgotten. */
export function revisionWrites(
  revised: Revised,
  known: readonly RevisionFact[],
  used: ReadonlySet<string>,
): Write[] {
  const { kind, metadata, spec } = revised
  const { name, namespace = '', uid } = metadata
  const hash = hashOfTemplate(revised)
  const newest = Math.max(0, ...known.map(({ number }) => number))
  const current = known.find(({ labels }) => labels[revisionLabel] === hash)
  if (current === undefined) {
    const owner = { apiVersion: 'apps/v1', kind, name, uid }
    const labels = { ...spec.template.metadata?.labels, [revisionLabel]: hash }
    const object = {
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels,
        ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
        ownerReferences: [controllerReference(owner)],
      },
      data: patchTo(spec.template),
      revision: newest + 1,
    }
    return [{ type: 'create', group: 'apps', resource: 'controllerrevisions', namespace, object }]
  }
  if (current.number < newest) {
    return [{ type: 'patch', key: current.key, patch: { revision: newest + 1 } }]
  }
  const idle = known
    .filter(({ labels }) => !used.has(labels[revisionLabel] ?? ''))
    .filter(one => one !== current)
    .sort((a, b) => a.number - b.number)
  const surplus = Math.max(0, idle.length - (spec.revisionHistoryLimit ?? 10))
  return idle.slice(0, surplus).map(({ key, uid }) => ({ type: 'delete', key, uid }))
}
