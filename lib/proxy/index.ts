/** Everything that other packages may import of this one. */

export { Evidence } from './evidence/evidence.ts'
export { Front, type UpstreamOptions, type UpstreamParts } from './front.ts'
export { UpstreamKnowledge } from './knowledge/knowledge.ts'
export { ReadSwitch } from './read-switch.ts'
export { BalancedUpstream } from './upstream/balanced-upstream.ts'
export type { UpstreamTls } from './upstream/server.ts'
