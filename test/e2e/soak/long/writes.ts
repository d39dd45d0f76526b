/** Writes of config maps through the API: each one that was acknowledged must be in etcd as the
 *  answer says. */

import assert from 'node:assert/strict'
import { type Random, randomInt, randomItem } from '../../../../lib/base/random.ts'
import type { Client, Sent } from './client.ts'
import { type KubeObject, configMaps, metadataText } from './objects.ts'
import type { Outcomes } from './outcomes.ts'
import type { Truth } from './truth.ts'

export interface WritesOptions {
  readonly clients: readonly Client[]
  readonly truth: Truth
  readonly random: Random
  readonly outcomes: Outcomes
}

const names = 150
const collection = '/api/v1/namespaces/default/configmaps'

export class Writes {
  readonly #options: WritesOptions
  #number = 0

  constructor(options: WritesOptions) {
    this.#options = options
  }

  /** One write, drawn by lot. */
  async one(): Promise<void> {
    const { clients, truth, random, outcomes } = this.#options
    const client = randomItem(random, clients)
    const what = `${client.program.name} write`
    try {
      const { status, body } = await client.ask(this.#draw())
      outcomes.count(`${what} ${status}`)
      if (status !== 200 && status !== 201) return
      const object = JSON.parse(body.toString()) as KubeObject
      // A deletion answers with a Status.
      if (object.kind === 'Status') return
      const { name, resourceVersion } = object.metadata
      await truth.reach(Number(resourceVersion))
      const version = truth
        .versionsOf(`${configMaps.prefix}default/${name}`)
        .find(({ revision }) => revision === Number(resourceVersion))
      assert.equal(version?.object?.metadata, metadataText(object), `${name} ${resourceVersion}`)
    } catch (error) {
      outcomes.failed(what, error)
    }
  }

  #draw(): Sent {
    const { random } = this.#options
    const number = ++this.#number
    const name = `soak-${randomInt(random, 0, names - 1)}`
    const labels = { part: String(randomInt(random, 0, 4)) }
    const data = { number: String(number), text: 'x'.repeat(randomInt(random, 0, 2000)) }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data }
    const path = `${collection}/${name}`
    const send = (method: string, type: string, body: object, at = path): Sent => ({
      method,
      path: at,
      headers: { 'content-type': `application/${type}` },
      body: JSON.stringify(body),
    })
    switch (randomInt(random, 0, 4)) {
      case 0:
        return send('POST', 'json', object, collection)
      case 1:
        return send('PUT', 'json', object)
      case 2:
        return send('PATCH', 'merge-patch+json', { data, metadata: { labels } })
      case 3: {
        const query = '?fieldManager=soak&force=true'
        return send('PATCH', 'apply-patch+yaml', object, `${path}${query}`)
      }
      default:
        return { method: 'DELETE', path }
    }
  }
}
