/** Why a strategic merge patch does not apply, in kube-apiserver's words. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { goTextOf, goTypeText, goValueText } from '../../go-value-text.ts'

/** The answers of the API to a failure: as a bad request, as one that cannot be processed and
 *  without saying why, or as its own failure. */
export type FailureKind = 'bad_request' | 'unprocessable' | 'internal'

export class StrategicFailure extends Error {
  readonly kind: FailureKind

  constructor(message: string, kind: FailureKind = 'internal') {
    super(message)
    this.kind = kind
  }
}

export function noListOfLists(): StrategicFailure {
  return new StrategicFailure('lists of lists are not supported', 'unprocessable')
}

export function badFormat(what: string): StrategicFailure {
  return new StrategicFailure(`invalid patch format of ${what}`, 'bad_request')
}

export function noMergeKey(map: JsonObject, key: string): StrategicFailure {
  return new StrategicFailure(
    `map: ${goValueText(map)} does not contain declared merge key: ${key}`,
  )
}

export function badPatchType(directive: JsonValue, map: JsonObject): StrategicFailure {
  return new StrategicFailure(
    `unknown patch type: ${goTextOf(directive)} in map: ${goValueText(map)}`,
  )
}

export function badArgument(expected: 'map' | 'list', actual: JsonValue): StrategicFailure {
  const type = expected === 'map' ? 'map[string]interface {}' : '[]interface {}'
  const received = actual === null ? '%!s(<nil>)' : goTypeText(actual)
  return new StrategicFailure(`expected a ${type}, but received a ${received}`)
}
