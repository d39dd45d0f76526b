/** The admission of a connection to a pod, by `exec`, `attach` and `portforward`: the parameters of
 *  the request are the object. */

import { JsonNumber, type JsonObject, type JsonValue } from '../../codec/json/tree.ts'
import { goParseUint } from '../../go/text.ts'
import type { Query } from '../../kube/request/request.ts'
import { badRequest } from '../../kube/status.ts'
import type { WriteSession } from '../write/operations/session.ts'

type Parameters = (query: Query) => readonly (readonly [string, JsonValue | undefined])[]

const flags: Parameters = query =>
  ['stdin', 'stdout', 'stderr', 'tty'].map(name => [name, query.flag(name) || undefined])

const container: Parameters = query => [['container', query.text('container') || undefined]]

/** A command that is left out is null. */
const command: Parameters = query => {
  const words = query.all('command')
  return [['command', words.length === 0 ? null : [...words]]]
}

const ports: Parameters = query => {
  const numbers = query.all('ports').flatMap(text => text.split(',').map(portFrom))
  return [['ports', numbers.length === 0 ? undefined : numbers]]
}

/** The kind of the parameters of a subresource, and its members in the order of Go's fields. */
const kinds: ReadonlyMap<string, readonly [kind: string, ...members: Parameters[]]> = new Map([
  ['exec', ['PodExecOptions', flags, container, command]],
  ['attach', ['PodAttachOptions', flags, container]],
  ['portforward', ['PodPortForwardOptions', ports]],
])

/** Throws a refusal; returns at once for a subresource that is only read. */
export async function admitConnection(session: WriteSession, query: Query): Promise<void> {
  const [kind, ...members] = kinds.get(session.subresource) ?? []
  if (kind === undefined) return
  if (query.all('dryRun').length > 0) throw badRequest('dryRun is not supported')
  const object: JsonObject = new Map<string, JsonValue>([
    ['kind', kind],
    ['apiVersion', 'v1'],
  ])
  for (const [name, value] of members.flatMap(read => read(query))) {
    if (value !== undefined) object.set(name, value)
  }
  const { admission } = session.services
  const operation = 'CONNECT'
  const request = { session, operation, object, old: undefined, isDryRun: false } as const
  await admission.mutate({ ...request, options: undefined })
  await admission.validate({ ...request, options: undefined })
}

const portMax = 2n ** 16n - 1n

function portFrom(text: string): JsonNumber {
  const { value, error } = goParseUint(text)
  if (value !== undefined && value <= portMax) return new JsonNumber(String(value))
  const range = `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
  throw badRequest(`cannot convert to []int32: ${error ?? range}`)
}
