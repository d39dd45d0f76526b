/** Counts a request that passes against the limits that all requests share: see `Fairness`. */

import type { HttpRequest, Fairness, PassedKind, Senders } from '@watchglass/cache'

/** Services that tell whose share a passed request takes. */
export interface PassShares {
  readonly fairness?: Fairness | undefined
  readonly authorizer?: Pick<Senders, 'userOf' | 'learnName'> | undefined
}

/** Asks for the name of a user who has taken much under a token, before one more request of it
 *  passes: so that it counts as the user's, with whatever tokens. Undefined if there is nothing to
 *  wait for. */
export function nameForPass(
  { request }: { readonly request: HttpRequest },
  { fairness, authorizer }: PassShares,
): Promise<unknown> | undefined {
  if (fairness === undefined || authorizer === undefined) return undefined
  return fairness.isCrowded(authorizer.userOf(request)) ? authorizer.learnName(request) : undefined
}

/** Counts a request that passes as one of its user's. Call the returned function when it is
 *  over. */
export function holdPassed(
  { request }: { readonly request: HttpRequest },
  kind: PassedKind,
  { fairness, authorizer }: PassShares,
): { readonly user: string; readonly leave: () => void } {
  const user = authorizer?.userOf(request) ?? request.peer.address
  if (fairness === undefined) return { user, leave: () => {} }
  return { user, leave: fairness.pass(user, kind) }
}
