/** Audit events in the format of kube-apiserver's audit log: audit.k8s.io/v1 Event at the level
 *  Metadata, which has neither bodies nor credentials. */

import { jsonLine } from '../../base/json-line.ts'
import { microTimeText } from '../../go/time.ts'
import type { Identity } from '../../kube/access-review.ts'
import type { Attributes } from '../../kube/request/attributes.ts'

/** A watch is recorded twice: when its response begins, and when it ends. */
export type AuditStage = 'ResponseStarted' | 'ResponseComplete'

export interface AuditFacts {
  readonly auditId: string
  readonly stage: AuditStage
  /** Path and query as the client sent them, with its selectors. */
  readonly requestUri: string
  readonly attributes: Attributes
  /** Undefined if the user is not known. */
  readonly identity: Identity | undefined
  readonly sourceIps: readonly string[]
  readonly userAgent: string
  /** Trace that the request belongs to; undefined if it names none. */
  readonly traceId?: string | undefined
  readonly code: number
  /** On the wall clock. */
  readonly receivedMs: number
  readonly tookMs: number
  /** Who answered: the mirror, or this program itself. */
  readonly source: string
  /** The faults on purpose that the client has met so far. */
  readonly faults: readonly string[]
  /** Annotations of who admitted a write. */
  readonly annotations?: ReadonlyMap<string, string> | undefined
}

/** One event, as a line without a line break. */
export function auditEvent(facts: AuditFacts): string {
  const { attributes, identity, sourceIps, userAgent, receivedMs, tookMs, code } = facts
  return jsonLine({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: facts.auditId,
    stage: facts.stage,
    requestURI: facts.requestUri,
    verb: attributes.verb,
    user: userOf(identity),
    ...(sourceIps.length === 0 ? {} : { sourceIPs: sourceIps }),
    ...(userAgent === '' ? {} : { userAgent }),
    ...('path' in attributes ? {} : { objectRef: objectRef(attributes) }),
    responseStatus: { metadata: {}, code },
    requestReceivedTimestamp: microTimeText(receivedMs),
    stageTimestamp: microTimeText(receivedMs + tookMs),
    annotations: {
      'apiserver.latency.k8s.io/total': `${Math.round(tookMs * 1000)}µs`,
      ...(code === 401
        ? {}
        : { 'authorization.k8s.io/decision': code === 403 ? 'forbid' : 'allow' }),
      'watchglass/source': facts.source,
      ...(facts.traceId === undefined ? {} : { 'watchglass/trace-id': facts.traceId }),
      ...Object.fromEntries(facts.annotations ?? []),
      ...(facts.faults.length === 0 ? {} : { 'watchglass/faults': facts.faults.join(',') }),
    },
  })
}

function userOf(identity: Identity | undefined): object {
  if (identity === undefined) return {}
  const { user, uid, groups, extra } = identity
  return {
    username: user,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

function objectRef(attributes: Exclude<Attributes, { readonly path: string }>): object {
  const { resource, namespace, name, group, version, subresource } = attributes
  const texts = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource }
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}
