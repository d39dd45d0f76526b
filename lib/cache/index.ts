/** Everything that other packages may import of this one. */

export { createAdminHandler } from './http/admin/admin.ts'
export type { FaultSwitch } from './http/admin/fault-switch.ts'
export { createAuditIds } from './http/audit/audit-ids.ts'
export type { AuditLog } from './http/audit/audit.ts'
export {
  type AuthorizationOptions,
  createAuthorizer,
  RuleChanges,
} from './http/auth/authorization.ts'
export { Authorizer } from './http/auth/authorizer.ts'
export {
  adoptSalt,
  authorizationOf,
  bearerToken,
  hashed,
  saltOfHashes,
} from './http/auth/caller.ts'
export { Callers, type FrontProxies, isImpersonating } from './http/auth/callers.ts'
export { commonNameOf, withAuthenticated } from './http/auth/certificates.ts'
export type { AccessGate, Verdict } from './http/auth/gate.ts'
export {
  defaultIdentityHeaders,
  type IdentityHeaderNames,
  isIdentityHeader,
} from './http/auth/identity-headers.ts'
export { type DeskAnswer, type DeskQuestion, ReviewDesk } from './http/auth/review-desk.ts'
export type { ReviewServer } from './http/auth/reviews.ts'
export type {
  UpstreamAnswer,
  UpstreamCall,
  UpstreamCaller,
  UpstreamIdentity,
} from './http/auth/upstream-calls.ts'
export type { MetricsText, OwnDocument } from './http/documents/documents.ts'
export { answerHealth, type Health } from './http/documents/health.ts'
export { answerForm } from './http/request/answer-form.ts'
export { CollectedRequest } from './http/request/collected-request.ts'
export { endsAtMs, refuseLate } from './http/request/deadline.ts'
export type {
  FaultCount,
  Faults,
  FaultySubject,
  FaultyWatch,
  RequestFaults,
  SwitchableFaults,
} from './http/request/faults.ts'
export type { Grant, Senders } from './http/request/grant.ts'
export type { ObjectPreparation } from './http/request/object-preparation.ts'
export { offerOf } from './http/request/offers.ts'
export { beginBody, readBody } from './http/request/read-body.ts'
export { Reply } from './http/request/reply.ts'
export { RequestContext } from './http/request/request-context.ts'
export type { SlowRequest } from './http/request/slow-request.ts'
export type { Answer, AskedPlan, HeldEvent, UpstreamSide } from './http/request/upstream-side.ts'
export { Zipper } from './http/request/zipper.ts'
export type { ReadServices } from './http/handler/answer-read.ts'
export type { AnswerFromCluster, AnswerViews } from './http/handler/api.ts'
export { createHandler } from './http/handler/handler.ts'
export { SlowRequests } from './http/handler/slow-requests.ts'
export { type HeldBytes, holdFor, holdWatch, takeTurn } from './http/limits/fair-share.ts'
export {
  type CreateTally,
  Fairness,
  type PassedKind,
  type TallyName,
  tallyNames,
} from './http/limits/fairness.ts'
export { ListPace } from './http/limits/list-pace.ts'
export { isNearBound, type Tally, UserTally } from './http/limits/user-tally.ts'
export type { ShownCluster } from './http/page/shown-cluster.ts'
export { answerFleetPage, isForPage } from './http/page/answer-page.ts'
export type { FleetPageSource } from './http/page/fleet-page.ts'
export type {
  PageSource,
  RecentFigures,
  ReportedResource,
  ServerStanding,
  Traffic,
} from './http/page/page-source.ts'
export { beginList, readPage, sendList } from './http/read/list.ts'
export { contentsFor } from './http/read/planned-read.ts'
export { authoritiesOf, requireAuthorities } from './http/server/authorities.ts'
export type {
  HttpRequest,
  Handler,
  OnFault,
  Peer,
  ResponseHeaders,
  ResponseStream,
  Takeover,
} from './http/server/http-request.ts'
export { Corks } from './http/server/bare/corks.ts'
export { Http2Connection } from './http/server/http2/connection.ts'
export type { Http2Stream } from './http/server/http2/stream.ts'
export { webPageProblem, withHostGuard } from './http/server/host-guard.ts'
export { Lines } from './http/server/lines.ts'
export { sendWhole, slowReaderTimeoutMs, writable } from './http/server/respond.ts'
export { OpenFiles, openFilesMax } from './http/server/open-files.ts'
export type { PingTimes } from './http/server/http2/pings.ts'
export { type Listen, Server } from './http/server/server.ts'
export { singleHeaders } from './http/server/single-headers.ts'
export {
  acceptOf,
  closeCodes,
  closeMessage,
  controlMaxBytes,
  message,
  messageHead,
  opcodes,
} from './http/server/web-socket/messages.ts'
export { followTls, readTls, type TlsFiles } from './http/server/tls.ts'
export {
  type FollowedWatcher,
  type RegisteredWatch,
  OpenWatches,
  type WatchingClient,
} from './http/watch/open-watches.ts'
export { handshakeOf, openWebSocket, refuseHandshake } from './http/watch/upgrade-watch.ts'
export type { WatchEnd } from './http/watch/watch-response.ts'
export { type Follower, Followers, onAnyChange } from './keepers/followers.ts'
export { IndexKeeper } from './keepers/index-keeper.ts'
export { IndexPolicy } from './keepers/index-policy.ts'
export { KeyspaceChanges } from './keepers/keyspace-changes.ts'
export { KeyspaceSizes } from './keepers/keyspace-sizes.ts'
export { LiveRegistry } from './keepers/live-registry.ts'
export {
  type Droppable,
  type MemoryFigures,
  MemoryKeeper,
  type MemoryKeeperOptions,
} from './keepers/memory-keeper.ts'
export { MirrorReads } from './keepers/mirror-reads.ts'
export { SegmentKeeper, segmentsMaxBytes } from './keepers/segment-keeper.ts'
export { type ServerChecks, ServiceHealth } from './keepers/service-health.ts'
export { SlabKeeper } from './keepers/slab-keeper.ts'
export { WarmUp } from './keepers/warm-up.ts'
export { WatchHubs } from './keepers/watch-hubs.ts'
export type { Checkpoint, CheckpointContents } from './mirror/checkpoint.ts'
export { compactNow } from './mirror/compact-now.ts'
export {
  contentsAt,
  heldIn,
  keyspacesOf,
  revisionIn,
  snapshotsIn,
  storeIn,
} from './mirror/contents.ts'
export { createMirrors, type OtherEtcd } from './mirror/create-mirrors.ts'
export { compactRevisionKey } from './mirror/feed/compaction.ts'
export { Epochs } from './mirror/feed/epochs.ts'
export { Feed } from './mirror/feed/feed.ts'
export { Landmarks } from './mirror/feed/landmarks.ts'
export type { RangePage } from './mirror/feed/page.ts'
export { readPages } from './mirror/feed/pages.ts'
export { Progress, type ProgressWaiter } from './mirror/feed/progress.ts'
export {
  FeedStream,
  type ProgressTrust,
  type StreamEnd,
  type StreamTarget,
} from './mirror/feed/stream.ts'
export { defaultHistory, defaultLimits, type MirrorLimits } from './mirror/limits.ts'
export { MemberVersions } from './mirror/member-versions.ts'
export { type MirrorMetrics, noMetrics } from './mirror/metrics.ts'
export { MirrorSet } from './mirror/mirror-set.ts'
export { coversRange, Mirror } from './mirror/mirror.ts'
export {
  type KeyspaceDescription,
  type KeyspaceOf,
  MirroredKeyspace,
  type MirrorSink,
  type ResetReason,
} from './mirror/mirrored-keyspace.ts'
export type { Mirrors, OwnMirrors } from './mirror/mirrors.ts'
export { PlainValues } from './mirror/plain-values.ts'
export { DeadlineList, Perishable } from './mirror/reads/deadlines.ts'
export type { DirectReadRequest } from './mirror/reads/direct-reads.ts'
export { FreshnessGate } from './mirror/reads/freshness.ts'
export { EtcdOutage } from './mirror/reads/outage.ts'
export type { GateFeed, ReadOptions, ReadOutcome } from './mirror/reads/read.ts'
export type { RevisionAsker } from './mirror/reads/revision-probe.ts'
export type { KeyspaceState } from './mirror/state.ts'
export type { KeyspaceStatus } from './mirror/status.ts'
export { judgeVersions } from './mirror/versions.ts'
export { digests } from './ops/digests.ts'
export { faultLogger } from './ops/fault-logger.ts'
export { makeFolder } from './ops/make-folder.ts'
export { Metrics } from './ops/metrics.ts'
export { ApiServerCounts } from './ops/metrics/apiserver/apiserver-counts.ts'
export type { StoredResource } from './ops/metrics/apiserver/storage-series.ts'
export { CertificateDates, type CertificateFile } from './ops/metrics/certificate-dates.ts'
export type { ReadCounts } from './ops/metrics/request-counts.ts'
export type { KeyspaceFacts } from './ops/metrics/keyspace-gauges.ts'
export { lookAt, toWatches } from './ops/metrics/look.ts'
export type { UpstreamFacts } from './ops/metrics/upstream-counts.ts'
export { type Look, Recent } from './ops/recent.ts'
export { ReleasedMemory } from './ops/released-memory.ts'
export { systemClock, systemRandom } from './ops/system.ts'
