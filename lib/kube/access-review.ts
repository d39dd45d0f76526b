/** The questions that are put to the upstream about who may do what, and what its answers say. */

import { memberOf, textOf, textsOf } from '../base/untyped.ts'
import type { Attributes, SelectorRequirement } from './request/attributes.ts'

/** Somebody, as upstream's authentication sees them. */
export interface Identity {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  /** Keys in lower case. */
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** Where a review is posted. */
export const selfReviewPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
/** Where a review of somebody else is posted. */
export const subjectReviewPath = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** Where it is asked who one is. */
export const whoAmIPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** What a review has come to. */
export interface ReviewAnswer {
  readonly isAllowed: boolean
  /** Why not: upstream adds it to its refusal. */
  readonly reason: string
}

/** May I? The credentials it is sent with say who asks. */
export function selfReview(attributes: Attributes): string {
  return reviewJson('SelfSubjectAccessReview', attributesJson(attributes))
}

/** May they? */
export function subjectReview(attributes: Attributes, identity: Identity): string {
  const { user, uid, groups, extra } = identity
  return reviewJson('SubjectAccessReview', {
    ...attributesJson(attributes),
    user,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  })
}

/** Who am I? */
export const whoAmI: string = JSON.stringify({
  kind: 'SelfSubjectReview',
  apiVersion: 'authentication.k8s.io/v1',
})

function reviewJson(kind: string, spec: object): string {
  return JSON.stringify({ kind, apiVersion: 'authorization.k8s.io/v1', spec })
}

function attributesJson(attributes: Attributes): object {
  if ('path' in attributes) return { nonResourceAttributes: attributes }
  const { fields, labels, ...texts } = attributes
  const given = Object.entries(texts).filter(([, text]) => text !== '')
  return {
    resourceAttributes: {
      ...Object.fromEntries(given),
      ...selectorJson('fieldSelector', fields),
      ...selectorJson('labelSelector', labels),
    },
  }
}

function selectorJson(name: string, requirements: readonly SelectorRequirement[]): object {
  if (requirements.length === 0) return {}
  const given = requirements.map(({ key, operator, values }) =>
    values.length === 0 ? { key, operator } : { key, operator, values },
  )
  return { [name]: { requirements: given } }
}

/** What an answered review says; undefined if it says nothing that can be understood, which is never a yes. */
export function reviewAnswer(body: string): ReviewAnswer | undefined {
  const status = memberOf(parsed(body), 'status')
  const allowed = memberOf(status, 'allowed')
  if (typeof allowed !== 'boolean') return undefined
  const isAllowed = allowed && memberOf(status, 'denied') !== true
  return { isAllowed, reason: textOf(memberOf(status, 'reason')) }
}

/** Who the upstream takes one for; undefined if it does not say. */
export function identityAnswer(body: string): Identity | undefined {
  const info = memberOf(memberOf(parsed(body), 'status'), 'userInfo')
  const user = textOf(memberOf(info, 'username'))
  if (user === '') return undefined
  const extra = memberOf(info, 'extra')
  const entries = typeof extra === 'object' && extra !== null ? Object.entries(extra) : []
  return {
    user,
    uid: textOf(memberOf(info, 'uid')),
    groups: textsOf(memberOf(info, 'groups')),
    extra: Object.fromEntries(entries.map(([key, values]) => [key, textsOf(values)])),
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
