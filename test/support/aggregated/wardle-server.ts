/** Stands in for upstream's sample server: no core group, resources in two versions of which one is
 *  stored, JSON in its own etcd, Tables, warnings. What it says about itself is recorded; objects
 *  are read from etcd and served as that server serves them. Answers that were recorded are given
 *  as they are to who names one (`x-recorded`). */

import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { keyFromText, prefixRange, textFromKey } from '../../../lib/base/keys.ts'
import { yamlFromJson } from '../../../lib/codec/output/yaml.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import type { RecordedResponse } from '../../golden/load.ts'
import { group, served, type Stored } from './wardle-objects.ts'
import { protobufMetadata, protobufMetadataList } from './wardle-protobuf.ts'
import { goText, metadataOf, tableOf, viewOf } from './wardle-table.ts'
import { type Target, targetOf } from './wardle-target.ts'
import { write } from './wardle-writes.ts'

export interface Answer {
  readonly status: number
  readonly headers: http.OutgoingHttpHeaders
  readonly body: Uint8Array
}

export interface WardleOptions {
  readonly client: Client
  /** Its `--etcd-prefix`. */
  readonly prefix: string
  /** Documents about itself, for a path and an Accept header. */
  readonly document: (path: string, accept: string) => RecordedResponse | undefined
  readonly recorded?: ((id: string) => RecordedResponse | undefined) | undefined
  readonly hasWatchCache?: boolean | undefined
  /** Certificates; plain HTTP if it is left out. */
  readonly tls?: https.ServerOptions | undefined
  /** Called for every request; an answer instead of its own, if it gives one. */
  readonly before?: ((request: http.IncomingMessage) => Answer | undefined) | undefined
}

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly certificate: string
}

const warnings: Readonly<Record<string, string>> = {
  flunders: 'Flunder',
  fischers: 'Fischer',
}

export class WardleServer {
  readonly seen: SeenRequest[] = []
  /** Versions that are served; a restart may change them. */
  versions: ReadonlySet<string> = new Set(['v1alpha1', 'v1beta1'])
  readonly #options: WardleOptions
  readonly #sockets = new Set<Socket>()
  #server: http.Server | https.Server | undefined
  #port = 0

  constructor(options: WardleOptions) {
    this.#options = options
  }

  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`
  }

  /** At the same port as before, if there was one. */
  async listen(): Promise<void> {
    const { tls } = this.#options
    const handler: http.RequestListener = (request, response) =>
      void this.#handle(request, response)
    const server = tls === undefined ? http.createServer(handler) : https.createServer(tls, handler)
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server = server
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>(resolve =>
      server === undefined ? resolve() : server.close(() => resolve()),
    )
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    const certificate = (request.socket as TLSSocket).getPeerCertificate?.()
    const name = certificate?.subject?.CN
    this.seen.push({ method, url, headers, certificate: typeof name === 'string' ? name : '' })
    try {
      const early = this.#options.before?.(request) ?? this.#recorded(request)
      const target = early === undefined ? targetOf(method, url) : undefined
      if (early === undefined && target?.isWatch === true) {
        await this.#watch(target, request, response)
        return
      }
      const { status, headers: sent, body } = early ?? (await this.#answer(request, target))
      response.writeHead(status, sent)
      response.end(body)
    } catch (error) {
      response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(String(error))
    }
  }

  #recorded({ headers, url = '' }: http.IncomingMessage): Answer | undefined {
    const { recorded, document } = this.#options
    const id = headers['x-recorded']
    if (typeof id === 'string') return answerOf(recorded?.(id))
    const [, , asked = '', version = ''] = url.split(/[/?]/)
    if (asked === group && version !== '' && !this.versions.has(version)) return notFound(url)
    const found = answerOf(document(url, headers.accept ?? ''))
    const isAll = this.versions.size === 2
    return found && url === '/apis' && !isAll ? this.#ofVersions(found) : found
  }

  /** Discovery without the versions that are not served. */
  #ofVersions(answer: Answer): Answer {
    const text = Buffer.from(answer.body).toString()
    const isServed = ({ version }: { version: string }): boolean => this.versions.has(version)
    const kept = JSON.parse(text, (name, value: unknown) =>
      name === 'versions' && Array.isArray(value) ? value.filter(isServed) : value,
    ) as object
    return { ...answer, body: Buffer.from(`${JSON.stringify(kept)}\n`) }
  }

  async #answer(request: http.IncomingMessage, target: Target | undefined): Promise<Answer> {
    if (target === undefined || !this.versions.has(target.version)) {
      return notFound(request.url ?? '')
    }
    if (target.method !== 'GET') {
      const { client } = this.#options
      const body = await bodyOf(request)
      const written = await write(client, this.#keyOf(target), { target, body })
      const revision = written.revision
      return this.#json(target, written.code, served(written.stored, { ...target, revision }))
    }
    return target.name === '' ? this.#list(target, request) : this.#get(target, request)
  }

  async #get(target: Target, { headers }: http.IncomingMessage): Promise<Answer> {
    const [entry] = await this.#entries(target)
    if (entry === undefined) return this.#json(target, 404, absent(target))
    const object = this.#served(target, entry)
    const { accept = '' } = headers
    const view = viewOf(accept, target.includeObject)
    if (view === undefined) return this.#bytes(target, accept, protobufMetadata(target, entry))
    if (view.type === 'Table') {
      return this.#written(target, accept, tableOf([object], String(entry.modRevision), view))
    }
    if (view.type === 'metadata') {
      return this.#written(target, accept, metadataOf(object, view.version))
    }
    return this.#written(target, accept, object)
  }

  async #list(target: Target, { headers }: http.IncomingMessage): Promise<Answer> {
    const { entries, revision } = await this.#read(target)
    const named = target.selectedName
    const all = entries.filter(entry => named === undefined || nameOf(entry) === named)
    const isLimited = target.limit > 0 && !(target.isAnyState && this.#hasCache)
    const page = isLimited ? all.slice(0, target.limit) : all
    const rest = all.length - page.length
    const meta = {
      resourceVersion: String(revision),
      ...(rest === 0 ? {} : { continue: 'bW9yZQ' }),
      ...(rest === 0 || named !== undefined ? {} : { remainingItemCount: rest }),
    }
    const { accept = '' } = headers
    const objects = page.map(entry => this.#served(target, entry))
    const view = viewOf(accept, target.includeObject)
    if (view === undefined) {
      return this.#bytes(target, accept, protobufMetadataList(target, page, meta))
    }
    if (view.type === 'Table') {
      return this.#written(target, accept, { ...tableOf(objects, '', view), metadata: meta })
    }
    if (view.type === 'metadata') {
      const items = objects.map(one => metadataOf(one, view.version))
      const list = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${view.version}` }
      const none = items.length === 0
      return this.#written(target, accept, { ...list, metadata: meta, items: none ? null : items })
    }
    const list = { kind: `${target.kind}List`, apiVersion: `${group}/${target.version}` }
    const items = page.map(entry => this.#served(target, entry, true))
    return this.#written(target, accept, { ...list, metadata: meta, items })
  }

  #written(target: Target, accept: string, object: object): Answer {
    if (!accept.startsWith('application/yaml')) return this.#json(target, 200, object)
    const yaml = yamlFromJson(Buffer.from(goText(object)))
    return this.#bytes(target, accept, yaml instanceof Uint8Array ? yaml : undefined)
  }

  #bytes(target: Target, accept: string, body: Uint8Array | undefined): Answer {
    if (body === undefined) return this.#json(target, 406, { asked: accept })
    return { ...this.#json(target, 200, {}, accept.split(';')[0]), body }
  }

  /** Events of whatever it reads from now on; the state before, and a bookmark behind it, if they
   *  are asked for. */
  async #watch(
    target: Target,
    request: http.IncomingMessage,
    response: http.ServerResponse,
  ): Promise<void> {
    const { client } = this.#options
    const { entries, revision } = await this.#read(target)
    response.writeHead(200, this.#json(target, 200, {}).headers)
    const send = (type: string, object: object): void =>
      void response.write(`${goText({ type, object })}\n`)
    const isWanted = (entry: KeyValue): boolean =>
      target.selectedName === undefined || nameOf(entry) === target.selectedName
    if (target.hasState) {
      for (const one of entries.filter(isWanted)) send('ADDED', this.#served(target, one))
    }
    if (target.hasBookmarks) send('BOOKMARK', emptyObject(target, revision))
    const stream = client.watch(
      { range: prefixRange(keyFromText(this.#prefixOf(target))) },
      {
        created() {},
        changed: batches => {
          for (const { changes } of batches) {
            for (const change of changes) {
              if (change.type !== 'put' || !isWanted(change.entry)) continue
              const isNew = change.entry.version === 1
              send(isNew ? 'ADDED' : 'MODIFIED', this.#served(target, change.entry))
            }
          }
        },
        progress() {},
        ended: () => response.end(),
      },
    )
    const timer = setTimeout(() => response.end(), target.timeoutSeconds * 1000)
    response.on('close', () => {
      clearTimeout(timer)
      stream.cancel()
    })
    request.on('aborted', () => response.end())
  }

  get #hasCache(): boolean {
    return this.#options.hasWatchCache !== false
  }

  #json(target: Target, status: number, body: object, type = 'application/json'): Answer {
    const kind = warnings[target.resource] ?? ''
    const text = `${group}/${target.version} ${kind} is deprecated in v1.3+, unavailable in v1.10+`
    const isOld = target.version === 'v1alpha1'
    return {
      status,
      headers: {
        'content-type': type,
        'cache-control': 'no-cache, private',
        ...(isOld ? { warning: `299 - "${text}"` } : {}),
      },
      body: Buffer.from(`${goText(body)}\n`),
    }
  }

  #served(target: Target, entry: KeyValue, isItem = false): object {
    const { version } = target
    const stored = storedIn(entry)
    return served(stored, { version, revision: entry.modRevision, isItem })
  }

  async #entries(target: Target): Promise<readonly KeyValue[]> {
    const { entries } = await this.#read(target)
    const key = this.#keyOf(target)
    return target.name === '' ? entries : entries.filter(entry => textFromKey(entry.key) === key)
  }

  async #read(target: Target): Promise<{ entries: readonly KeyValue[]; revision: number }> {
    const range = prefixRange(keyFromText(this.#prefixOf(target)))
    const exact = target.exactRevision
    const { entries, header } = await this.#options.client.range({ range, revision: exact })
    return { entries, revision: exact ?? header.revision }
  }

  #prefixOf({ resource, namespace }: Target): string {
    const scope = namespace === '' ? '' : `${namespace}/`
    return `${this.#options.prefix}/${group}/${resource}/${scope}`
  }

  #keyOf(target: Target): string {
    return this.#prefixOf(target) + target.name
  }
}

function storedIn({ bytes, start, end }: KeyValue): Stored {
  return JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()) as Stored
}

function nameOf({ key }: KeyValue): string {
  return textFromKey(key).split('/').at(-1) ?? ''
}

function emptyObject({ kind, version }: Target, revision: number): object {
  return {
    kind,
    apiVersion: `${group}/${version}`,
    metadata: {
      resourceVersion: String(revision),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    },
    ...(kind === 'Flunder' ? { spec: {}, status: {} } : {}),
  }
}

function absent({ resource, name }: Target): object {
  const details = { name, group, kind: resource }
  const message = `${resource}.${group} "${name}" not found`
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  return { ...head, message, reason: 'NotFound', details, code: 404 }
}

function notFound(path: string): Answer {
  const headers = { 'content-type': 'application/json' }
  return { status: 404, headers, body: Buffer.from(`{"paths":["/apis"],"asked":"${path}"}\n`) }
}

function answerOf(response: RecordedResponse | undefined): Answer | undefined {
  if (response === undefined) return undefined
  const { 'content-length': _, 'transfer-encoding': __, ...headers } = response.headers
  const body =
    response.body_base64 === undefined
      ? Buffer.from(response.body ?? '')
      : Buffer.from(response.body_base64, 'base64')
  return { status: response.status, headers: headers as http.OutgoingHttpHeaders, body }
}

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
