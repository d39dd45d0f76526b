/** Authentication and authorization of the test upstream, for its `before`: tokens, certificates,
 *  front proxies, impersonation, then the reviews and the rules. */

import {
  type Identity,
  selfReviewPath,
  subjectReviewPath,
  whoAmIPath,
} from '../../../lib/kube/access-review.ts'
import {
  defaultIdentityHeaders,
  identityFromHeaders,
} from '../../../lib/cache/http/auth/identity-headers.ts'
import { type Attributes, attributesOf } from '../../../lib/kube/request/attributes.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { forbidden, forbiddenPath, statusJson, unauthorized } from '../../../lib/kube/status.ts'
import type { Before, DirectAnswer, SeenRequest } from './answers.ts'
import { answerReview, bearer, identity, type Users } from './reviews.ts'
import { basicUser, type Binding, isAllowed } from './rules.ts'

export interface GuardOptions {
  readonly users: Users
  /** As they are now; beside them everybody may ask what they may. */
  readonly bindings: () => readonly Binding[] | Promise<readonly Binding[]>
  /** Certificates by their common names. Front proxies' is `front-proxy`. */
  readonly certificates?: ReadonlyMap<string, Identity> | undefined
}

/** The guard. Whom it lets through is answered as ever. */
export function createGuard(options: GuardOptions): Before {
  return async (request, body) => {
    const bindings = [basicUser, ...(await options.bindings())]
    const who = authenticated(request, options)
    if (who === undefined) return answer(401, statusJson(unauthorized))
    const target = parseTarget(request.url)
    if (target === undefined) return undefined
    const asked = attributesOf(request.method, target)
    const acting = impersonated(request, who)
    if (acting !== who) {
      const attributes = { ...asked, verb: `impersonate-on:user-info:${asked.verb}` }
      if (!isAllowed(bindings, who, attributes)) return denied(who, attributes)
    }
    if (request.method === 'POST' && reviewPaths.has(target.path)) {
      const text = (await body()).toString()
      const review = answerReview(target.path, text, acting, bindings)
      if (review !== undefined) return answer(review.code, review.body)
    }
    return isAllowed(bindings, acting, asked) ? undefined : denied(acting, asked)
  }
}

/** Other bodies are read by whoever answers. */
const reviewPaths: ReadonlySet<string> = new Set([selfReviewPath, subjectReviewPath, whoAmIPath])

function authenticated(
  { headers, rawHeaders, certificate }: SeenRequest,
  { users, certificates = new Map() }: GuardOptions,
): Identity | undefined {
  if (certificate === 'front-proxy') {
    const named = identityFromHeaders(rawHeaders, defaultIdentityHeaders)
    if (named !== undefined) return named
  }
  return certificates.get(certificate) ?? bearer(users, headers.authorization)
}

function impersonated({ rawHeaders }: SeenRequest, who: Identity): Identity {
  const names = {
    user: ['impersonate-user'],
    uid: ['impersonate-uid'],
    group: ['impersonate-group'],
    extraPrefix: ['impersonate-extra-'],
  }
  const named = identityFromHeaders(rawHeaders, names)
  return named === undefined ? who : { ...identity(named.user), ...named }
}

function denied({ user }: Identity, attributes: Attributes): DirectAnswer {
  const { status } =
    'path' in attributes
      ? forbiddenPath(user, attributes.verb, attributes.path)
      : forbidden({ ...attributes, user })
  return answer(403, statusJson(status))
}

function answer(code: number, body: string): DirectAnswer {
  const headers: Record<string, string> = {
    'cache-control': 'no-cache, private',
    'content-type': 'application/json',
  }
  if (code === 403) headers['x-content-type-options'] = 'nosniff'
  return { code, headers, body }
}
