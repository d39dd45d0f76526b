/** Writes, as far as tests need them: create, update (with its conflict), patch, delete,
 *  deletecollection. Nothing is validated or defaulted; what is stored is stored as kube-apiserver
 *  does it, protobuf for what is built in, JSON for the rest. */

import { randomUUID } from 'node:crypto'
import { keyFromText, prefixRange, singleKey } from '../../../lib/base/keys.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromStored, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import type { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { groupVersionText } from '../../../lib/kube/resources/resource.ts'
import { type ResourceRoute, routeRequest } from '../../../lib/kube/request/routes.ts'
import { parse } from 'yaml'
import { patched } from './patch.ts'
import { type DirectAnswer, json, type SeenRequest } from './answers.ts'

interface StoredObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name?: string
    generateName?: string
    namespace?: string
    uid?: string
    creationTimestamp?: string
    resourceVersion?: string
    generation?: number
  }
}

interface Current {
  readonly object: StoredObject
  readonly modRevision: number
}

export class Writer {
  readonly #client: Client
  readonly #service: KubeService

  constructor(client: Client, service: KubeService) {
    this.#client = client
    this.#service = service
  }

  /** The answer to a write; undefined for anything else. */
  async answer(seen: SeenRequest, body: () => Promise<Buffer>): Promise<DirectAnswer | undefined> {
    if (seen.method === 'GET' || seen.method === 'HEAD') return undefined
    const target = parseTarget(seen.url)
    if (target === undefined) return undefined
    const { registry } = this.#service.registry.state
    const route = routeRequest(seen.method, target.path, registry)
    if (route.type !== 'resource' || route.resource.storage === undefined) return undefined
    const isKnown = ['', 'status', 'scale'].includes(route.subresource)
    if (!isKnown) return undefined
    const sent = await body()
    const { verb } = route as { readonly verb: string }
    switch (verb) {
      case 'create':
        return this.#create(route, read(sent))
      case 'update':
        return this.#update(route, read(sent))
      case 'patch':
        return this.#patch(route, String(seen.headers['content-type']), read(sent))
      case 'delete':
        return this.#delete(route)
      case 'deletecollection':
        return this.#deleteAll(route)
      default:
        return undefined
    }
  }

  async #create(route: ResourceRoute, object: StoredObject): Promise<DirectAnswer> {
    const { metadata } = object
    metadata.name ??= `${metadata.generateName ?? ''}${randomUUID().slice(0, 5)}`
    if (route.namespace !== '') metadata.namespace = route.namespace
    metadata.uid = randomUUID()
    metadata.creationTimestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const written = await this.#put(route, metadata.name, { object, modRevision: 0 })
    return written ?? status(409, 'AlreadyExists', `${nameOf(route, metadata.name)} already exists`)
  }

  async #update(route: ResourceRoute, object: StoredObject): Promise<DirectAnswer> {
    const current = await this.#current(route)
    if (current === undefined) return notFound(route)
    const wanted = object.metadata.resourceVersion ?? ''
    if (wanted !== '' && Number(wanted) !== current.modRevision) return conflict(route)
    return (
      (await this.#put(route, route.name, { object, modRevision: current.modRevision })) ??
      conflict(route)
    )
  }

  async #patch(route: ResourceRoute, type: string, patch: unknown): Promise<DirectAnswer> {
    for (;;) {
      const current = await this.#current(route)
      if (current === undefined) return notFound(route)
      const object = patched(type, current.object, patch) as StoredObject | undefined
      if (object === undefined) return status(415, 'UnsupportedMediaType', type)
      const wanted = object.metadata.resourceVersion ?? ''
      if (wanted !== '' && Number(wanted) !== current.modRevision) return conflict(route)
      const written = await this.#put(route, route.name, {
        object,
        modRevision: current.modRevision,
      })
      if (written !== undefined) return written
    }
  }

  async #delete(route: ResourceRoute): Promise<DirectAnswer> {
    const current = await this.#current(route)
    if (current === undefined) return notFound(route)
    const range = singleKey(keyOf(route, route.name))
    await this.#client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
    const { group, resource } = route.resource
    const { name, uid } = current.object.metadata
    const details = { name, ...(group === '' ? {} : { group }), kind: resource, uid }
    return json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details })
  }

  async #deleteAll(route: ResourceRoute): Promise<DirectAnswer> {
    const range = prefixRange(keyOf(route, ''))
    const { header } = await this.#client.txn({
      compares: [],
      success: [{ type: 'delete', range }],
      failure: [],
    })
    const { resource } = route
    return json({
      kind: resource.listKind,
      apiVersion: groupVersionText(resource.group, resource.version),
      metadata: { resourceVersion: String(header.revision) },
      items: [],
    })
  }

  /** Undefined if something else was written meanwhile. */
  async #put(
    route: ResourceRoute,
    name: string,
    { object, modRevision }: Current,
  ): Promise<DirectAnswer | undefined> {
    const { resource } = route
    const { storage } = resource
    if (storage === undefined) return undefined
    delete object.metadata.resourceVersion
    object.apiVersion = groupVersionText(storage.group, storage.version)
    object.kind = storage.kind
    const text = Buffer.from(JSON.stringify(object))
    const value = storage.encoding === 'protobuf' ? protobufFromJson(text) : text
    if (value instanceof NotExact) return status(422, 'Invalid', value.reason)
    const key = keyOf(route, name)
    const { succeeded, header } = await this.#client.txn({
      compares: [{ key, target: 'modRevision', result: 'equal', value: modRevision }],
      success: [{ type: 'put', key, value }],
      failure: [],
    })
    if (!succeeded) return undefined
    object.apiVersion = groupVersionText(resource.group, resource.version)
    object.metadata.resourceVersion = String(header.revision)
    return json(object, modRevision === 0 ? 201 : 200)
  }

  async #current(route: ResourceRoute): Promise<Current | undefined> {
    const { entries } = await this.#client.range({ range: singleKey(keyOf(route, route.name)) })
    const [entry] = entries
    if (entry === undefined) return undefined
    const text = jsonFromStored(entry.value)
    if (text instanceof NotExact) throw new Error(text.reason)
    const object = JSON.parse(Buffer.from(text).toString()) as StoredObject
    return { object, modRevision: entry.modRevision }
  }
}

function keyOf(
  { resource, namespace }: ResourceRoute,
  name: string,
): ReturnType<typeof keyFromText> {
  const scope = namespace === '' ? '' : `${namespace}/`
  return keyFromText(`${resource.storage?.prefix ?? ''}${scope}${name}`)
}

function read(body: Buffer): StoredObject {
  const text = body.toString()
  const value = (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : parse(text)) as
    | StoredObject
    | undefined
  return value ?? { metadata: {} }
}

function nameOf({ resource: { resource, group } }: ResourceRoute, name: string): string {
  return `${resource}${group === '' ? '' : `.${group}`} "${name}"`
}

function notFound(route: ResourceRoute): DirectAnswer {
  return status(404, 'NotFound', `${nameOf(route, route.name)} not found`)
}

function conflict(route: ResourceRoute): DirectAnswer {
  return status(409, 'Conflict', `${nameOf(route, route.name)} has changed`)
}

function status(code: number, reason: string, message: string): DirectAnswer {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  return json({ ...body, message, reason, code }, code)
}
