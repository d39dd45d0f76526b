/** The upstream's state beside its version, which decides how it writes its objects: its feature
 *  gates, and its OpenAPI types. When one of them changes, its answers have to be compared
 *  again. */

import { createHash } from 'node:crypto'
import { objectOf, textOf } from '@watchglass/base'
import { groupVersionText, type Resource } from '@watchglass/kube'
import type { Upstream } from '../upstream/upstream.ts'
import { ask, documentOf } from '../upstream/ask.ts'
import { isOutageCode } from '../upstream/failure.ts'

export class UpstreamState {
  readonly #upstream: Pick<Upstream, 'call'>
  /** A hash of the feature gates in `/metrics`, which are ten kilobytes and are compared for each
   *  resource; empty if we may not read it. */
  #gates = ''
  /** By group version. */
  #openApi: ReadonlyMap<string, string> = new Map()

  constructor(upstream: Pick<Upstream, 'call'>) {
    this.#upstream = upstream
  }

  /** Reads the gates, which only a restart changes: /metrics of a busy server has some megabytes.
   *  False if there was no answer: what is known stays. We may be refused for ever. */
  async readGates(signal: AbortSignal): Promise<boolean> {
    const { code, body } = await ask(this.#upstream, { path: '/metrics', accept: '*/*', signal })
    if (code === 404) this.#gates = ''
    if (code !== 200) return !isOutageCode(code)
    const lines = Buffer.from(body).toString().split('\n')
    const gates = lines.filter(line => line.startsWith('kubernetes_feature_enabled{'))
    this.#gates = createHash('sha256').update(gates.join('\n')).digest('base64')
    return true
  }

  /** Reads the hashes of the OpenAPI documents: one for each group version, in a document of some
   *  kilobytes. False if there was no answer: what is known stays. */
  async readOpenApi(signal: AbortSignal): Promise<boolean> {
    const path = '/openapi/v3'
    const answer = await ask(this.#upstream, { path, signal })
    if (answer.code === 404) this.#openApi = new Map()
    if (answer.code !== 200) return !isOutageCode(answer.code)
    const paths = objectOf(objectOf(documentOf(path, answer))['paths'])
    this.#openApi = new Map(
      Object.entries(paths).map(([name, document]) => [
        name,
        textOf(objectOf(document)['serverRelativeURL']),
      ]),
    )
    return true
  }

  /** A text that changes when the upstream may write a resource in another way. */
  stateOf({ group, version }: Resource): string {
    const root = group === '' ? 'api' : 'apis'
    return `${this.#openApi.get(`${root}/${groupVersionText(group, version)}`)}\n${this.#gates}`
  }
}
