/** ReplicaSets: their selector never changes, and matches the labels of their template. */

import { checkImmutable } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofPodName, ofTemplate } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkCounts } from '../shared/workload-status.ts'
import { checkSelectedTemplate, checkSelector } from '../shared/workloads.ts'

export const replicaSet: BuiltInKind = kind({
  group: 'apps',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  hasStatus: true,
  counted: ['spec'],
  podSpec: ['spec', 'template', 'spec'],
  validateCreate: checkReplicaSet,
  validateUpdate: (object, old) => {
    checkReplicaSet(object, old)
    checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
  },
  warn: (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofTemplate(object, old, 'spec'),
  ],
  subresources: {
    status: {
      validate: checkCounts('replicas'),
    },
  },
})

function checkReplicaSet(object: Place, old?: Place): void {
  const spec = object.in('spec')
  spec.in('replicas').notNegative()
  spec.in('minReadySeconds').notNegative()
  if (checkSelector(spec, 'deployment')) checkSelectedTemplate(spec, 'ReplicaSet', old)
}
