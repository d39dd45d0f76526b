/** Everything that other packages may import of this one. */

export { createSelectableReader } from './fields/selectable-reader.ts'
export type { SelectableField, SelectableReader } from './fields/selectable.ts'
export { appendDeclared } from './json/declared.ts'
export { JsonMembers } from './json/members.ts'
export { acceptClauses, acceptMaxLength, hasUnknownMediaType } from './negotiate/accept.ts'
export {
  builtinEncodings,
  contentType,
  type Encoding,
  isPrettyWanted,
  type MediaType,
  mediaTypeNames,
  negotiate,
  negotiateDocument,
  negotiateError,
  type NotAcceptable,
  notAList,
  type Offer,
  type Preference,
  renderingMismatch,
  routerRefusal,
  routerRefusalOf,
  streamed,
  watchContentType,
} from './negotiate/negotiate.ts'
export {
  apiVersionOf,
  type CustomColumn,
  type EmptyObject,
  type LearnedNames,
  type LearnedObjects,
  type LearnedOptions,
  type LearnedOutput,
  type LearnedTable,
  type OutputKind,
} from './output-kind.ts'
export {
  bookmarkFrame,
  errorFrame,
  eventFrame,
  frameWithColumns,
  frameWithoutColumns,
} from './output/frames.ts'
export { type Gate, type OutputPlace, Superseded, Unproven, VersionsDiffer } from './output/gate.ts'
export { crcShift, GzipMember, storedBlocks, type ZippedRun } from './output/gzip.ts'
export { itemsJoined, joinedRuns } from './output/joined-items.ts'
export { itemEncoder, listBody, pause } from './output/list-body.ts'
export type { ListMeta } from './output/list-meta.ts'
export {
  encodedJson,
  invalidIncludeObject,
  joined,
  joinedInSteps,
  isLongBody,
  keptBodyInSteps,
  keptObjectBody,
  objectBody,
  objectBodyInSteps,
  statusBody,
} from './output/object-body.ts'
export {
  includedObject,
  type IncludedObject,
  ObjectEncoder,
  type OutputForm,
  type ReadCells,
} from './output/object-encoder.ts'
export { indentJson } from './output/pretty.ts'
export { noReplicas, renderedScale, scaleJson, scaleOf } from './output/scale.ts'
export {
  holderOfKept,
  isWhole,
  type ItemEncoder,
  itemsOfPicked,
  itemsOfRun,
  keptOfEntry,
  noteKept,
  partsOfRun,
  type Run,
  runEntries,
  runsOfEntries,
  type Segment,
  type SharedSegments,
} from './output/segments.ts'
export { yamlFromJson } from './output/yaml.ts'
export { basisOf, recordedRange } from './schema/basis.ts'
export {
  type BuiltInResource,
  type MessageField,
  hasZeroTimes,
  type MessageType,
  minors,
  type Period,
  perSchema,
  type ReadDefault,
  type ScalePaths,
  Schema,
  schemaOf,
  type Subresource,
} from './schema/schema.ts'
export { asObject, objectOf } from './served/convert/autoscaler-members.ts'
export { downgradeAutoscaler, ownAnnotations, prefix } from './served/convert/autoscalers.ts'
export { hoisted, sortDefinitionValues, withRenamed } from './served/convert/definitions.ts'
export {
  cpuMetric,
  defaultUtilization,
  upgradeCurrentMetric,
  upgradeMetric,
} from './served/convert/upgrade-autoscaler.ts'
export { ConvertedObjects, NeedsConversion } from './served/custom/converted-objects.ts'
export {
  customKindOf,
  readDefinition,
  type StoredDefinition,
  type StoredDefinitionVersion,
} from './served/custom/custom-definition.ts'
export { CustomKind } from './served/custom/custom.ts'
export { formatOf } from './served/object-view.ts'
export { applyDecodeDefaults } from './served/stored/defaults.ts'
export { normaliseStored, storageVersionOf } from './served/stored/normalise.ts'
export { isSameUnderOtherName } from './served/stored/older-versions.ts'
export { membersOf } from './served/stored/typed-json.ts'
export {
  defaultsInSteps,
  dropNullsInSteps,
  prune,
  pruneInSteps,
  TooManyDefaults,
} from './served/structural/apply.ts'
export {
  compileRoot,
  type StructuralNode,
  typeAndObjectMeta,
  unspecified,
} from './served/structural/schema.ts'
export type { StoredValue } from './stored-value.ts'
export type { ColumnKind, TableColumn } from './table/column-kinds.ts'
export { humanDuration } from './table/format.ts'
export { parseJsonPath } from './table/json-path.ts'
export type { Cell } from './table/printer.ts'
export { ownType } from './table/printers/custom.ts'
export { appendEnvelope, hasEnvelope, readEnvelope } from './transcode/envelope.ts'
export {
  appendProtobuf,
  jsonFromEnvelope,
  jsonFromProtobuf,
  jsonFromStored,
  protobufFromJson,
} from './transcode/transcode.ts'
