/** The handler of a service, made of its parts. */

import {
  createAuditIds,
  createHandler,
  Fairness,
  type Handler,
  MirrorReads,
} from '@watchglass/cache'
import type { KubeServiceParts } from './kube-service-parts.ts'
import type { ServiceOptions } from './service-options.ts'

type HandlerParts = Pick<
  KubeServiceParts,
  | 'clock'
  | 'mirrors'
  | 'registry'
  | 'gate'
  | 'watches'
  | 'health'
  | 'upstreamProxy'
  | 'writeSide'
  | 'metrics'
  | 'allMetrics'
  | 'indexes'
  | 'views'
  | 'segments'
  | 'faults'
  | 'slow'
  | 'page'
  | 'onFault'
>

export function createServiceHandler(options: ServiceOptions, parts: HandlerParts): Handler {
  const { clock, mirrors, registry, gate, watches, health, upstreamProxy, metrics } = parts
  const { indexes, segments, onFault, page } = parts
  const {
    served: { tokenEncryption, hasCbor = false, hasShards, hasDrop } = {},
    access,
    logger,
  } = options
  const { copies } = options.attached ?? {}
  const fairness = new Fairness({
    clock,
    metrics: metrics.access,
    createTally: copies?.createTally ?? options.cluster?.createTally,
    pace: options.cluster && { pace: options.cluster.pace, service: options.cluster.name },
  })
  const common = { clock, logger, tokenEncryption, segments, hasCbor, fairness, authorizer: gate }
  const auditId = createAuditIds()
  return createHandler({
    ...common,
    registry,
    reads: new MirrorReads({
      mirrors,
      clock,
      hasUpstream: upstreamProxy !== undefined,
      reports: metrics.apiServer?.storage,
    }),
    faults: parts.faults,
    upstream: upstreamProxy?.sideFor({ ...common, auditId }),
    watches,
    sharedSegments: copies?.segments,
    hasShards,
    hasDrop,
    audit: access?.audit?.(lines => metrics.access.auditLost(lines)),
    onList: (plan, { makeReader }, user) => indexes.asked(plan, { user, makeReader }),
    cluster: parts.writeSide?.answer,
    views: parts.views,
    preparation: parts.writeSide?.preparation,
    documents: parts.writeSide?.documents,
    health,
    requests: metrics.requests,
    slow: parts.slow,
    tracer: options.tracer,
    reports: metrics.apiServer?.requests,
    metrics: parts.allMetrics,
    page:
      upstreamProxy === undefined
        ? { source: page, shows: gate === undefined ? 'all' : 'objects' }
        : undefined,
    onFault,
    auditId,
  })
}
