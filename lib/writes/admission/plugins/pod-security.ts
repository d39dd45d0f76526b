/** PodSecurity: pods keep to the level that the labels of their namespace ask for; whatever makes
 *  pods is warned of, and what is only audited is noted. */

import { goQuote, type JsonObject, memberAt } from '@watchglass/go'
import { invalidObject } from '../../field-errors.ts'
import { kindServedAs } from '../../kinds/index.ts'
import { isEqual, metaText } from '../../metadata.ts'
import type { WriteSession } from '../../operations/session.ts'
import type { WriteKind } from '../../write-kind.ts'
import { labelsOf, nameIn, partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import {
  type CheckedPod,
  detailsOf,
  type PodSecurityViolation,
  violationsOf,
} from '../pod-security/checks.ts'
import { compareLevels, type LevelVersion, policyOf, policyText } from '../pod-security/policy.ts'
import { forbidden } from '../refusals.ts'

export const podSecurity: AdmissionPlugin = {
  name: 'PodSecurity',
  validate(attributes) {
    const { session, operation, object } = attributes
    if (operation === 'DELETE' || object === undefined) return undefined
    const { group, resource } = session.kind
    const place = podPlaceIn(session.kind)
    if (group === '' && resource === 'namespaces') {
      return session.subresource === '' ? checkNamespace(attributes, object) : undefined
    }
    if (place === undefined) return undefined
    return place.length === 0
      ? checkPod(attributes, object)
      : checkTemplate(attributes, object, place)
  },
}

/** The place of the pod in what makes pods; empty in a pod. */
function podPlaceIn({ group, resource }: WriteKind): readonly string[] | undefined {
  return kindServedAs(resource, group)?.podSpec?.slice(0, -1)
}

/** Subresources through which a pod becomes no other one. */
const harmlessSubresources = [
  'binding',
  'eviction',
  'status',
  'exec',
  'attach',
  'log',
  'proxy',
  'portforward',
]

async function checkPod(attributes: AdmissionAttributes, pod: JsonObject): Promise<void> {
  const { session, old } = attributes
  if (harmlessSubresources.includes(session.subresource)) return
  const { policy, errors } = policyOf(labelsOf(await attributes.namespace()))
  const isPrivileged = Object.values(policy).every(
    ({ level }: LevelVersion) => level === 'privileged',
  )
  if (isPrivileged && errors.length === 0) {
    session.annotate('pod-security.kubernetes.io/enforce-policy', 'privileged:latest')
    return
  }
  if (old !== undefined && !isSignificant(pod, old)) return
  const checked = { metadata: partOf(pod, 'metadata'), spec: partOf(pod, 'spec') }
  session.annotate('pod-security.kubernetes.io/enforce-policy', policyText(policy.enforce))
  audit(session, checked, policy.audit)
  const violations = violationsIn(session, checked, policy.enforce)
  if (violations.length > 0) {
    throw forbidden(
      attributes,
      `violates PodSecurity ${goQuote(policyText(policy.enforce))}: ${detailsOf(violations)}`,
    )
  }
  warn(session, checked, policy.warn)
}

async function checkTemplate(
  attributes: AdmissionAttributes,
  object: JsonObject,
  place: readonly string[],
): Promise<void> {
  const { session } = attributes
  const template = memberAt(object, place)
  if (session.subresource !== '' || !(template instanceof Map)) return
  const { policy } = policyOf(labelsOf(await attributes.namespace()))
  const checked = { metadata: partOf(template, 'metadata'), spec: partOf(template, 'spec') }
  audit(session, checked, policy.audit)
  warn(session, checked, policy.warn)
}

function violationsIn(
  { kind }: WriteSession,
  pod: CheckedPod,
  { level, version }: LevelVersion,
): readonly PodSecurityViolation[] {
  const newest = Number(kind.schema.minor.split('.')[1])
  return violationsOf(pod, level, version === 'latest' ? newest : Math.min(version, newest))
}

function audit(session: WriteSession, pod: CheckedPod, policy: LevelVersion): void {
  const violations = violationsIn(session, pod, policy)
  if (violations.length === 0) return
  session.annotate(
    'pod-security.kubernetes.io/audit-violations',
    `would violate PodSecurity ${goQuote(policyText(policy))}: ${detailsOf(violations)}`,
  )
}

function warn(session: WriteSession, pod: CheckedPod, policy: LevelVersion): void {
  const violations = violationsIn(session, pod, policy)
  if (violations.length === 0) return
  session.warn([
    `would violate PodSecurity ${goQuote(policyText(policy))}: ${detailsOf(violations)}`,
  ])
}

/** True for an update that could make another pod of it: of images, or by more containers. */
function isSignificant(pod: JsonObject, old: JsonObject): boolean {
  const [spec, known] = [partOf(pod, 'spec'), partOf(old, 'spec')]
  for (const list of ['containers', 'initContainers']) {
    const [now, before] = [partsOf(spec, list), partsOf(known, list)]
    if (now.length !== before.length) return true
    if (now.some((one, i) => !isEqual(one.get('image'), before[i]?.get('image')))) return true
  }
  const before = partsOf(known, 'ephemeralContainers')
  return partsOf(spec, 'ephemeralContainers').some(one => {
    const same = before.find(other => nameIn(other) === nameIn(one))
    return same === undefined || !isEqual(one.get('image'), same.get('image'))
  })
}

async function checkNamespace(
  attributes: AdmissionAttributes,
  namespace: JsonObject,
): Promise<void> {
  const { old } = attributes
  const { policy, errors } = policyOf(labelsOf(namespace))
  const before = old && policyOf(labelsOf(old))
  const hasNewErrors = JSON.stringify(errors) !== JSON.stringify(before?.errors)
  if (errors.length > 0 && (before === undefined || hasNewErrors)) {
    const kind = { group: '', kind: 'Namespace' }
    throw invalidObject(kind, metaText(namespace, 'name'), errors)
  }
  if (before === undefined) return
  const [now, then] = [policy.enforce, before.policy.enforce]
  if (now.level === 'privileged') return
  const isSameVersion = now.version === then.version
  if (isSameVersion && compareLevels(now.level, then.level) <= 0) return
  await warnOfPods(attributes, now)
}

/** Pods that are looked at when a namespace asks for more, as upstream has it. */
const podsMax = 3000

/** Warns of pods that are there and should not be. Of the pods of one owner, the first one says
 *  how all are. */
async function warnOfPods(attributes: AdmissionAttributes, policy: LevelVersion): Promise<void> {
  const { session, objects } = attributes
  const namespace = session.name
  const byReason = new Map<string, { first: string; count: number }>()
  const seen = new Map<string, readonly PodSecurityViolation[]>()
  let [total, checked] = [0, 0]
  await objects.visit(session, ['', 'v1', 'pods'], namespace, pod => {
    total++
    const owner = controllerOf(pod)
    const known = owner === undefined ? undefined : seen.get(owner)
    if (known === undefined && checked === podsMax) return
    if (known === undefined) checked++
    const violations =
      known ??
      violationsIn(
        session,
        { metadata: partOf(pod, 'metadata'), spec: partOf(pod, 'spec') },
        policy,
      )
    if (owner !== undefined) seen.set(owner, violations)
    if (violations.length === 0) return
    const reason = violations.map(one => one.reason).join(', ')
    const { first, count } = byReason.get(reason) ?? { first: metaText(pod, 'name'), count: 0 }
    byReason.set(reason, { first, count: count + 1 })
  })
  const warnings: string[] = []
  if (checked === podsMax && total > podsMax) {
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${podsMax} of ${total} existing pods`,
    )
  }
  if (byReason.size > 0) {
    warnings.push(
      `existing pods in namespace ${goQuote(namespace)} violate the new PodSecurity enforce level ${goQuote(policyText(policy))}`,
    )
  }
  const found = [...byReason].map(([reason, { first, count }]) => {
    const others = count - 1
    const more = others === 0 ? '' : ` (and ${others} other pod${others === 1 ? '' : 's'})`
    return `${first}${more}: ${reason}`
  })
  session.warn([...warnings, ...found.sort()])
}

function controllerOf(pod: JsonObject): string | undefined {
  const owners = partsOf(pod.get('metadata'), 'ownerReferences')
  const uid = owners.find(owner => owner.get('controller') === true)?.get('uid')
  return typeof uid === 'string' ? uid : undefined
}
