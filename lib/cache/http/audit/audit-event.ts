/** Audit events in the format of kube-apiserver's audit log: audit.k8s.io/v1 Event at the level
 *  Metadata, which has neither bodies nor credentials. */

import { jsonLine } from '@watchglass/base'
import { microTimeText } from '@watchglass/go'
import type { Attributes, Identity } from '@watchglass/kube'

/** A watch is recorded twice: when its response begins, and when it ends. */
export type AuditStage = 'ResponseStarted' | 'ResponseComplete'

export interface AuditFacts {
  readonly auditId: string
  readonly stage: AuditStage
  /** Path and query as the client sent them, with its selectors. */
  readonly requestUri: string
  readonly attributes: Attributes
  /** The name of an object that is created, as its body has it. */
  readonly objectName: string
  /** Undefined if the user is not known. */
  readonly identity: Identity | undefined
  /** The user in whose name they ask. */
  readonly impersonated?: Identity | undefined
  readonly sourceIps: readonly string[]
  readonly userAgent: string
  /** Trace that the request belongs to; undefined if it names none. */
  readonly traceId?: string | undefined
  readonly code: number
  /** Makes the JSON of the Status that was answered, if it was one. */
  readonly outcome?: (() => string) | undefined
  /** Whether they may send the request, whatever has become of it; undefined if nobody was
   *  asked. */
  readonly decision: 'allow' | 'forbid' | undefined
  /** The rule by which they may or may not; undefined where nobody says so. */
  readonly reason?: string | undefined
  /** On the wall clock. */
  readonly receivedMs: number
  readonly tookMs: number
  /** The side that answered: the mirror, or this program itself. */
  readonly source: string
  /** The faults on purpose that the client has met so far. */
  readonly faults: readonly string[]
  /** Annotations of who admitted a write. */
  readonly annotations?: ReadonlyMap<string, string> | undefined
}

/** One event, as a line without a line break. */
export function auditEvent(facts: AuditFacts): string {
  const { attributes, identity, sourceIps, userAgent, receivedMs, tookMs } = facts
  return jsonLine({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: facts.auditId,
    stage: facts.stage,
    requestURI: facts.requestUri,
    verb: attributes.verb,
    user: userOf(identity),
    ...(facts.impersonated === undefined ? {} : { impersonatedUser: userOf(facts.impersonated) }),
    ...(sourceIps.length === 0 ? {} : { sourceIPs: sourceIps }),
    ...(userAgent === '' ? {} : { userAgent }),
    ...('path' in attributes ? {} : { objectRef: objectRef(attributes, facts.objectName) }),
    responseStatus: responseStatus(facts),
    requestReceivedTimestamp: microTimeText(receivedMs),
    stageTimestamp: microTimeText(receivedMs + tookMs),
    annotations: {
      'apiserver.latency.k8s.io/total': `${Math.round(tookMs * 1000)}µs`,
      ...decisionOf(facts),
      'watchglass/source': facts.source,
      ...(facts.traceId === undefined ? {} : { 'watchglass/trace-id': facts.traceId }),
      ...Object.fromEntries(facts.annotations ?? []),
      ...(facts.faults.length === 0 ? {} : { 'watchglass/faults': facts.faults.join(',') }),
    },
  })
}

function decisionOf({ decision, reason }: AuditFacts): object {
  if (decision === undefined) return {}
  return {
    'authorization.k8s.io/decision': decision,
    ...(reason === undefined ? {} : { 'authorization.k8s.io/reason': reason }),
  }
}

/** Characters of a Status: a refusal may show all of what a client has sent. */
const outcomeMax = 64 * 1024

/** The Status that the client was told, whole. */
function responseStatus({ code, outcome }: AuditFacts): object {
  const text = outcome?.() ?? ''
  if (text === '' || text.length > outcomeMax) return { metadata: {}, code }
  const { kind: _, apiVersion: __, ...told } = JSON.parse(text) as JsonLine
  return { ...told, code }
}

type JsonLine = Readonly<Record<string, unknown>>

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

function objectRef(
  attributes: Exclude<Attributes, { readonly path: string }>,
  objectName: string,
): object {
  const { resource, namespace, group, version, subresource } = attributes
  const name = attributes.name || objectName
  const texts = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource }
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}
