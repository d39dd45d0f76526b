/** Applies objects to a server as any client does, and waits until definitions are established. */

import { Agent, request } from 'node:https'
import { CacheError, type Clock, isObject, sleep, textOf } from '@watchglass/base'
import type { Registry } from '@watchglass/kube'
import type { Manifest } from './manifests.ts'
import { invalid } from '../../options/invalid.ts'

export interface ApplyOptions {
  /** As a URL. */
  readonly address: string
  /** PEM. */
  readonly authority: string
  /** The token of an administrator. */
  readonly token: string
  /** The resources of now. */
  readonly registry: () => Registry
  readonly clock: Clock
  readonly signal: AbortSignal
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** The time limit of a definition until its objects can be written. */
const establishedMaxMs = 20_000
const lookEveryMs = 10

export class Applier {
  readonly #options: ApplyOptions
  readonly #agent: Agent

  constructor(options: ApplyOptions) {
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, ca: options.authority })
  }

  async apply(manifest: Manifest): Promise<void> {
    const { file, kind, name, object } = manifest
    const path = this.#pathOf(manifest)
    const query = 'fieldManager=watchglass&force=true'
    const { status, body } = await this.#send('PATCH', `${path}?${query}`, JSON.stringify(object))
    if (status >= 300) {
      const reason = isObject(body) ? textOf(body['message']) : ''
      throw invalid(`${file}: ${kind} ${name}: ${reason === '' ? `answer ${status}` : reason}`)
    }
    if (kind === 'CustomResourceDefinition') await this.#established(path, manifest)
  }

  close(): void {
    this.#agent.destroy()
  }

  #pathOf({ file, apiVersion, kind, name, namespace }: Manifest): string {
    const [version = '', group = ''] = apiVersion.split('/').toReversed()
    const resource = this.#options
      .registry()
      .resources.find(one => one.group === group && one.version === version && one.kind === kind)
    if (resource === undefined) {
      throw invalid(`${file}: ${kind} of ${apiVersion} is not served: is its definition missing?`)
    }
    const place = resource.isNamespaced
      ? `/namespaces/${encodeURIComponent(namespace || 'default')}`
      : ''
    return `${rootOf(apiVersion)}${place}/${resource.resource}/${encodeURIComponent(name)}`
  }

  /** Until it says so, and each of its lists is answered. */
  async #established(path: string, { file, name, object }: Manifest): Promise<void> {
    const { clock, signal } = this.#options
    const endMs = clock.monotonicMs() + establishedMaxMs
    const lists = listsOf(object)
    while (!signal.aborted) {
      const { body } = await this.#send('GET', path)
      const isReady = isEstablished(body) && (await this.#areServed(lists))
      if (isReady) return
      if (clock.monotonicMs() > endMs) {
        throw invalid(`${file}: the definition ${name} is not established: ${reasonsIn(body)}`)
      }
      await sleep(clock, lookEveryMs, signal)
    }
  }

  async #areServed(lists: readonly string[]): Promise<boolean> {
    for (const list of lists) {
      if ((await this.#send('GET', `${list}?limit=1`)).status !== 200) return false
    }
    return true
  }

  #send(method: string, path: string, body?: string): Promise<Answer> {
    const { address, signal, token } = this.#options
    const authorization = `Bearer ${token}`
    return new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' }
      const headers = { authorization, ...type }
      const sent = request(
        `${address}${path}`,
        { method, agent: this.#agent, signal, headers },
        response => {
          const pieces: Buffer[] = []
          response.on('data', (piece: Buffer) => pieces.push(piece))
          response.on('error', error => reject(CacheError.from(error, 'source_failed')))
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(pieces)) })
          })
        },
      )
      sent.on('error', error => reject(CacheError.from(error, 'source_failed')))
      sent.end(body)
    })
  }
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}

/** The lists that a definition declares. */
function listsOf(definition: object): readonly string[] {
  const { spec } = definition as { spec?: unknown }
  if (!isObject(spec)) return []
  const { group, names, versions } = spec
  const plural = isObject(names) ? textOf(names['plural']) : ''
  return (Array.isArray(versions) ? versions : [])
    .filter(version => isObject(version) && version['served'] === true)
    .map(
      version => `/apis/${textOf(group)}/${textOf((version as { name?: unknown }).name)}/${plural}`,
    )
}

interface Condition {
  readonly type?: string
  readonly status?: string
  readonly message?: string
}

function conditionsOf(definition: unknown): readonly Condition[] {
  const { status } = (definition ?? {}) as { status?: { conditions?: readonly Condition[] } }
  return status?.conditions ?? []
}

function isEstablished(definition: unknown): boolean {
  return conditionsOf(definition).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  )
}

function reasonsIn(definition: unknown): string {
  const told = conditionsOf(definition).filter(({ status }) => status !== 'True')
  return told.map(({ message = '' }) => message).join('; ') || 'the server does not say why'
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
