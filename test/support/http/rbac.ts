/** A service in which roles and bindings decide, for tests. */

import type { ClusterAccessOptions } from '../../../lib/cluster/access/cluster-access.ts'
import { StaticTokens } from '../../../lib/cluster/access/token-file.ts'
import { Callers } from '../../../lib/http/auth/callers.ts'
import { systemClock } from '../../../lib/ops/system.ts'

/** @param file of tokens */
export function rbacOf(file: string): ClusterAccessOptions {
  const callers = new Callers({
    clock: systemClock,
    userAuthorities: () => [],
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  return {
    callers,
    tokens: new StaticTokens(file),
    audiences: ['https://kubernetes.default.svc.cluster.local'],
  }
}
