/** Requests that are to be passed to a pod, a node or a service, by `proxy`. There is nothing here
 *  that could answer them: what kube-apiserver refuses before it connects is refused in its words,
 *  and the others for that reason. */

import { goParseInt, goQuote, parseAddress, textInOrder } from '@watchglass/go'
import {
  badRequest,
  type GroupResource,
  needsKubelet,
  objectNotFound,
  plainError,
  StatusError,
} from '@watchglass/kube'
import { isGlobalUnicast } from '@watchglass/cel'
import type { WriteSession } from '@watchglass/writes'

interface Pod {
  readonly status?: { readonly podIPs?: readonly { readonly ip?: string }[] }
}

interface Node {
  readonly status?: { readonly addresses?: readonly { type: string; address: string }[] }
}

interface Port {
  readonly name?: string
  readonly port: number
}

interface Service {
  readonly spec: { readonly ports?: readonly Port[] }
}

interface Endpoints {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly targetRef?: { readonly namespace?: string } }[]
    readonly ports?: readonly Port[]
  }[]
}

/** Always throws. */
export async function refuseProxied(session: WriteSession): Promise<undefined> {
  const { resource, subresource } = session
  const { name, port } = placeIn(session)
  switch (resource.resource) {
    case 'pods':
      checkPod(await read<Pod>(session.to(resource, name)))
      break
    case 'services':
      await checkService(session, name, port)
      break
    default:
      checkNode(await read<Node>(session.to(resource, name)))
  }
  throw needsKubelet(resource, subresource)
}

/** Reads `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. */
function placeIn({ resource: { singular }, name: id }: WriteSession): {
  readonly name: string
  readonly port: string
} {
  const parts = id.split(':')
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || name === '' || !schemes.has(scheme)) {
    throw badRequest(`invalid ${singular} request ${goQuote(id)}`)
  }
  return { name, port }
}

const schemes: ReadonlySet<string> = new Set(['', 'http', 'https'])

function checkPod({ status }: Pod): void {
  const address = parseAddress(status?.podIPs?.[0]?.ip ?? '')
  if (address === undefined || !isGlobalUnicast(address)) throw notAllowed()
}

/** The kinds of a node's addresses, in the order in which kube-apiserver prefers them. */
const preferred = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP']

/** Names are not looked up here. */
function checkNode({ status: { addresses = [] } = {} }: Node): void {
  const all = preferred.flatMap(type => addresses.filter(one => one.type === type))
  const [first] = all
  if (first === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')
    throw plainError(`no preferred addresses found; known addresses: [${known}]`)
  }
  const address = parseAddress(first.address)
  if (address !== undefined && !isGlobalUnicast(address)) throw notAllowed()
}

/** No request leads into the machine of the server. */
function notAllowed(): StatusError {
  return badRequest('address not allowed')
}

async function checkService(session: WriteSession, name: string, port: string): Promise<void> {
  const wanted = await portName(session, name, port)
  const found = session.state.registry.find('', 'v1', 'endpoints')
  // What is not found is told by the name of the resource that is asked for.
  const { subsets = [] } =
    found === undefined ? {} : await read<Endpoints>(session.to(found, name), session.resource)
  const isThere = subsets.some(
    ({ addresses = [], ports = [] }) =>
      ports.some(one => (one.name ?? '') === wanted) &&
      addresses.some(({ targetRef }) => targetRef?.namespace === session.namespace),
  )
  if (isThere) return
  throw unavailable(
    `no endpoints available for service ${goQuote(subsets.length === 0 ? name : session.name)}`,
  )
}

/** The name of a port that is given by its number. */
async function portName(session: WriteSession, name: string, port: string): Promise<string> {
  const { value } = goParseInt(port)
  if (value === undefined) return port
  const { spec } = await read<Service>(session.to(session.resource, name))
  const declared = spec.ports?.find(one => BigInt(one.port) === value)
  if (declared !== undefined) return declared.name ?? ''
  throw unavailable(`no service port ${value} found for service ${goQuote(name)}`)
}

async function read<T>(session: WriteSession, asked: GroupResource = session.resource): Promise<T> {
  const { name, signal } = session
  const entry = await session.services.store.get(session.keyOf(name), signal)
  if (entry === undefined) throw objectNotFound(asked, name)
  return JSON.parse(textInOrder(session.treeOf(entry))) as T
}

function unavailable(message: string): StatusError {
  return new StatusError('not_ready', { code: 503, message, reason: 'ServiceUnavailable' })
}
