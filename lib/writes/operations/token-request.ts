/** POST serviceaccounts/NAME/token: a token of the account, which may be bound to a node, or to a
 *  pod or a secret of its namespace, and end with it. */

import { keyFromText, NotExact } from '@watchglass/base'
import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
  textFromMilliseconds,
} from '@watchglass/go'
import { badRequest, type GroupResource, objectNotFound, StatusError } from '@watchglass/kube'
import { type FieldError, invalid, invalidObject } from '../field-errors.ts'
import { metadataOf, metaText, numberOf, textOf } from '../metadata.ts'
import { conflict } from '../refusals.ts'
import type { BoundObject } from '../write-access.ts'
import { admissionOf } from './admission.ts'
import { subresourceBody, subresourceKind } from './binding.ts'
import { owned } from './ownership.ts'
import { treeOf, type Written, type WriteSession } from './session.ts'
import type { WriteBody } from './write.ts'

const kind = ['authentication.k8s.io/v1', 'TokenRequest'] as const
const usualSeconds = 3600
const minSeconds = 600
const maxSeconds = 2 ** 32

/** Tokens mean something where accounts have rights. */
function needsAccounts({ group, resource }: GroupResource): StatusError {
  return new StatusError('unsupported', {
    code: 405,
    message: `create token of "${resource}" needs a server that knows its users: start it with --auth rbac, which watchglass run has`,
    reason: 'MethodNotAllowed',
    details: { group, kind: resource },
  })
}

export async function requestToken(session: WriteSession, sent: WriteBody): Promise<Written> {
  const { access } = session.services
  if (access === undefined) throw needsAccounts(session.resource)
  const { object: request, options } = await subresourceBody(session, sent, kind)
  specOf(request)
  const tokenSession = session.as(subresourceKind(session, ...kind))
  const managed = await owned(tokenSession, { live: undefined, object: request, options })
  const admission = admissionOf(session, options)
  await admission.mutate(managed, undefined)
  const { namespace, name } = session
  if (metaText(managed, 'name') !== '' && metaText(managed, 'name') !== name) {
    const detail = 'must match the service account name if specified'
    throw invalidObject({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, name, [
      invalid('metadata.name', metaText(managed, 'name'), detail),
    ])
  }
  const account = await found(session, 'serviceaccounts', name)
  if (account === undefined) {
    const isThere = (await found(session, 'namespaces', namespace)) !== undefined
    if (isThere) throw objectNotFound(session.resource, name)
    throw objectNotFound({ group: '', resource: 'namespaces' }, namespace)
  }
  const uid = metaText(account, 'uid')
  checkUid(metaText(managed, 'uid'), uid, name)
  const spec = specOf(managed)
  const seconds = numberOf(spec.get('expirationSeconds')) ?? 0
  const errors = secondsErrors(seconds, spec.get('expirationSeconds'))
  if (errors.length > 0) {
    throw invalidObject({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', errors)
  }
  await admission.validate(managed, undefined)
  const asked = itemsOf(spec.get('audiences')).map(textOf)
  const audiences = asked.length === 0 ? access.audiences : asked
  const bound = await boundObject(session, spec.get('boundObjectRef'))
  const { token, expiresAtMs } = access.issueToken({
    account: { name, uid },
    namespace,
    bound,
    audiences,
    seconds,
  })
  managed.set('metadata', answeredMetadata(metadataOf(managed), session, uid))
  managed.set(
    'spec',
    new Map<string, JsonValue>([
      ['audiences', [...audiences]],
      ['expirationSeconds', new JsonNumber(String(seconds))],
      ['boundObjectRef', spec.get('boundObjectRef') ?? null],
    ]),
  )
  managed.set(
    'status',
    new Map([
      ['token', token],
      ['expirationTimestamp', textFromMilliseconds(expiresAtMs)],
    ]),
  )
  return { type: 'tree', code: 201, object: managed }
}

function checkUid(sent: string, uid: string, name: string): void {
  if (sent === '' || sent === uid) return
  throw conflict(
    { group: 'authentication.k8s.io', resource: 'TokenRequest' },
    name,
    `the UID in the token request (${sent}) does not match the UID of the service account (${uid})`,
  )
}

/** The metadata that was sent, in Go's order, with the uid of the account. */
function answeredMetadata(
  sent: JsonObject,
  { name, namespace, now }: WriteSession,
  uid: string,
): JsonObject {
  const own = new Map<string, JsonValue>([
    ['name', name],
    ['generateName', sent.get('generateName') ?? null],
    ['namespace', namespace],
    ['uid', uid],
    ['resourceVersion', sent.get('resourceVersion') ?? null],
    ['creationTimestamp', now],
  ])
  for (const member of ['labels', 'annotations', 'ownerReferences', 'finalizers']) {
    own.set(member, sent.get(member) ?? null)
  }
  own.set('managedFields', sent.get('managedFields') ?? [])
  return new Map([...own].filter(([, value]) => value !== null))
}

/** The spec, with the usual time in it. */
function specOf(request: JsonObject): JsonObject {
  const known = request.get('spec')
  const spec: JsonObject = known instanceof Map ? known : new Map()
  if ((spec.get('expirationSeconds') ?? null) === null) {
    spec.set('expirationSeconds', new JsonNumber(String(usualSeconds)))
  }
  request.set('spec', spec)
  return spec
}

function secondsErrors(seconds: number, value: JsonValue | undefined): FieldError[] {
  const place = 'spec.expirationSeconds'
  const given = value ?? null
  if (seconds < minSeconds) {
    return [invalid(place, given, 'may not specify a duration less than 10 minutes')]
  }
  return seconds > maxSeconds
    ? [invalid(place, given, 'may not specify a duration larger than 2^32 seconds')]
    : []
}

/** The object that the token is bound to: it must be there, and be the one that is meant. */
async function boundObject(
  session: WriteSession,
  reference: JsonValue | undefined,
): Promise<BoundObject | undefined> {
  if (!(reference instanceof Map)) return undefined
  const text = (name: string): string => textOf(reference.get(name))
  const [version = '', group = ''] = text('apiVersion').split('/').reverse()
  const kind = bindable[text('kind')]
  if (group !== '' || kind === undefined) {
    throw badRequest(
      `cannot bind token to object of type ${group}/${version}, Kind=${text('kind')}`,
    )
  }
  const name = text('name')
  if (name === '') throw badRequest('Name parameter required.')
  const object = await found(session, `${kind}s`, name)
  if (object === undefined) throw objectNotFound({ group: '', resource: `${kind}s` }, name)
  const uid = metaText(object, 'uid')
  const accountName = textOf(memberOf(object.get('spec'), 'serviceAccountName'))
  if (kind === 'pod' && accountName !== session.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(session.name)} to pod running with different serviceaccount name.`,
    )
  }
  if (text('uid') !== '' && text('uid') !== uid) {
    throw conflict(
      { group: '', resource: text('kind') },
      name,
      `the UID in the bound object reference (${text('uid')}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  }
  const nodeName = kind === 'pod' ? textOf(memberOf(object.get('spec'), 'nodeName')) : ''
  if (nodeName === '') return { kind, name, uid }
  const node = await found(session, 'nodes', nodeName)
  const nodeUid = node === undefined ? '' : metaText(node, 'uid')
  return { kind, name, uid, node: { name: nodeName, uid: nodeUid } }
}

/** Kinds of the core group that a token may be bound to. */
const bindable: Readonly<Record<string, BoundObject['kind']>> = {
  Pod: 'pod',
  Secret: 'secret',
  Node: 'node',
}

async function found(
  { state, store, signal, namespace }: WriteSession,
  name: string,
  object: string,
): Promise<JsonObject | undefined> {
  const resource = state.registry.find('', 'v1', name)
  const encoder = resource && state.encoderOf(resource)
  if (resource?.storage === undefined || encoder === undefined || encoder instanceof NotExact) {
    return undefined
  }
  const place = resource.isNamespaced ? `${namespace}/${object}` : object
  const key = keyFromText(resource.storage.prefix + place)
  const entry = await store.get(key, signal)
  return entry && treeOf(encoder, resource, entry)
}
