/** Everything that other packages may import of this one. */

export { Evidence } from './evidence/evidence.ts'
export type { ServerAccess } from './upstream/connect.ts'
export { UpstreamProxy, type UpstreamOptions, type UpstreamParts } from './upstream-proxy.ts'
export { UpstreamKnowledge } from './knowledge/knowledge.ts'
export { ReadSwitch } from './read-switch.ts'
export { BalancedUpstream } from './upstream/balanced-upstream.ts'
export { headerLines } from './upstream/header-lines.ts'
export type { UpstreamTls } from './upstream/server.ts'
export type { ForwardControl, ForwardSink, Upstream } from './upstream/upstream.ts'
