/** The counts in the status of workloads. */

import type { UpdateRule } from '../kind.ts'
import type { Place } from '../../validation/place.ts'

type Workload = 'deployment' | 'replicas' | 'stateful' | 'daemon'

/** The fields that must not be negative. */
const counts: Readonly<Record<Workload, readonly string[]>> = {
  deployment: [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ],
  replicas: [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ],
  stateful: [
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'observedGeneration',
    'collisionCount',
  ],
  daemon: [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ],
}

/** Counts that cannot exceed the number of replicas. */
const parts: Readonly<Record<Workload, readonly string[]>> = {
  deployment: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
  replicas: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  stateful: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
  daemon: [],
}

export function checkCounts(workload: Workload): UpdateRule {
  return (object, old) => {
    const status = object.in('status')
    for (const name of counts[workload]) status.in(name).notNegative()
    for (const name of parts[workload]) {
      const part = status.in(name)
      if (part.number <= status.in('replicas').number) continue
      part.invalid('cannot be greater than status.replicas', part.number)
    }
    const [available, ready] = [status.in('availableReplicas'), status.in('readyReplicas')]
    if (workload !== 'daemon' && available.number > ready.number) {
      const what = workload === 'stateful' ? 'status.readyReplicas' : 'readyReplicas'
      available.invalid(`cannot be greater than ${what}`, available.number)
    }
    if (counts[workload].includes('collisionCount')) {
      checkCollisions(status.in('collisionCount'), old.in('status', 'collisionCount'))
    }
  }
}

function checkCollisions(count: Place, before: Place): void {
  if (before.isSet && (!count.isSet || count.number < before.number)) {
    count.invalid('cannot be decremented', count.number)
  }
}
