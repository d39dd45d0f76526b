/** Pods and replica sets without a controller are taken by whoever selects them, and those that are
 *  no longer selected are let go. */

import type { Fact } from '../runtime/facts.ts'
import type { Labels, Selector } from '../runtime/objects.ts'
import type { Write } from '../runtime/reconcile-result.ts'
import { controllerReference, type OwnerIdentity } from './owner-reference.ts'
import { selects } from '../runtime/selectors.ts'

export interface Adoptable extends Fact {
  readonly labels: Labels
}

/** `owned` are the adopter's; `orphans` are nobody's. */
export function adopt(
  adopter: OwnerIdentity,
  selector: Selector,
  owned: Iterable<Adoptable>,
  orphans: Iterable<Adoptable>,
): Write[] {
  const reference = controllerReference(adopter)
  const adopted = [...orphans]
    .filter(fact => !fact.isDeleting && selects(selector, fact.labels))
    .map(fact => patchOf(fact, [...(fact.otherOwners ?? []), reference]))
  // The pods of a template share their labels.
  const decided = new Map<Labels, boolean>()
  const isSelected = (labels: Labels): boolean => {
    let is = decided.get(labels)
    if (is === undefined) decided.set(labels, (is = selects(selector, labels)))
    return is
  }
  const released = [...owned]
    .filter(fact => !fact.isDeleting && !isSelected(fact.labels))
    .map(fact => patchOf(fact, fact.otherOwners ?? null))
  return [...adopted, ...released]
}

/** The uid in it makes the patch fail if another object has the name by now. */
function patchOf({ key, uid }: Fact, ownerReferences: readonly object[] | null): Write {
  return { type: 'patch', key, patch: { metadata: { uid, ownerReferences } } }
}
