/** Everything that other packages may import of this one. */

export { assert, AssertionError, unreachable } from './assert.ts'
export { Backoff, type BackoffBounds } from './backoff.ts'
export { Bag } from './bag.ts'
export { appendText, appendTextField, appendVarint, ByteWriter } from './bytes/byte-writer.ts'
export { wireBytes, wireFixed32, wireFixed64, WireReader, wireVarint } from './bytes/reader.ts'
export {
  bigVarint,
  int64FromVarint,
  lowBits,
  varintEnd,
  varintLength,
  writeVarint,
} from './bytes/varint.ts'
export { type CancelTimer, type Clock, type TurnPlace, sleep } from './clock.ts'
export { assetText, readDataFile } from './data-file.ts'
export type { Digests } from './digests.ts'
export { CacheError, type ErrorCode, type ErrorDetails } from './errors.ts'
export { follow } from './follow.ts'
export type { Elsewhere, Freshness, FreshnessType, Reader } from './freshness.ts'
export type { HealthCheck } from './health-check.ts'
export { Heap } from './heap.ts'
export { jsonLine } from './json-line.ts'
export {
  allKeys,
  bytesFromKey,
  compareKeys,
  inRange,
  isEmptyRange,
  type Key,
  keyAfter,
  keyFromBytes,
  keyFromText,
  type KeyRange,
  minKey,
  prefixEnd,
  prefixRange,
  singleKey,
  textFromKey,
} from './keys.ts'
export { LinkedAbort } from './linked-abort.ts'
export {
  findLogLevel,
  type LevelledLogger,
  type LogFields,
  type Logger,
  type LogLevel,
  logLevels,
  silentLogger,
} from './logger.ts'
export { isLoopback } from './loopback.ts'
export { giveUp, GiveUp, giveUpOnRepetition, NotExact } from './not-exact.ts'
export { Outage } from './outage.ts'
export { Pause, retryAfterMs } from './pause.ts'
export { type NamedPem, pairProblem } from './pem.ts'
export { createRandom, type Random, randomAt, randomInt, randomItem } from './random.ts'
export { knownMax, knownRevision, nextRevision, revision, type Revision } from './revision.ts'
export {
  atOnce,
  inSlices,
  isStepDue,
  notedEffort,
  noteEffort,
  Slice,
  type SliceClock,
  type Steps,
} from './slice.ts'
export { soon, type Soon } from './soon.ts'
export { sortedIfShort, sortedInSteps } from './sorted.ts'
export { equalBytes, isAsciiText, latin1Copy, latin1FromBytes, textFromBytes } from './text.ts'
export { Alarm, IdleTimer, repeat, Rounds, withTimeLimit } from './timers.ts'
export type { RequestTrace, Stage, TracedHeaders, Tracer } from './tracer.ts'
export { trusting } from './trust.ts'
export {
  isObject,
  listOf,
  memberAt,
  memberOf,
  numberOf,
  objectOf,
  textOf,
  textsOf,
  type UntypedObject,
} from './untyped.ts'
export { version } from './version.ts'
export { ShallowParser, yamlDepthMax, YamlTooDeep, yamlValues } from './yaml.ts'
