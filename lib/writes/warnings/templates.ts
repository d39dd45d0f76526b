/** Warnings about templates of pods, and names that pods have, too. */

import { dnsLabel } from '../validation/formats.ts'
import type { Place } from '../validation/place.ts'
import { ofPod } from './pods.ts'

/** A name that its pods have, too. */
export function ofPodName(object: Place, use = 'Pod names and hostnames'): string[] {
  const problems = dnsLabel(object.in('metadata', 'name').text)
  return problems.length === 0
    ? []
    : [
        `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
      ]
}

export function hasChanged(object: Place, old: Place | undefined): boolean {
  const of = (place: Place): number => place.in('metadata', 'generation').number
  return old === undefined || of(object) !== of(old)
}

export function ofTemplate(object: Place, old: Place | undefined, ...path: string[]): string[] {
  return hasChanged(object, old) ? ofPod(object.in(...path, 'template'), true) : []
}
