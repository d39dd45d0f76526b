/** The admission of a connection: to a pod by `exec`, `attach` and `portforward`, and to a pod, a
 *  node or a service by `proxy`. The parameters of the request are the object. */

import { goParseUint, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { badRequest, type RequestTarget, splitPath } from '@watchglass/kube'
import { forbiddenWrite, type WriteSession } from '@watchglass/writes'

type Parameters = (
  target: RequestTarget,
  session: WriteSession,
) => readonly (readonly [string, JsonValue | undefined])[]

const flags: Parameters = ({ query }) =>
  ['stdin', 'stdout', 'stderr', 'tty'].map(name => [name, query.flag(name) || undefined])

const container: Parameters = ({ query }) => [['container', query.text('container') || undefined]]

/** A command that is left out is null. */
const command: Parameters = ({ query }) => {
  const words = query.all('command')
  return [['command', words.length === 0 ? null : [...words]]]
}

const ports: Parameters = ({ query }) => {
  const numbers = query.all('ports').flatMap(text => text.split(',').map(portFrom))
  return [['ports', numbers.length === 0 ? undefined : numbers]]
}

/** The path behind `proxy`, with the slash at its end. */
const path: Parameters = (target, { resource }) => {
  const rest = splitPath(target.path).slice(resource.isNamespaced ? 7 : 5)
  const inner = rest.join('/')
  const begun = inner === '' || inner.startsWith('/') ? inner : `/${inner}`
  const whole = target.path.endsWith('/') && !begun.endsWith('/') ? `${begun}/` : begun
  return [['path', whole || undefined]]
}

/** The parameters of a subresource, in the order of Go's fields. */
const parameters: ReadonlyMap<string, readonly Parameters[]> = new Map([
  ['exec', [flags, container, command]],
  ['attach', [flags, container]],
  ['portforward', [ports]],
  ['proxy', [path]],
])

/** Throws a refusal; returns at once for a subresource that is only read. */
export async function admitConnection(session: WriteSession, target: RequestTarget): Promise<void> {
  const { resource, subresource, services } = session
  const members = parameters.get(subresource)
  const found = resource.subresources.find(({ name }) => name === subresource)
  if (members === undefined || found === undefined) return
  if (target.query.all('dryRun').length > 0) throw badRequest('dryRun is not supported')
  const object: JsonObject = new Map<string, JsonValue>([
    ['kind', found.kind],
    ['apiVersion', 'v1'],
  ])
  for (const [name, value] of members.flatMap(read => read(target, session))) {
    if (value !== undefined) object.set(name, value)
  }
  const operation = 'CONNECT'
  const request = { session, operation, object, old: undefined, isDryRun: false } as const
  await services.admission.mutate({ ...request, options: undefined })
  await services.admission.validate({ ...request, options: undefined })
  if (subresource !== 'proxy') requireCreate(session)
}

/** The first minor version in which whoever connects by GET, as a WebSocket begins, needs what a
 *  POST needs, too. */
const createSince = 35

function requireCreate(session: WriteSession): void {
  const { services, state, user, verb, resource, subresource, namespace, name } = session
  const minor = Number(state.registry.schema.minor.split('.')[1])
  if (verb === 'create' || minor < createSince || services.access === undefined) return
  const { isAllowed, reason } = services.access.authorize(user, {
    verb: 'create',
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
    subresource,
    namespace,
    name,
    fields: [],
    labels: [],
  })
  if (!isAllowed) throw forbiddenWrite(resource, name, reason)
}

const portMax = 2n ** 16n - 1n

function portFrom(text: string): JsonNumber {
  const { value, error } = goParseUint(text)
  if (value !== undefined && value <= portMax) return new JsonNumber(String(value))
  const range = `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
  throw badRequest(`cannot convert to []int32: ${error ?? range}`)
}
