/** Everything that other packages may import of this one. */

export {
  type Identity,
  identityAnswer,
  reviewAnswer,
  selfReview,
  selfReviewPath,
  subjectReview,
  subjectReviewPath,
  whoAmI,
  whoAmIPath,
} from './access-review.ts'
export { ApiState } from './api-state.ts'
export type { TokenEncryption } from './continuation.ts'
export type { Decision, DecisionPolicy, PassReason } from './decide.ts'
export { aggregatedMediaType, versionBody } from './documents/discovery.ts'
export { SchemaSet } from './documents/openapi-schemas.ts'
export { OpenApi } from './documents/openapi.ts'
export type { LaterFeature } from './later-features.ts'
export { listMeta, type Page, pageEntries, selectedPage, wholePage } from './list.ts'
export { readFailure } from './read-failure.ts'
export {
  type AskedRead,
  type GetPlan,
  type ListPlan,
  planAsked,
  type Planned,
  planRead,
  prefixOfList,
  type ReadPlan,
  type WatchPlan,
} from './read-plan.ts'
export type { Contents, DirectPage, DirectSource, ReadRequest, Reads } from './reads.ts'
export { KnownRequest, RecentRequests } from './recent-requests.ts'
export { type Attributes, attributesOf, type ResourceAttributes } from './request/attributes.ts'
export { shardParameter } from './request/list-options.ts'
export {
  listScopeOf,
  type Reported,
  reportedOf,
  reportedPath,
  type ReportedScope,
} from './request/reported.ts'
export {
  invalidPathName,
  longSubresources,
  parseQuery,
  parseTarget,
  Query,
  requestInfo,
  type RequestTarget,
  requestTimeoutMs,
  splitPath,
  type Verb,
} from './request/request.ts'
export {
  type Handshake,
  type HandshakeRefusal,
  isWebSocket,
  protocolToken,
  readHandshake,
} from './request/web-socket.ts'
export {
  aggregatorGroup,
  type DiscoveryDocument,
  type ResourceRoute,
  type Route,
  routeRequest,
  uninterpretable,
  unknownPathText,
} from './request/routes.ts'
export { apiService, type ApiService } from './resources/api-services.ts'
export { builtInResources } from './resources/built-ins.ts'
export { customDefinition, type CustomDefinition } from './resources/custom-resources.ts'
export { keyspaceOf, keyspacesOf, prefixOfNamespaces, restrictedTo } from './resources/keyspaces.ts'
export { isMeasured, measuredResources } from './resources/measured.ts'
export { hasTables } from './resources/object-reads.ts'
export { printerColumns } from './resources/printer-columns.ts'
export { keyspaceNames, Registry } from './resources/registry.ts'
export {
  defaultEtcdPrefix,
  groupVersionText,
  type Resource,
  type ResourceStorage,
  undefinedVersion,
  warningHeader,
} from './resources/resource.ts'
export { anySchema, metadataFields, selectableFields } from './resources/selectable-fields.ts'
export {
  declaringResources,
  mirroredKeyspaces,
  ruleKeyspaces,
  specialKeyspaces,
  specialPrefixes,
} from './resources/special-keyspaces.ts'
export { compareVersions } from './resources/versions.ts'
export { scaleBody } from './scale.ts'
export { FieldSelector, parseFieldSelector } from './selectors/field-selector.ts'
export {
  compileFilter,
  type Filter,
  type MakeReader,
  nameOfKey,
  namespaceOfKey,
  uidField,
  uidHash,
} from './selectors/filter.ts'
export { entriesToLookAt, indexTerms, indexUses, watchedTerms } from './selectors/index-choice.ts'
export { LabelSelector, parseLabelSelector } from './selectors/label-selector.ts'
export { runsOfUids } from './selectors/leaf-shards.ts'
export { rememberedFilter } from './selectors/remembered-filter.ts'
export { selectedEntries, wholeShard } from './selectors/selected-entries.ts'
export { openSelectorSize } from './selectors/selector-size.ts'
export { shardHash } from './selectors/shard-hash.ts'
export { parseShardSelector } from './selectors/shard-selector.ts'
export {
  badRequest,
  forbidden,
  forbiddenPath,
  type GroupResource,
  internalError,
  listExpired,
  methodNotAllowed,
  needsKubelet,
  needsUpstream,
  notAcceptable,
  notExactly,
  NotExactlyError,
  objectNotFound,
  pathNotFound,
  plainError,
  requestTimeoutBody,
  resourceText,
  serviceUnavailable,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  statusFromError,
  statusBytes,
  statusJson,
  statusObjectJson,
  textMember,
  tooManyRequests,
  unauthorized,
  uncachedWatchExpired,
  watchExpired,
} from './status.ts'
export { watchEvent, type ServedEvent } from './watch-events.ts'
