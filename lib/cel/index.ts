/** Everything that other packages may import of this one. */

export type { EvaluationOutcome } from './compiler.ts'
export type { Range } from './cost/ranges.ts'
export type { Library } from './declarations.ts'
export {
  type Compilation,
  deviceEnvironment,
  Environment,
  type CompiledExpression,
  kubernetesEnvironment,
  mutationEnvironment,
} from './environment.ts'
export { AuthorizerCheck, type Decide, type AuthorizerQuestion } from './functions/authorizers.ts'
export { compareVersions, type Semver, semverFrom } from './functions/quantities.ts'
export type { FormatChecks } from './functions/formats.ts'
export { jsonOf } from './functions/json.ts'
export { isGlobalUnicast } from './functions/networks.ts'
export { operationName, StructValue } from './functions/patches.ts'
export { Quantity } from './functions/quantities.ts'
export { standard } from './functions/standard.ts'
export { requestUriProblem } from './functions/urls.ts'
export { jsonFromValue, valueFromJson } from './json-text.ts'
export { standardMacros } from './macros.ts'
export { freeValue, type DataShape, shapeOf, valueOf } from './schema/data.ts'
export {
  cardinalityMax,
  declaredBy,
  isEmbedded,
  sizesIn,
  typeOfDeclared,
} from './schema/declared.ts'
export { isIdentifier } from './schema/names.ts'
export {
  boolType,
  CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  opaqueOf,
  optionalOf,
  stringType,
  timestampType,
} from './types.ts'
export { CelError, failure, noOverload } from './values/errors.ts'
export { isInt } from './values/numbers.ts'
export { parseDuration, parseTimestamp } from './values/times.ts'
export {
  ArrayList,
  CelList,
  CelMap,
  Double,
  Duration,
  EntryMap,
  itemsOf,
  none,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from './values/values.ts'
export { runWorkMax } from './values/work.ts'
