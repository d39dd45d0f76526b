/** A service in which roles and bindings decide, for tests. */

import type { ClusterAccessOptions } from '../../../lib/simulator/access/cluster-access.ts'
import { StaticTokens } from '../../../lib/simulator/access/token-file.ts'
import { Callers } from '../../../lib/cache/http/auth/callers.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

export const issuer = 'https://kubernetes.default.svc.cluster.local'

/** @param file of tokens */
export function rbacOf(
  file: string,
  keys: Partial<ClusterAccessOptions['accountKeys']> = {},
): ClusterAccessOptions {
  const callers = new Callers({
    clock: systemClock,
    userAuthorities: () => [],
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  return {
    callers,
    tokens: new StaticTokens(file),
    accountKeys: { issuers: [issuer], signingPem: undefined, checkingPems: [], ...keys },
  }
}
