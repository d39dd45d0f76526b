/** Lists and gets of every kind, each compared with what etcd had at the revision of the answer. */

import assert from 'node:assert/strict'
import { type Random, randomInt, randomItem } from '../../../../lib/base/random.ts'
import type { Client } from './client.ts'
import {
  type KubeObject,
  type Resource,
  type Selection,
  configMaps,
  everything,
  metadataText,
  onlyMetadata,
  onNode,
  pods,
  withLabel,
} from './objects.ts'
import type { Outcomes } from './outcomes.ts'
import type { Truth, Version } from './truth.ts'

interface List {
  readonly metadata: ListMetadata
  /** A list of metadata that has none says null. */
  readonly items: readonly KubeObject[] | null
}

interface ListMetadata {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export interface ReadsOptions {
  readonly clients: readonly Client[]
  readonly truth: Truth
  readonly random: Random
  readonly outcomes: Outcomes
}

/** The ways of a list to ask for its revision, and the revisions that it may then have. */
const freshness = {
  consistent: () => '',
  any: () => 'resourceVersion=0',
  'not older': (at: number) => `resourceVersion=${at}`,
  exact: (at: number) => `resourceVersion=${at}&resourceVersionMatch=Exact`,
}

type Freshness = keyof typeof freshness

const onlyMetadataForm = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

export class Reads {
  readonly #options: ReadsOptions

  constructor(options: ReadsOptions) {
    this.#options = options
  }

  /** One read, drawn by lot. */
  async one(): Promise<void> {
    const { clients, random, outcomes } = this.#options
    const client = randomItem(random, clients)
    const isGet = randomInt(random, 0, 2) === 0
    const what = `${client.program.name} ${isGet ? 'get' : 'list'}`
    try {
      outcomes.count(`${what} ${await (isGet ? this.#get(client) : this.#list(client))}`)
    } catch (error) {
      outcomes.failed(what, error)
    }
  }

  async #list(client: Client): Promise<number> {
    const { truth, random } = this.#options
    const resource = randomItem(random, [pods, configMaps])
    const selection = this.#selection(resource)
    const mode = randomItem(random, Object.keys(freshness) as Freshness[])
    const floor = truth.latest
    const asked =
      mode === 'exact' ? Math.max(truth.first, floor - randomInt(random, 0, 200)) : floor
    const limit = randomInt(random, 0, 3) === 0 ? `limit=${randomInt(random, 1, 200)}` : ''
    const query = [freshness[mode](asked), selection.query, limit].filter(part => part !== '')
    const isMetadata = randomInt(random, 0, 3) === 0
    const headers = {
      ...(isMetadata && { accept: onlyMetadataForm }),
      ...(randomInt(random, 0, 2) === 0 && { 'accept-encoding': 'gzip' }),
    }
    const items: KubeObject[] = []
    let first: ListMetadata | undefined
    for (let token: string | undefined = ''; token !== undefined;) {
      const rest = `${selection.query}&${limit}&continue=${encodeURIComponent(token)}`
      const path: string = `/api/v1/${resource.name}?${token === '' ? query.join('&') : rest}`
      const answer = await client.ask({ path, headers }, randomInt(random, 0, 4) === 0)
      if (answer.status !== 200) return answer.status
      const list = JSON.parse(answer.body.toString()) as List
      items.push(...(list.items ?? []))
      first ??= list.metadata
      assert.equal(list.metadata.resourceVersion, first.resourceVersion, `a page of ${path}`)
      token = list.metadata.continue
      assert.notEqual(token, '')
    }
    const at = Number(first!.resourceVersion)
    const about = `${resource.name}?${query.join('&')} at ${at}`
    if (mode === 'exact') assert.equal(at, asked, about)
    else if (mode !== 'any') assert.ok(at >= floor, `${about} is older than ${floor}`)
    // Faults may show contents from before the truth was known.
    if (at < truth.first) return 200
    await truth.reach(at)
    const wanted = truth
      .contents(resource.prefix, at)
      .filter(({ object }) => selection.matches(object!.object))
    compare({ items, wanted, isMetadata, about })
    return 200
  }

  async #get(client: Client): Promise<number> {
    const { truth, random } = this.#options
    const resource = randomItem(random, [pods, configMaps])
    const known = truth.contents(resource.prefix, truth.latest)
    if (known.length === 0) return 0
    const { key } = randomItem(random, known)
    const [namespace, name] = key.slice(resource.prefix.length).split('/')
    const floor = truth.latest
    const path = `/api/v1/namespaces/${namespace}/${resource.name}/${name}`
    const { status, body } = await client.ask({ path }, randomInt(random, 0, 9) === 0)
    if (status !== 200 && status !== 404) return status
    const got = status === 200 ? (JSON.parse(body.toString()) as KubeObject) : undefined
    await truth.reach(got === undefined ? await truth.now() : Number(got.metadata.resourceVersion))
    const versions = truth.versionsOf(key)
    // It was there at some time since the request was sent.
    const possible = versions.slice(versions.findLastIndex(({ revision }) => revision <= floor))
    const about = `${path}, at least as new as ${floor}`
    if (got === undefined) {
      assert.ok(
        possible.some(({ object }) => object === undefined),
        `${about}: 404`,
      )
      return status
    }
    const revision = Number(got.metadata.resourceVersion)
    const version = possible.find(candidate => candidate.revision === revision)
    assert.ok(version?.object !== undefined, `${about}: ${revision}`)
    assert.equal(metadataText(got), version.object.metadata, about)
    return status
  }

  #selection(resource: Resource): Selection {
    const { truth, random } = this.#options
    if (resource === configMaps) {
      return randomInt(random, 0, 1) === 0
        ? everything
        : withLabel('part', `${randomInt(random, 0, 4)}`)
    }
    const known = truth.contents(resource.prefix, truth.latest)
    const { object } = known.length === 0 ? {} : randomItem(random, known)
    const node = object?.object.spec?.nodeName
    const label = Object.entries(object?.object.metadata.labels ?? {})[0]
    const kind = randomInt(random, 0, 3)
    if (kind === 0 && node !== undefined) return onNode(node)
    if (kind === 1 && label !== undefined) return withLabel(...label)
    return everything
  }
}

interface Compared {
  readonly items: readonly KubeObject[]
  readonly wanted: readonly Version[]
  readonly isMetadata: boolean
  readonly about: string
}

function compare({ items, wanted, isMetadata, about }: Compared): void {
  assert.deepEqual(
    items.map(
      ({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`,
    ),
    wanted.map(({ key, revision }) => `${key.split('/').slice(3).join('/')} ${revision}`),
    about,
  )
  for (const [i, item] of items.entries()) {
    const text = wanted[i]!.object!.metadata
    assert.equal(metadataText(item), isMetadata ? onlyMetadata(text) : text, about)
  }
}
