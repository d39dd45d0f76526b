/** The problems of an object of a built-in kind, in kube-apiserver's words and order. Rules are
 *  functions over places of the object with its defaults; each file has those of some kinds. */

import type { JsonObject } from '@watchglass/go'
import type { FieldError } from '../field-errors.ts'
import type { WriteKind } from '../write-kind.ts'
import type { KindRules } from './kind-rules.ts'
import {
  checkCommonUpdate,
  checkFinalizerDomains,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from './object-meta.ts'
import { dnsSubdomain, pathSegment } from './formats.ts'
import { Place } from './place.ts'
import { withoutKnownComparisons } from './pods/scheduling.ts'
import { admissionRules } from './kinds/admission.ts'
import { certificateRules } from './kinds/certificates.ts'
import { flowControlRules } from './kinds/flow-control.ts'
import { autoscalingRules } from './kinds/autoscaling.ts'
import { deviceClaimRules } from './kinds/device-claims.ts'
import { eventRules } from './kinds/events.ts'
import { nodeRules } from './kinds/nodes.ts'
import { quotaRules } from './kinds/quotas.ts'
import { definitionRules } from '../custom/definition/definition-rules.ts'
import { contentRules } from './kinds/content.ts'
import { jobRules } from './kinds/jobs.ts'
import { networkingRules } from './kinds/networking.ts'
import { podRules } from './kinds/pods.ts'
import { policyRules } from './kinds/policies.ts'
import { rbacRules } from './kinds/rbac.ts'
import { resourceSliceRules } from './kinds/resource-slices.ts'
import { serviceRangeRules } from './kinds/service-ranges.ts'
import { serviceRules } from './kinds/services.ts'
import { storageRules } from './kinds/storage.ts'
import { volumeRules } from './kinds/volumes.ts'
import { workloadRules } from './kinds/workloads.ts'

/** By `kind` or `kind.group`. */
const rulesByKind: Readonly<Record<string, KindRules>> = {
  ...admissionRules,
  ...autoscalingRules,
  ...certificateRules,
  ...contentRules,
  ...deviceClaimRules,
  ...definitionRules,
  ...eventRules,
  ...flowControlRules,
  ...jobRules,
  ...networkingRules,
  ...nodeRules,
  ...podRules,
  ...policyRules,
  ...quotaRules,
  ...rbacRules,
  ...resourceSliceRules,
  ...serviceRangeRules,
  ...serviceRules,
  ...storageRules,
  ...volumeRules,
  ...workloadRules,
}

/** The errors of a new object if there is no `old` one, or of a changed one. */
export function validateBuiltIn(
  { kind, group, isNamespaced }: Pick<WriteKind, 'kind' | 'group' | 'isNamespaced'>,
  object: JsonObject,
  old: JsonObject | undefined,
  subresource: string,
): FieldError[] {
  const errors: FieldError[] = []
  const name = group === '' ? kind : `${kind}.${group}`
  const rules = Object.hasOwn(rulesByKind, name) ? rulesByKind[name] : undefined
  const place = new Place(object, '', errors)
  const metadata = place.in('metadata')
  if (old === undefined) {
    if (rules?.hasOwnMetadata !== true) checkAsNew(metadata, rules, isNamespaced)
    rules?.create?.(place)
    if (errors.length === 0) checkObjectMeta(metadata, { isNamespaced, name: pathSegment })
    return errors
  }
  const before = new Place(old, '', [])
  checkCommonUpdate(metadata, before.in('metadata'), isNamespaced)
  const isFree =
    subresource === '' ? rules?.hasFreeUpdate === true : rules?.hasFreeStatusMetadata === true
  if (subresource === '' && rules?.isCheckedAsNew === true) {
    checkAsNew(metadata, rules, isNamespaced)
  }
  if (rules?.hasOwnMetadata !== true && !isFree) {
    checkObjectMetaUpdate(metadata, before.in('metadata'))
    if (rules?.hasFreeFinalizers !== true) checkFinalizerDomains(metadata)
  }
  if (subresource === '') rules?.update?.(place, before)
  else rules?.subresources?.[subresource]?.(place, before)
  return withoutKnownComparisons(errors, before)
}

function checkAsNew(metadata: Place, rules: KindRules | undefined, isNamespaced: boolean): void {
  const name = rules?.name ?? dnsSubdomain
  checkObjectMeta(metadata, { isNamespaced, name, hasFreePrefix: rules?.hasFreePrefix })
  if (rules?.hasFreeFinalizers !== true) checkFinalizerDomains(metadata)
}
