/** Access reviews: the requests that ask the upstream who a user is and what a user may do, and how
 *  its answers are read. */

import { memberOf, textOf, textsOf } from '@watchglass/base'
import type { Attributes, SelectorRequirement } from './request/attributes.ts'

/** A user, as upstream's authentication describes it. */
export interface Identity {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  /** Keys in lower case. */
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** The path to which a review of the caller itself is posted. */
export const selfReviewPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
/** The path to which a review of another user is posted. */
export const subjectReviewPath = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** The path on which the caller asks who it is. */
export const whoAmIPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** The result of a review. */
export interface ReviewAnswer {
  readonly isAllowed: boolean
  /** The reason of a refusal, which upstream appends to its message. */
  readonly reason: string
}

/** A SelfSubjectAccessReview: may the sender of these credentials do that? */
export function selfReview(attributes: Attributes): string {
  return reviewJson('SelfSubjectAccessReview', attributesJson(attributes))
}

/** A SubjectAccessReview: may that user do that? */
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

/** A SelfSubjectReview: which user do these credentials belong to? */
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

/** The result in an answered review; undefined if it cannot be understood, which never means
 *  yes. */
export function reviewAnswer(body: string): ReviewAnswer | undefined {
  const status = memberOf(parsed(body), 'status')
  const allowed = memberOf(status, 'allowed')
  if (typeof allowed !== 'boolean') return undefined
  const isAllowed = allowed && memberOf(status, 'denied') !== true
  return { isAllowed, reason: textOf(memberOf(status, 'reason')) }
}

/** The user that the upstream names; undefined if it names none. */
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
