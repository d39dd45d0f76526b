/** The reviews of the test upstream: SelfSubjectReview, SelfSubjectAccessReview and
 *  SubjectAccessReview. */

import type { Identity } from '../../../lib/kube/access-review.ts'
import { selfReviewPath, subjectReviewPath, whoAmIPath } from '../../../lib/kube/access-review.ts'
import type { Attributes, ResourceAttributes } from '../../../lib/kube/request/attributes.ts'
import { forbidden, statusJson, unauthorized } from '../../../lib/kube/status.ts'
import { type Binding, isAllowed } from './rules.ts'

/** Bearers of tokens. */
export type Users = ReadonlyMap<string, Identity>

/** Somebody with these groups, and those that everybody has. */
export function identity(user: string, ...groups: string[]): Identity {
  return { user, uid: `uid-${user}`, groups: [...groups, 'system:authenticated'], extra: {} }
}

export const anonymous: Identity = {
  user: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
}

/** Who sends an Authorization header; undefined if the token is nobody's. */
export function bearer(users: Users, authorization: string | undefined): Identity | undefined {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  return token === undefined ? anonymous : users.get(token)
}

export interface ReviewAnswer {
  readonly code: number
  readonly body: string
}

interface ReviewBody {
  readonly spec?: {
    readonly user?: string
    readonly uid?: string
    readonly groups?: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
    readonly resourceAttributes?: Partial<Record<string, string>> & {
      readonly fieldSelector?: Selector
      readonly labelSelector?: Selector
    }
    readonly nonResourceAttributes?: { readonly verb: string; readonly path: string }
  }
}

interface Selector {
  readonly requirements?: ResourceAttributes['fields']
}

/** The answer to a review; undefined if the path is none of a review. */
export function answerReview(
  path: string,
  body: string,
  who: Identity | undefined,
  bindings: readonly Binding[],
): ReviewAnswer | undefined {
  const resource = path.slice(path.lastIndexOf('/') + 1)
  if (![selfReviewPath, subjectReviewPath, whoAmIPath].includes(path)) return undefined
  if (who === undefined) return { code: 401, body: statusJson(unauthorized) }
  const group = path.split('/')[2] ?? ''
  const asking = { ...nothing, verb: 'create', group, version: 'v1', resource }
  if (!isAllowed(bindings, who, asking)) {
    return { code: 403, body: statusJson(forbidden({ ...asking, user: who.user }).status) }
  }
  if (path === whoAmIPath) {
    const { user, uid, groups, extra } = who
    const userInfo = { username: user, uid, groups, extra }
    return { code: 201, body: JSON.stringify({ kind: 'SelfSubjectReview', status: { userInfo } }) }
  }
  const { spec = {} } = JSON.parse(body) as ReviewBody
  const { user = '', uid = '', groups = [], extra = {} } = spec
  const subject = path === selfReviewPath ? who : { user, uid, groups, extra }
  const allowed = isAllowed(bindings, subject, attributesFrom(spec))
  return { code: 201, body: JSON.stringify({ status: { allowed } }) }
}

const nothing: ResourceAttributes = {
  verb: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  fields: [],
  labels: [],
}

function attributesFrom({
  resourceAttributes,
  nonResourceAttributes,
}: NonNullable<ReviewBody['spec']>): Attributes {
  if (nonResourceAttributes !== undefined) return nonResourceAttributes
  const { fieldSelector, labelSelector, ...texts } = resourceAttributes ?? {}
  return {
    ...nothing,
    ...texts,
    fields: withValues(fieldSelector),
    labels: withValues(labelSelector),
  }
}

function withValues({ requirements = [] }: Selector = {}): ResourceAttributes['fields'] {
  return requirements.map(requirement => ({ ...requirement, values: requirement.values ?? [] }))
}
