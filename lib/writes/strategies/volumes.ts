/** PersistentVolumes and their claims. */

import { type JsonObject, memberOf } from '@watchglass/go'
import { copyMember, textOf } from '../metadata.ts'
import type { StrategyRow } from './row.ts'

export const volumes: StrategyRow = {
  hasStatus: true,
  returnsDeleted: true,
  prepareCreate: (object, { now }) => {
    const status: JsonObject = new Map([
      ['phase', 'Pending'],
      ['lastPhaseTransitionTime', now],
    ])
    object.set('status', status)
  },
  subresources: {
    status: (object, old, { now }) => {
      const status = object.get('status')
      if (!(status instanceof Map)) return
      const [time, oldTime] = [status, old.get('status')].map(
        of => memberOf(of, 'lastPhaseTransitionTime') ?? null,
      )
      const isSamePhase = memberOf(old.get('status'), 'phase') === status.get('phase')
      if (isSamePhase && time === null) {
        if (oldTime !== null && oldTime !== undefined) {
          status.set('lastPhaseTransitionTime', oldTime)
        }
      } else if (!isSamePhase && (time === null || time === oldTime)) {
        status.set('lastPhaseTransitionTime', now)
      }
    },
  },
}

export const claims: StrategyRow = {
  hasStatus: true,
  returnsDeleted: true,
  prepareCreate: object => normaliseSources(object, undefined),
  prepareUpdate: (object, old) => normaliseSources(object, old),
}

/** A claim's source has two members with the same content. The older one loses sources of kinds
 *  that it never allowed. */
function normaliseSources(object: JsonObject, old: JsonObject | undefined): void {
  const spec = object.get('spec')
  if (!(spec instanceof Map)) return
  const source = spec.get('dataSource') ?? null
  const hadReference = (memberOf(old?.get('spec'), 'dataSourceRef') ?? null) !== null
  // Sources in other namespaces need the gate CrossNamespaceVolumeDataSource, which is off.
  if (!hadReference && textOf(memberOf(spec.get('dataSourceRef'), 'namespace')) !== '') {
    spec.delete('dataSourceRef')
  }
  const reference = spec.get('dataSourceRef') ?? null
  const hadSource = (memberOf(old?.get('spec'), 'dataSource') ?? null) !== null
  if (source !== null && reference === null && !hadReference && !hadSource && !isKnown(source)) {
    spec.delete('dataSource')
    return
  }
  if (reference !== null && source === null && textOf(memberOf(reference, 'namespace')) === '') {
    const copy = new Map(reference as JsonObject)
    copy.delete('namespace')
    spec.set('dataSource', copy)
  } else if (source !== null && reference === null) {
    copyMember(spec, new Map([['dataSourceRef', source]]), 'dataSourceRef')
  }
}

function isKnown(source: unknown): boolean {
  const of = source as JsonObject
  const group = textOf(memberOf(of, 'apiGroup'))
  const kind = textOf(memberOf(of, 'kind'))
  if (group === '') return kind === 'PersistentVolumeClaim'
  return group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}
