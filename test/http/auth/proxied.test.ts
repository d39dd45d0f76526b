import t from 'tap'
import { Callers, type CallersOptions } from '../../../lib/http/auth/callers.ts'
import type { AuthorizationOptions } from '../../../lib/compose/authorization.ts'
import { defaultUpstreamTimeouts, UpstreamServer } from '../../../lib/http/upstream-server.ts'
import { UpstreamServers } from '../../../lib/http/upstream-servers.ts'
import { silentLogger } from '../../../lib/base/logger.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { systemClock } from '../../../lib/ops/system.ts'
import { exchanges } from '../../golden/load.ts'
import { HistoryWriter, replayExchange } from '../../golden/replay.ts'
import { createGuard } from '../../support/upstream/guard.ts'
import { answeredHere, originOf, startProxied } from '../../support/upstream/proxied.ts'
import { type Binding, bindingsFromEtcd } from '../../support/upstream/rules.ts'
import { identity } from '../../support/upstream/reviews.ts'
import type { TestUpstream } from '../../support/upstream/upstream.ts'

const nobody: CallersOptions = {
  clock: systemClock,
  userAuthorities: () => [],
  frontProxies: () => undefined,
  passIdentity: undefined,
}

/** A second connection to the upstream, for reviews only. */
function delegating(upstream: TestUpstream): AuthorizationOptions {
  const server = new UpstreamServers({
    servers: [new UpstreamServer(new URL(upstream.url), {}, defaultUpstreamTimeouts)],
    timeouts: defaultUpstreamTimeouts,
    clock: systemClock,
    logger: silentLogger,
  })
  return { mode: 'delegate', canPass: true, server, callers: new Callers(nobody) }
}
