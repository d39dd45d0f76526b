/** Parses and checks the parameters of lists, gets and watches. Each mistake gets upstream's
 *  Status, and of several mistakes the one that upstream finds first is reported. */

import type { Revision } from '@watchglass/base'
import { everyField, type FieldSelector, parseFieldSelector } from '../selectors/field-selector.ts'
import { goJsonString, goParseInt, goParseUint, goQuote } from '@watchglass/go'
import { everyLabel, type LabelSelector, parseLabelSelector } from '../selectors/label-selector.ts'
import type { Schema } from '@watchglass/codec'
import type { Query } from './request.ts'
import { badRequest, invalidOptions, type StatusCause, type StatusError } from '../status.ts'

/** Every parameter of `ListOptions`. */
export interface ListOptions {
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly timeoutSeconds: number | undefined
  /** 0 is no limit, and so is a negative one. */
  readonly limit: number
  readonly continue: string
  readonly sendInitialEvents: boolean | undefined
}

/** The parameter of shard selectors, which servers without the feature ignore. */
export const shardParameter = 'shardSelector'

/** The parameters whose meaning is known. Upstream ignores others, or they may be of a later
 *  version (see decide.ts). */
export const knownParameters: ReadonlySet<string> = new Set([
  'labelSelector',
  'fieldSelector',
  'watch',
  'allowWatchBookmarks',
  'resourceVersion',
  'resourceVersionMatch',
  'timeoutSeconds',
  'timeout',
  'limit',
  'continue',
  'sendInitialEvents',
  'includeObject',
  'pretty',
  shardParameter,
])

export const exactMatch = 'Exact'
const notOlderThanMatch = 'NotOlderThan'

/** Parses the parameters of a list or watch and checks that they can be combined. `watch` is the
 *  parameter: a deprecated /watch/ path without it is checked like a list, as upstream does. */
export function parseListOptions(query: Query, schema: Pick<Schema, 'has'>): ListOptions {
  const timeoutSeconds = integerParameter(query, 'timeoutSeconds')
  const limit = integerParameter(query, 'limit') ?? 0
  const labels = query.text('labelSelector')
  const fields = query.text('fieldSelector')
  const options: ListOptions = {
    labels: labels === '' ? everyLabel : parseLabelSelector(labels, schema),
    fields: fields === '' ? everyField : parseFieldSelector(fields),
    watch: query.flag('watch'),
    allowWatchBookmarks: query.flag('allowWatchBookmarks'),
    resourceVersion: query.text('resourceVersion'),
    resourceVersionMatch: query.text('resourceVersionMatch'),
    timeoutSeconds,
    limit,
    continue: query.text('continue'),
    sendInitialEvents: query.optionalFlag('sendInitialEvents'),
  }
  const complete = options.watch && schema.has('watchList') ? withWatchDefaults(options) : options
  const causes = complete.watch ? watchCauses(complete, schema) : listCauses(complete, schema)
  if (causes.length > 0) throw invalidOptions('ListOptions', causes)
  return complete
}

function integerParameter(query: Query, name: string): number | undefined {
  const text = query.first(name)
  if (text === undefined) return undefined
  const { value, error } = goParseInt(text)
  if (error !== undefined) throw badRequest(error)
  return Number(value)
}

/** A watch from no revision, or from 0, begins with the current state, like a streaming list. */
function withWatchDefaults(options: ListOptions): ListOptions {
  const { sendInitialEvents, resourceVersionMatch, resourceVersion } = options
  const isFromState = resourceVersion === '' || resourceVersion === '0'
  if (sendInitialEvents !== undefined || resourceVersionMatch !== '' || !isFromState) return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: notOlderThanMatch }
}

function listCauses(options: ListOptions, schema: Pick<Schema, 'has'>): StatusCause[] {
  const { resourceVersion, resourceVersionMatch: match, sendInitialEvents } = options
  const causes: StatusCause[] = []
  if (match !== '') {
    if (resourceVersion === '') {
      causes.push(
        forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    }
    if (options.continue !== '') {
      causes.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
    }
    if (match !== exactMatch && match !== notOlderThanMatch) {
      causes.push(unsupportedMatch(match, [exactMatch, notOlderThanMatch, ''], schema))
    }
    if (match === exactMatch && resourceVersion === '0') {
      causes.push(
        forbiddenMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
    }
  }
  if (sendInitialEvents !== undefined) {
    causes.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return causes
}

function watchCauses(options: ListOptions, schema: Pick<Schema, 'has'>): StatusCause[] {
  const { resourceVersionMatch: match, sendInitialEvents } = options
  const causes: StatusCause[] = []
  if (sendInitialEvents !== undefined && match !== notOlderThanMatch) {
    causes.push(
      forbiddenMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    )
  }
  if (sendInitialEvents !== undefined && !schema.has('watchList')) {
    const rule =
      'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'
    causes.push(forbiddenField('sendInitialEvents', rule))
  }
  if (match === '') return causes
  if (sendInitialEvents === undefined) {
    causes.push(
      forbiddenMatch(
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    )
  }
  if (match !== notOlderThanMatch) causes.push(unsupportedMatch(match, [notOlderThanMatch], schema))
  if (options.continue !== '') {
    causes.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
  }
  return causes
}

function forbiddenMatch(message: string): StatusCause {
  return forbiddenField('resourceVersionMatch', message)
}

function forbiddenField(field: string, message: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${message}`, field }
}

function unsupportedMatch(
  match: string,
  supported: readonly string[],
  schema: Pick<Schema, 'has'>,
): StatusCause {
  const list = supported.map(value => `"${value}"`).join(', ')
  // The type of the value is not Go's own string.
  const quoted = schema.has('unsupportedValueAsJson') ? goJsonString(match) : goQuote(match)
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${quoted}: supported values: ${list}`,
    field: 'resourceVersionMatch',
  }
}

/** A resourceVersion as a number. `fail` makes the refusal of an invalid one, which differs between
 *  lists and single objects. Revisions above 2^53 - 1, which no etcd reaches, are rounded down to
 *  it: they are too large in any case. */
export function parseResourceVersion(
  text: string,
  fail: (message: string) => StatusError,
): Revision {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text) as Revision
  const { value, error } = goParseUint(text)
  if (error !== undefined) {
    throw fail(`resourceVersion: Invalid value: ${goQuote(text)}: ${error}`)
  }
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER) as Revision
}
