/** The answers of `authorizer` in an expression: those of roles, or yes where nobody asks them. */

import type { Decide, AuthorizerQuestion } from '@watchglass/cel'
import type { Identity } from '@watchglass/kube'
import type { WriteSession } from '../../operations/session.ts'

export function decideBy({ services, user }: WriteSession): Decide {
  const { access } = services
  return question => {
    if (access === undefined) return { isAllowed: true, reason: '' }
    const { isAllowed, reason } = access.authorize(
      userOf(question, user),
      question.path === undefined
        ? {
            verb: question.verb,
            group: question.group ?? '',
            version: '*',
            resource: question.resource ?? '',
            subresource: question.subresource ?? '',
            namespace: question.namespace ?? '',
            name: question.name ?? '',
            fields: [],
            labels: [],
          }
        : { verb: question.verb, path: question.path },
    )
    return { isAllowed, reason }
  }
}

/** A service account is in three groups. */
function userOf({ serviceAccount }: AuthorizerQuestion, user: Identity): Identity {
  if (serviceAccount === undefined) return user
  const namespace = serviceAccount.split(':')[2] ?? ''
  return {
    user: serviceAccount,
    uid: '',
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:${namespace}`,
      'system:authenticated',
    ],
    extra: {},
  }
}
