/** Roles and bindings, certificates, and admission. */

import {
  type PrintedSelector,
  humanDuration,
  labelsText,
  none,
  selectorFields,
  since,
  unset,
} from '../format.ts'
import { type Printer, named, printer } from '../printer.ts'
import type { Picked } from '../pattern.ts'

/** Role bindings and cluster role bindings. */
export const bindings: Printer = printer({
  fields: {
    metadata: named,
    roleRef: { kind: 'text', name: 'text' },
    subjects: [{ kind: 'text', namespace: 'text', name: 'text' }],
  },
  cells({ metadata, roleRef, subjects }, now) {
    const named = (wanted: string): string[] =>
      subjects.filter(({ kind }) => kind === wanted).map(({ name }) => name)
    const accounts = subjects.filter(({ kind }) => kind === 'ServiceAccount')
    return [
      metadata.name,
      `${roleRef.kind}/${roleRef.name}`,
      since(metadata.creationTimestamp, now),
      named('User').join(', '),
      named('Group').join(', '),
      accounts.map(({ namespace, name }) => `${namespace}/${name}`).join(', '),
    ]
  },
})

export const certificateSigningRequests: Printer = printer({
  fields: {
    metadata: named,
    spec: { signerName: 'text', username: 'text', expirationSeconds: 'integer?' },
    status: { conditions: [{ type: 'text' }], certificate: 'size' },
  },
  cells({ metadata, spec, status }, now) {
    const seconds = spec.expirationSeconds
    return [
      metadata.name,
      since(metadata.creationTimestamp, now),
      spec.signerName || none,
      spec.username,
      seconds === undefined ? none : humanDuration(seconds * 1000),
      requestCondition(status.conditions, status.certificate > 0),
    ]
  },
})

function requestCondition(
  conditions: readonly { readonly type: string }[],
  isIssued: boolean,
): string {
  const has = (wanted: string): boolean => conditions.some(({ type }) => type === wanted)
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  return `${decision}${has('Failed') ? ',Failed' : ''}${isIssued ? ',Issued' : ''}`
}

export const clusterTrustBundles: Printer = printer({
  fields: { metadata: { name: 'text' }, spec: { signerName: 'text' } },
  cells: ({ metadata, spec }) => [metadata.name, spec.signerName || none],
})

export const podCertificateRequests: Printer = printer({
  fields: {
    metadata: { name: 'text' },
    spec: {
      podName: 'text',
      serviceAccountName: 'text',
      nodeName: 'text',
      signerName: 'text',
      unverifiedUserAnnotations: 'pairs',
    },
    status: { conditions: [{ type: 'text' }] },
  },
  cells({ metadata, spec, status }) {
    const decided = ['Issued', 'Denied', 'Failed']
    const state = status.conditions.findLast(({ type }) => decided.includes(type))?.type
    return [
      metadata.name,
      spec.podName,
      spec.serviceAccountName,
      spec.nodeName,
      spec.signerName,
      state ?? 'Pending',
      labelsText(spec.unverifiedUserAnnotations),
    ]
  },
})

/** Mutating and validating webhook configurations. */
export const webhookConfigurations: Printer = printer({
  fields: { metadata: named, webhooks: 'count' },
  cells: ({ metadata, webhooks }, now) => [
    metadata.name,
    webhooks,
    since(metadata.creationTimestamp, now),
  ],
})

const paramKindFields = { '?': { apiVersion: 'text', kind: 'text' } } as const

function paramKindText(paramKind: Picked<typeof paramKindFields>): string {
  return paramKind === undefined ? unset : `${paramKind.apiVersion}/${paramKind.kind}`
}

export const validatingAdmissionPolicies: Printer = printer({
  fields: { metadata: named, spec: { validations: 'count', paramKind: paramKindFields } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.validations,
    paramKindText(spec.paramKind),
    since(metadata.creationTimestamp, now),
  ],
})

export const mutatingAdmissionPolicies: Printer = printer({
  fields: { metadata: named, spec: { mutations: 'count', paramKind: paramKindFields } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.mutations,
    paramKindText(spec.paramKind),
    since(metadata.creationTimestamp, now),
  ],
})

const paramRefFields = {
  '?': { name: 'text', namespace: 'text', selector: { '?': selectorFields } },
} as const

/** Bindings of validating and mutating admission policies. */
export const admissionPolicyBindings: Printer = printer({
  fields: { metadata: named, spec: { policyName: 'text', paramRef: paramRefFields } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.policyName,
    paramRefText(spec.paramRef),
    since(metadata.creationTimestamp, now),
  ],
})

function paramRefText(paramRef: Picked<typeof paramRefFields>): string {
  if (paramRef === undefined) return unset
  const { name, namespace, selector } = paramRef
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`
  return selector === undefined ? unset : goText(selector)
}

/** A selector as Go prints the message that it is. */
function goText({ matchLabels, matchExpressions }: PrintedSelector): string {
  const labels = matchLabels.map(([name, value]) => `${name}: ${value},`).join('')
  const expressions = matchExpressions.map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`
}
