/** The users who ask, and their tokens. What alice and bob may do is said by the roles that are
 *  among the objects (objects.ts). */

/** By name, the bearer token; null is a request without one. */
export const users = {
  admin: 'golden-admin-token',
  alice: 'golden-alice-token',
  bob: 'golden-bob-token',
  anonymous: null,
  badtoken: 'no-such-token',
} as const

export type User = keyof typeof users

/** kube-apiserver's --token-auth-file: token, name, uid, groups. */
export const tokenLines: readonly string[] = [
  'golden-admin-token,admin,admin-uid,"system:masters"',
  'golden-alice-token,alice,u-alice,"dev"',
  'golden-bob-token,bob,u-bob',
]
