/** Records requests that are answered here, because the upstream never sees them and so does not
 *  have them in its audit log. The upstream records what passes to it. */

import { isIP } from 'node:net'
import { type AuditStage, auditEvent } from './audit-event.ts'
import { type Attributes, attributesOf, type Identity } from '@watchglass/kube'
import type { Clock } from '@watchglass/base'
import { traceIdOf } from './trace.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Senders } from '../request/grant.ts'

/** Takes lines. Never fails and never blocks. */
export interface AuditLog {
  write(line: string): void
}

/** The user of every request where authorization is off. */
const unknownUser: Identity = {
  user: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
}

/** Services that records are made with. */
interface AuditServices {
  /** Reports a bug of this program: the event is lost, and the request is not affected. */
  readonly onFault: (error: unknown) => void
  readonly clock: Clock
  readonly authorizer?: Pick<Senders, 'identityOfSender'> | undefined
}

/** Records a response when it has ended; a watch when it has begun, and again when it ends. */
export function recordAnswer(
  context: RequestContext,
  log: AuditLog,
  services: AuditServices,
): void {
  const { facts, request, reply } = context
  if (facts.source === 'upstream') return
  const attributes = attributesOf(request.method, context.target)
  const isOpen = facts.verb === 'watch' && reply.code === 200 && !request.isClosed
  const record = recorder(context, { attributes, log }, services)
  record(isOpen ? 'ResponseStarted' : 'ResponseComplete')
  if (isOpen) request.onClose(() => record('ResponseComplete'))
}

/** Keeps only what the event needs of the request, because a watch may stay open for an hour. */
function recorder(
  context: RequestContext,
  { attributes, log }: { readonly attributes: Attributes; readonly log: AuditLog },
  { clock, authorizer, onFault }: AuditServices,
): (stage: AuditStage) => void {
  const { request, reply, startMs, facts, faults, annotations } = context
  const { headers, peer } = request
  const known = {
    auditId: reply.auditId,
    // Without the server and the credentials that a client may name before the path.
    requestUri: context.view?.raw ?? context.target.raw,
    attributes,
    sourceIps: sourceIpsOf(headers['x-forwarded-for'], peer.address),
    userAgent: userAgentOf(headers['user-agent'] ?? ''),
    traceId: traceIdOf(headers),
    code: reply.code,
    outcome: reply.outcome,
    decision: decisionAbout(context),
    reason: authorizer === undefined ? '' : context.authorizedBy,
    objectName: context.objectName,
    receivedMs: clock.wallMs() - (clock.monotonicMs() - startMs),
    source: facts.source,
  }
  const identity =
    authorizer === undefined ? async () => unknownUser : identityOf(context, authorizer)
  const { grant, refusedUser } = context
  const impersonated = async (): Promise<Identity | undefined> =>
    grant?.impersonator === undefined ? refusedUser : grant.identity()
  let who: Promise<readonly (Identity | undefined)[]> | undefined
  return stage => {
    const tookMs = clock.monotonicMs() - startMs
    who ??= Promise.all([identity(), impersonated()])
    who
      .then(([one, other]) =>
        log.write(
          auditEvent({
            ...known,
            stage,
            tookMs,
            identity: one,
            impersonated: other,
            faults: faults?.met ?? [],
            annotations,
          }),
        ),
      )
      .catch(onFault)
  }
}

/** A refusal without a reason is one of somebody whom nobody knows, or may not be. */
function decisionAbout({
  isAdmitted,
  authorizedBy,
}: RequestContext): 'allow' | 'forbid' | undefined {
  if (isAdmitted) return 'allow'
  return authorizedBy === undefined ? undefined : 'forbid'
}

/** The user, also of a request that was refused. */
function identityOf(
  { grant, request }: RequestContext,
  authorizer: Pick<Senders, 'identityOfSender'>,
): () => Promise<Identity | undefined> {
  if (grant !== undefined) return async () => grant.impersonator ?? grant.identity()
  return async () => authorizer.identityOfSender(request)
}

/** Longer ones are cut off, as upstream does it. */
const userAgentMaxBytes = 1024

/** The header as text: Node gives its bytes, one in each character. */
function userAgentOf(bytes: string): string {
  const kept =
    bytes.length > userAgentMaxBytes ? `${bytes.slice(0, userAgentMaxBytes)}...TRUNCATED` : bytes
  return Buffer.from(kept, 'latin1').toString()
}

/** As upstream records them: the addresses that proxies have added, then the peer of the
 *  connection. */
function sourceIpsOf(forwarded: string | string[] | undefined, address: string): string[] {
  const named = [forwarded ?? '']
    .flat()
    .join(',')
    .split(',')
    .map(text => text.trim())
    .filter(text => isIP(text) !== 0)
  const own = address.replace(/^::ffff:/, '')
  return own === '' || named.at(-1) === own ? named : [...named, own]
}
